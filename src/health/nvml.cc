#include "health/nvml.h"

#include <dlfcn.h>
#include <time.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::health {
namespace {

// NVML's binary interface, as nvml.h of the CUDA toolkit documents it: what we call and no more.
using Device = struct NvmlDeviceHandle*;
constexpr int kSuccess = 0;
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct Utilization {
  unsigned gpu, memory;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct ViolationTime {
  unsigned long long reference_ns, violation_ns;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2U << 24;
constexpr int kInsufficientSize = 7;

class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  bool loaded() const { return handle_ != nullptr; }

  // The function of that name with these arguments; a library without it is as one that fails.
  template <class... Args>
  int Call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(handle_, name));
    return function == nullptr ? -1 : function(args...);
  }
  std::string ErrorText(int code) const {
    auto* function = reinterpret_cast<const char* (*)(int)>(dlsym(handle_, "nvmlErrorString"));
    const char* text = function == nullptr ? nullptr : function(code);
    return text == nullptr ? "error " + std::to_string(code) : text;
  }

 private:
  void* handle_;
};

class GpuText {
 public:
  void Add(std::string_view name, std::string_view value) {
    // A line must stay one.
    for (const char c : std::string(name) + " " + std::string(value)) text_ += c == '\n' ? ' ' : c;
    text_ += "\n";
  }
  void Add(std::string_view name, unsigned long long value) { Add(name, std::to_string(value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Values that are one number behind one function.
struct PlainNumber {
  const char* function;
  const char* name;
};
constexpr PlainNumber kUnsigned[] = {{"nvmlDeviceGetMaxPcieLinkGeneration", "pcie_gen_max"},
                                     {"nvmlDeviceGetCurrPcieLinkGeneration", "pcie_gen"},
                                     {"nvmlDeviceGetMaxPcieLinkWidth", "pcie_width_max"},
                                     {"nvmlDeviceGetCurrPcieLinkWidth", "pcie_width"},
                                     {"nvmlDeviceGetPcieReplayCounter", "pcie_replays"},
                                     {"nvmlDeviceGetPerformanceState", "pstate"},
                                     {"nvmlDeviceGetPersistenceMode", "persistence"},
                                     {"nvmlDeviceGetPowerManagementLimit", "power_limit_mw"},
                                     {"nvmlDeviceGetPowerUsage", "power_mw"}};

void ReadLinks(const Library& nvml, Device device, GpuText& out) {
  constexpr unsigned kMostLinks = 18;
  constexpr const char* kCounters[] = {"replay", "recovery", "crc_flit", "crc_data"};
  unsigned long long totals[4] = {};
  unsigned active = 0, known = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned state = 0;
    if (nvml.Call("nvmlDeviceGetNvLinkState", device, link, &state) != kSuccess) continue;
    ++known;
    active += state;
    if (state == 0) continue;
    for (int counter = 0; counter < 4; ++counter) {
      unsigned long long value = 0;
      if (nvml.Call("nvmlDeviceGetNvLinkErrorCounter", device, link, counter, &value) == kSuccess)
        totals[counter] += value;
    }
  }
  if (known == 0) return;
  out.Add("nvlinks", known);
  out.Add("nvlinks_active", active);
  for (int counter = 0; counter < 4; ++counter)
    out.Add(std::string("nvlink_") + kCounters[counter], totals[counter]);
}

// Their number, and as many of their ids as there is room for.
void ReadProcesses(const Library& nvml, Device device, GpuText& out) {
  std::array<ProcessInfo, 128> infos{};
  auto count = static_cast<unsigned>(infos.size());
  const int listed =
      nvml.Call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, infos.data());
  if (listed != kSuccess && listed != kInsufficientSize) return;
  out.Add("processes", count);
  if (listed != kSuccess || count == 0) return;
  std::string pids;
  for (unsigned i = 0; i < count && i < infos.size(); ++i)
    pids += (pids.empty() ? "" : " ") + std::to_string(infos[i].pid);
  out.Add("pids", pids);
}

std::string ReadGpu(const Library& nvml, Device device, unsigned index) {
  GpuText out;
  out.Add("index", index);
  std::array<char, 96> text{};
  const auto size = static_cast<unsigned>(text.size());
  if (nvml.Call("nvmlDeviceGetUUID", device, text.data(), size) == kSuccess)
    out.Add("uuid", text.data());
  if (nvml.Call("nvmlDeviceGetName", device, text.data(), size) == kSuccess)
    out.Add("name", text.data());
  if (nvml.Call("nvmlDeviceGetVbiosVersion", device, text.data(), size) == kSuccess)
    out.Add("vbios", text.data());
  for (const PlainNumber& plain : kUnsigned) {
    unsigned value = 0;
    if (nvml.Call(plain.function, device, &value) == kSuccess) out.Add(plain.name, value);
  }
  unsigned temperature = 0;
  if (nvml.Call("nvmlDeviceGetTemperature", device, 0, &temperature) == kSuccess)
    out.Add("temperature_c", temperature);
  Utilization utilization{};
  if (nvml.Call("nvmlDeviceGetUtilizationRates", device, &utilization) == kSuccess)
    out.Add("util_pct", utilization.gpu);
  MemoryV2 memory{};
  memory.version = kMemoryV2;
  if (nvml.Call("nvmlDeviceGetMemoryInfo_v2", device, &memory) == kSuccess) {
    out.Add("memory_total", memory.total);
    out.Add("memory_used", memory.used);
    out.Add("memory_reserved", memory.reserved);
  }
  unsigned long long reasons = 0;
  if (nvml.Call("nvmlDeviceGetCurrentClocksEventReasons", device, &reasons) == kSuccess ||
      nvml.Call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons) == kSuccess) {
    out.Add("clock_reasons", reasons);
  }
  constexpr std::pair<int, const char*> kViolations[] = {{0, "violation_power_ns"},
                                                         {1, "violation_thermal_ns"}};
  for (const auto& [policy, name] : kViolations) {
    ViolationTime violation{};
    if (nvml.Call("nvmlDeviceGetViolationStatus", device, policy, &violation) == kSuccess)
      out.Add(name, violation.violation_ns);
  }
  unsigned current = 0, pending = 0;
  if (nvml.Call("nvmlDeviceGetEccMode", device, &current, &pending) == kSuccess)
    out.Add("ecc_mode", current);
  if (nvml.Call("nvmlDeviceGetMigMode", device, &current, &pending) == kSuccess)
    out.Add("mig_mode", current);
  constexpr std::pair<int, const char*> kEcc[] = {{0, "ecc_corrected"}, {1, "ecc_uncorrected"}};
  for (const auto& [type, name] : kEcc) {
    unsigned long long count = 0;
    if (nvml.Call("nvmlDeviceGetTotalEccErrors", device, type, 0 /* volatile */, &count) ==
        kSuccess)
      out.Add(name, count);
  }
  unsigned corrected = 0, uncorrected = 0, remap_pending = 0, failed = 0;
  if (nvml.Call("nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected, &remap_pending,
                &failed) == kSuccess) {
    out.Add("remap_corrected", corrected);
    out.Add("remap_uncorrected", uncorrected);
    out.Add("remap_pending", remap_pending);
    out.Add("remap_failed", failed);
  }
  ReadProcesses(nvml, device, out);
  ReadLinks(nvml, device, out);
  return out.text();
}

void ReadAll(const Library& nvml, ProbeOutput& output, int sample) {
  unsigned count = 0;
  output.Begin("nvmlDeviceGetCount");
  if (nvml.Call("nvmlDeviceGetCount_v2", &count) != kSuccess) return;
  for (unsigned index = 0; index < count && index < 64; ++index) {
    output.Begin("GPU " + std::to_string(index));
    Device device = nullptr;
    const int status = nvml.Call("nvmlDeviceGetHandleByIndex_v2", index, &device);
    PciInfo pci{};
    std::string address = "index-" + std::to_string(index);
    if (status == kSuccess && nvml.Call("nvmlDeviceGetPciInfo_v3", device, &pci) == kSuccess) {
      // "00000000:9B:00.0" -> "0000:9b:00.0", as sysfs and the kernel log write it.
      address = std::string(pci.bus_id, strnlen(pci.bus_id, sizeof pci.bus_id));
      if (address.size() == 16) address.erase(0, 4);
      for (char& c : address) c = c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
    }
    const std::string key = "@nvml/" + std::to_string(sample) + "/" + address;
    output.Put(key, status == kSuccess ? ReadGpu(nvml, device, index)
                                       : "index " + std::to_string(index) + "\nlost " +
                                             nvml.ErrorText(status) + "\n");
  }
}

}  // namespace

void ProbeNvml(ProbeOutput& output, DurationNs sample) {
  output.Begin("dlopen libnvidia-ml.so.1");
  const Library nvml;
  if (!nvml.loaded()) {
    output.Put("@nvml/driver", "none");
    return;
  }
  output.Begin("nvmlInit");
  if (const int status = nvml.Call("nvmlInit_v2"); status != kSuccess) {
    output.Put("@nvml/driver", "failed " + nvml.ErrorText(status));
    return;
  }
  std::array<char, 96> version{};
  nvml.Call("nvmlSystemGetDriverVersion", version.data(), static_cast<unsigned>(version.size()));
  ReadAll(nvml, output, 0);
  output.Put("@nvml/driver", std::string("version ") + version.data());
  const timespec pause{sample.value / 1'000'000'000, sample.value % 1'000'000'000};
  nanosleep(&pause, nullptr);
  ReadAll(nvml, output, 1);
  output.Begin("nvmlShutdown");
  nvml.Call("nvmlShutdown");
}

bool NvmlMayExist() {
  constexpr std::string_view kName = "/libnvidia-ml.so.1";
  const char* path = std::getenv("LD_LIBRARY_PATH");
  std::string folders = path == nullptr ? "" : path;
  folders +=
      ":/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:/lib64:/usr/local/"
      "nvidia/lib64:"
      "/usr/local/nvidia/lib:/usr/lib/wsl/lib:/run/opengl-driver/lib:/usr/lib/x86_64-linux-gnu/"
      "nvidia/current";
  for (const std::string_view folder : Split(folders, ':')) {
    if (!folder.empty() && PathExists(std::string(folder) + std::string(kName))) return true;
  }
  return false;
}

bool HasGpu(const Texts& texts) {
  bool any = false;
  texts.Under("/sys/bus/pci/devices/", [&](std::string_view path, std::string_view text) {
    any = any || (path.ends_with("/vendor") && TrimBlanks(text) == "0x10de");
  });
  return any;
}

std::vector<std::string> PciGpus(const Texts& texts) {
  constexpr std::string_view kFolder = "/sys/bus/pci/devices/", kVendor = "/vendor";
  std::vector<std::string> found;
  texts.Under(kFolder, [&](auto path, auto text) {
    if (!path.ends_with(kVendor) || TrimBlanks(text) != "0x10de") return;
    const std::string folder(path.substr(0, path.size() - kVendor.size()));
    const std::string_view kind = texts.Get(folder + "/class");
    if (kind.starts_with("0x0300") || kind.starts_with("0x0302"))
      found.push_back(folder.substr(kFolder.size()));
  });
  return found;
}

std::optional<double> Gpu::Number(std::string_view name) const {
  const auto at = after.find(name);
  return at == after.end() ? std::nullopt : ParseNumber(at->second);
}

std::optional<double> Gpu::NumberBefore(std::string_view name) const {
  const auto at = before.find(name);
  return at == before.end() ? std::nullopt : ParseNumber(at->second);
}

std::optional<double> Gpu::Grown(std::string_view name) const {
  const auto now = Number(name);
  const auto old = NumberBefore(name);
  if (!now || !old || *now < *old) return std::nullopt;
  return *now - *old;
}

std::vector<std::int32_t> Gpu::Pids() const {
  std::vector<std::int32_t> pids;
  const auto at = after.find("pids");
  if (at == after.end()) return pids;
  kernel::WordCursor words(at->second);
  for (std::string_view word = words.Word(); !word.empty(); word = words.Word()) {
    if (const auto pid = ParseInteger<std::int32_t>(word); pid && *pid > 0) pids.push_back(*pid);
  }
  return pids;
}

std::string Gpu::Name() const {
  const auto index = after.find("index");
  return "GPU " + (index == after.end() ? "?" : index->second) + " (" + pci + ")";
}

std::vector<Gpu> ParseGpus(const Texts& texts) {
  const auto parse = [](std::string_view text) {
    std::map<std::string, std::string, std::less<>> values;
    kernel::LineCursor lines(text);
    for (std::string_view line; lines.Next(line);) {
      const auto blank = line.find(' ');
      if (blank != line.npos) values[std::string(line.substr(0, blank))] = line.substr(blank + 1);
    }
    return values;
  };
  std::vector<Gpu> gpus;
  texts.Under("@nvml/0/", [&](std::string_view path, std::string_view text) {
    Gpu gpu;
    gpu.pci = path.substr(8);
    gpu.before = parse(text);
    const Text* second = texts.Find("@nvml/1/" + gpu.pci);
    gpu.after = second == nullptr ? gpu.before : parse(second->text);
    gpus.push_back(std::move(gpu));
  });
  return gpus;
}

}  // namespace culprit::health
