/* A double of NVIDIA's management library with its binary interface: it replays the states of a text file
 * (environment CULPRIT_FAKE_NVML). Lines: "NAME VALUE" of the library, "INDEX NAME VALUE [LATER]" of a GPU; LATER is
 * what every call but the first gives. Names are those of the functions below.
 *
 *   init 9            nvmlInit fails with this code
 *   hang 1            asking for GPU 1 never returns
 *   crash 1           asking for GPU 1 kills the process
 *   lost 1            asking for GPU 1 fails with NVML_ERROR_GPU_IS_LOST
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kOk = 0, kNotSupported = 3, kInsufficientSize = 7, kUnknown = 999, kGpuLost = 15 };
typedef struct {
  unsigned index;
} Device;
static Device devices[64];

/* The value of "index name" (index < 0: of "name"); 0 when the file does not have it. */
static int find(int index, const char* name, char* value, size_t size) {
  static char asked[256][64];
  static unsigned asked_count;
  const char* path = getenv("CULPRIT_FAKE_NVML");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  char line[256], want[64];
  int found = 0;
  if (file == NULL) return 0;
  if (index < 0)
    snprintf(want, sizeof want, "%s ", name);
  else
    snprintf(want, sizeof want, "%d %s ", index, name);
  while (!found && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, want, strlen(want)) != 0) continue;
    line[strcspn(line, "\n")] = '\0';
    char* first = line + strlen(want);
    char* later = strchr(first, ' ');
    int again = 0;
    for (unsigned i = 0; i < asked_count; ++i) again = again || strcmp(asked[i], want) == 0;
    if (!again && asked_count < 256) strcpy(asked[asked_count++], want);
    /* Names have blanks; numbers do not. */
    if (later != NULL && first[0] >= '0' && first[0] <= '9') {
      *later++ = '\0';
      if (again) first = later;
    }
    snprintf(value, size, "%s", first);
    found = 1;
  }
  fclose(file);
  return found;
}

static int number(const Device* device, const char* name, unsigned long long* value) {
  char text[128];
  if (!find((int)device->index, name, text, sizeof text)) return kNotSupported;
  *value = strtoull(text, NULL, 0);
  return kOk;
}

static int small(const Device* device, const char* name, unsigned* value) {
  unsigned long long wide = 0;
  const int status = number(device, name, &wide);
  if (status == kOk) *value = (unsigned)wide;
  return status;
}

static int text_of(const Device* device, const char* name, char* out, unsigned size) {
  char text[128];
  if (!find((int)device->index, name, text, sizeof text)) return kNotSupported;
  snprintf(out, size, "%s", text);
  return kOk;
}

static int global(const char* name) {
  char text[128];
  return find(-1, name, text, sizeof text) ? atoi(text) : -1;
}

int nvmlInit_v2(void) {
  const int code = global("init");
  return code > 0 ? code : kOk;
}
int nvmlShutdown(void) { return kOk; }
const char* nvmlErrorString(int code) {
  return code == 18 ? "Driver/library version mismatch" : code == kGpuLost ? "GPU is lost" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* out, unsigned size) {
  snprintf(out, size, "550.1");
  return kOk;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  const int known = global("count");
  *count = known < 0 ? 0 : (unsigned)known;
  return kOk;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  if (global("hang") == (int)index)
    for (;;) pause();
  if (global("crash") == (int)index) abort();
  devices[index].index = index;
  *device = &devices[index];
  return global("lost") == (int)index ? kGpuLost : kOk;
}

typedef struct {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
} PciInfo;
int nvmlDeviceGetPciInfo_v3(Device* device, PciInfo* pci) {
  memset(pci, 0, sizeof *pci);
  return text_of(device, "pci", pci->busId, sizeof pci->busId);
}

int nvmlDeviceGetUUID(Device* d, char* out, unsigned size) { return text_of(d, "uuid", out, size); }
int nvmlDeviceGetName(Device* d, char* out, unsigned size) { return text_of(d, "name", out, size); }
int nvmlDeviceGetVbiosVersion(Device* d, char* out, unsigned size) { return text_of(d, "vbios", out, size); }
int nvmlDeviceGetMaxPcieLinkGeneration(Device* d, unsigned* v) { return small(d, "pcie_gen_max", v); }
int nvmlDeviceGetCurrPcieLinkGeneration(Device* d, unsigned* v) { return small(d, "pcie_gen", v); }
int nvmlDeviceGetMaxPcieLinkWidth(Device* d, unsigned* v) { return small(d, "pcie_width_max", v); }
int nvmlDeviceGetCurrPcieLinkWidth(Device* d, unsigned* v) { return small(d, "pcie_width", v); }
int nvmlDeviceGetPcieReplayCounter(Device* d, unsigned* v) { return small(d, "pcie_replays", v); }
int nvmlDeviceGetPerformanceState(Device* d, unsigned* v) { return small(d, "pstate", v); }
int nvmlDeviceGetPersistenceMode(Device* d, unsigned* v) { return small(d, "persistence", v); }
int nvmlDeviceGetPowerManagementLimit(Device* d, unsigned* v) { return small(d, "power_limit", v); }
int nvmlDeviceGetPowerUsage(Device* d, unsigned* v) { return small(d, "power", v); }
int nvmlDeviceGetTemperature(Device* d, int sensor, unsigned* v) {
  (void)sensor;
  return small(d, "temperature", v);
}

typedef struct {
  unsigned gpu, memory;
} Utilization;
int nvmlDeviceGetUtilizationRates(Device* d, Utilization* u) {
  u->memory = 0;
  return small(d, "util", &u->gpu);
}

typedef struct {
  unsigned version;
  unsigned long long total, reserved, free, used;
} MemoryV2;
int nvmlDeviceGetMemoryInfo_v2(Device* d, MemoryV2* m) {
  if (m->version != (sizeof(MemoryV2) | 2u << 24)) return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
  m->reserved = 0;
  if (number(d, "memory_used", &m->used) != kOk) return kNotSupported;
  if (number(d, "memory_total", &m->total) != kOk) return kNotSupported;
  m->free = m->total - m->used;
  return kOk;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Device* d, unsigned long long* v) { return number(d, "reasons", v); }

typedef struct {
  unsigned long long referenceTime, violationTime;
} Violation;
int nvmlDeviceGetViolationStatus(Device* d, int policy, Violation* v) {
  v->referenceTime = 0;
  return policy == 1 ? number(d, "violation_thermal", &v->violationTime) : kNotSupported;
}
int nvmlDeviceGetEccMode(Device* d, unsigned* current, unsigned* pending) {
  *pending = 0;
  return small(d, "ecc_mode", current);
}
int nvmlDeviceGetTotalEccErrors(Device* d, int type, int counter, unsigned long long* v) {
  if (counter != 0) return kNotSupported;
  return number(d, type == 1 ? "ecc_uncorrected" : "ecc_corrected", v);
}
int nvmlDeviceGetRemappedRows(Device* d, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  *corrected = *pending = *failed = 0;
  small(d, "remap_pending", pending);
  small(d, "remap_failed", failed);
  return small(d, "remap_uncorrected", uncorrected);
}
typedef struct {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
} ProcessInfo;
/* "processes 2"; "pids 100,200" says which. */
int nvmlDeviceGetComputeRunningProcesses_v3(Device* d, unsigned* count, ProcessInfo* infos) {
  char pids[128] = "", *next = pids;
  unsigned known = 0;
  if (small(d, "processes", &known) != kOk) return kNotSupported;
  const int fits = infos != NULL && *count >= known;
  find((int)d->index, "pids", pids, sizeof pids);
  *count = known;
  if (!fits) return known == 0 ? kOk : kInsufficientSize;
  for (unsigned i = 0; i < known; ++i) {
    memset(&infos[i], 0, sizeof infos[i]);
    infos[i].pid = (unsigned)strtoul(next, &next, 10);
    if (*next == ',') ++next;
  }
  return kOk;
}
int nvmlDeviceGetNvLinkState(Device* d, unsigned link, unsigned* active) {
  unsigned links = 0, up = 0;
  if (small(d, "nvlinks", &links) != kOk || link >= links) return kNotSupported;
  small(d, "nvlinks_active", &up);
  *active = link < up;
  return kOk;
}
int nvmlDeviceGetNvLinkErrorCounter(Device* d, unsigned link, int counter, unsigned long long* v) {
  *v = 0;
  if (link == 0 && counter == 0) number(d, "nvlink_replay", v);
  return kOk;
}
