#include "capture/own_threads/switch_ring.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::capture {
namespace {

// Every user may lock kernel.perf_event_mlock_kb (516) of rings a CPU: 512 and the control page.
constexpr std::size_t kMostPages = 128;
constexpr std::size_t kLeastPages = 8;
constexpr std::uint16_t kSwitchOut = 1 << 13;         // PERF_RECORD_MISC_SWITCH_OUT
constexpr std::uint16_t kSwitchOutPreempt = 1 << 14;  // PERF_RECORD_MISC_SWITCH_OUT_PREEMPT

// What PERF_SAMPLE_TID | TIME | CPU puts behind every record.
struct SampleId {
  std::uint32_t pid, tid;
  std::uint64_t time;
  std::uint32_t cpu, reserved;
};
static_assert(sizeof(SampleId) == 24);

std::size_t PageBytes() {
  static const long bytes = sysconf(_SC_PAGESIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : 4096;
}

Error Refused(int error_number) {
  Error error = ErrnoError("open", "perf events of own threads", error_number);
  const auto text = ReadFile("/proc/sys/kernel/perf_event_paranoid");
  const auto level = text ? ParseInteger<int>(TrimBlanks(*text)) : std::nullopt;
  if (level && *level > 2) {
    error.remedy = "as root: sysctl kernel.perf_event_paranoid=2";
  } else if (error_number == EPERM || error_number == EACCES || error_number == ENOSYS) {
    error.remedy =
        "a seccomp filter or security module forbids it: start the container with --cap-add "
        "PERFMON or --security-opt seccomp=unconfined";
  } else if (error_number == EMFILE) {
    error.remedy = "raise the limit of open files (ulimit -n): a descriptor a thread and CPU";
  }
  return error;
}

bool RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// -errno when refused.
int OpenEvent(int clock_id, std::int32_t tid, int cpu) {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attributes.sample_id_all = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.inherit = 1;
  attributes.context_switch = 1;
  attributes.task = 1;  // forks and exits
  attributes.use_clockid = 1;
  attributes.clockid = clock_id;
  for (;;) {
    const long fd = syscall(SYS_perf_event_open, &attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == EINTR) continue;
    if (errno == EMFILE && RaiseFileLimit()) continue;
    return -errno;
  }
}

}  // namespace

Result<SwitchRings> SwitchRings::Open(int clock_id) {
  SwitchRings rings(clock_id);
  CULPRIT_ASSIGN(const std::string text, ReadFile("/sys/devices/system/cpu/online"));
  const auto cpus = kernel::ParseCpuList(TrimBlanks(text));
  if (!cpus || cpus->empty()) return Error{"/sys/devices/system/cpu/online is not readable", ""};
  for (const std::uint32_t cpu : *cpus) rings.rings_.push_back({.cpu = static_cast<int>(cpu)});
  CULPRIT_TRY(Probe());
  return rings;
}

SwitchRings::SwitchRings(SwitchRings&& other) noexcept
    : clock_id_(other.clock_id_),
      rings_(std::exchange(other.rings_, {})),
      fds_(std::move(other.fds_)),
      lost_(other.lost_) {}

SwitchRings::~SwitchRings() {
  for (const Ring& ring : rings_) {
    if (ring.pages != nullptr) munmap(ring.pages, ring.bytes + PageBytes());
  }
}

Status SwitchRings::Probe() {
  const int fd = OpenEvent(CLOCK_BOOTTIME, 0, -1);
  if (fd < 0) return Refused(-fd);
  close(fd);
  return {};
}

Status SwitchRings::MapRing(Ring& ring, int fd) {
  for (std::size_t pages = kMostPages; pages >= kLeastPages; pages /= 2) {
    const std::size_t bytes = pages * PageBytes();
    void* mapped = mmap(nullptr, bytes + PageBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped != MAP_FAILED) {
      ring.pages = mapped;
      ring.bytes = bytes;
      ring.fd = fd;
      return {};
    }
    if (errno != EPERM && errno != ENOMEM) break;
  }
  Error error = ErrnoError("map", "a ring of perf events", errno);
  error.remedy =
      "end other profilers of this user, or as root: sysctl kernel.perf_event_mlock_kb=2048";
  return error;
}

Status SwitchRings::Watch(std::int32_t tid) {
  for (Ring& ring : rings_) {
    const int opened = OpenEvent(clock_id_, tid, ring.cpu);
    if (opened == -ESRCH) return {};
    if (opened == -ENODEV) continue;  // the CPU is offline now
    if (opened == -EACCES || opened == -EPERM) {
      // Our own threads may be watched (Probe), so it is whose it is.
      return Error{"thread " + std::to_string(tid) + " may not be watched by this user",
                   "record as its owner, or as root"};
    }
    if (opened < 0) return Refused(-opened);
    UniqueFd fd(opened);
    if (ring.pages == nullptr) {
      CULPRIT_TRY(MapRing(ring, fd.get()));
    } else if (ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, ring.fd) != 0) {
      return ErrnoError("share", "a ring of perf events", errno);
    }
    fds_.push_back(std::move(fd));
  }
  return {};
}

void SwitchRings::Drain(std::vector<SwitchRecord>& switches, std::vector<BornThread>& born) {
  std::vector<unsigned char> record;
  for (const Ring& ring : rings_) {
    if (ring.pages == nullptr) continue;
    auto* control = static_cast<perf_event_mmap_page*>(ring.pages);
    const auto* data = static_cast<const unsigned char*>(ring.pages) + PageBytes();
    const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = control->data_tail;
    while (head - tail >= sizeof(perf_event_header)) {
      perf_event_header header;
      // Records are multiples of 8 bytes, so a header never wraps around; its record may.
      std::memcpy(&header, data + tail % ring.bytes, sizeof(header));
      if (header.size < sizeof(header) || header.size > head - tail) break;
      record.resize(header.size);
      const std::size_t at = tail % ring.bytes;
      const std::size_t first = std::min<std::size_t>(header.size, ring.bytes - at);
      std::memcpy(record.data(), data + at, first);
      std::memcpy(record.data() + first, data, header.size - first);
      tail += header.size;
      SampleId id{};
      if (header.size < sizeof(header) + sizeof(id)) continue;
      std::memcpy(&id, record.data() + header.size - sizeof(id), sizeof(id));
      const auto ts = static_cast<std::int64_t>(id.time);
      const auto tid = static_cast<std::int32_t>(id.tid);
      if (header.type == PERF_RECORD_SWITCH) {
        const SwitchKind kind = (header.misc & kSwitchOut) == 0          ? SwitchKind::kIn
                                : (header.misc & kSwitchOutPreempt) != 0 ? SwitchKind::kOutPreempted
                                                                         : SwitchKind::kOut;
        switches.push_back({ts, tid, static_cast<std::int32_t>(id.cpu), kind});
      } else if (header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT) {
        std::uint32_t fields[4];  // pid, ppid, tid, ptid
        if (header.size < sizeof(header) + sizeof(fields)) continue;
        std::memcpy(fields, record.data() + sizeof(header), sizeof(fields));
        if (header.type == PERF_RECORD_FORK) {
          born.push_back({ts, static_cast<std::int32_t>(fields[0]),
                          static_cast<std::int32_t>(fields[2]),
                          static_cast<std::int32_t>(fields[3])});
          switches.push_back({ts, born.back().tid, -1, SwitchKind::kBorn});
        } else {
          switches.push_back(
              {ts, static_cast<std::int32_t>(fields[2]), ring.cpu, SwitchKind::kExit});
        }
      } else if (header.type == PERF_RECORD_LOST) {
        std::uint64_t fields[2];  // id, lost
        if (header.size < sizeof(header) + sizeof(fields)) continue;
        std::memcpy(fields, record.data() + sizeof(header), sizeof(fields));
        lost_ += fields[1];
      }
    }
    __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
  }
}

}  // namespace culprit::capture
