#include "sampling/perf_event.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "base/text.h"

namespace culprit::sampling {
namespace {

std::size_t PageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

bool RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

OpenedEvent OpenPerfEvent(const perf_event_attr& attributes, std::int32_t tid, int cpu) {
  perf_event_attr copy = attributes;  // the kernel writes the size that it knows on E2BIG
  for (;;) {
    const long fd = syscall(SYS_perf_event_open, &copy, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd >= 0) return {UniqueFd(static_cast<int>(fd)), 0};
    if (errno == EINTR) continue;
    if (errno == EMFILE && RaiseFileLimit()) continue;
    return {UniqueFd(), errno == 0 ? EIO : errno};
  }
}

Error RefusedEvent(std::string_view event, int error_number) {
  Error error = ErrnoError("sample", event, error_number);
  switch (error_number) {
    case EACCES:
    case EPERM:
      error.remedy =
          "run as root, grant CAP_PERFMON, or sysctl kernel.perf_event_paranoid=-1; in a container "
          "--cap-add PERFMON";
      break;
    case ENOENT:
    case EOPNOTSUPP:
    case ENODEV:
      error.remedy = "this machine (often a VM) does not have it: --event cpu-clock works anywhere";
      break;
    case EMFILE:
      error.remedy = "raise the limit of open files (ulimit -n): a descriptor a thread and CPU";
      break;
    case ENOSYS:
      error.remedy = "a seccomp filter or the kernel's configuration forbids perf events";
      break;
    default:
      break;
  }
  return error;
}

Result<PerfRing> PerfRing::Map(int fd, std::size_t bytes) {
  for (; bytes >= 8 * PageBytes(); bytes /= 2) {
    void* pages = mmap(nullptr, bytes + PageBytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (pages != MAP_FAILED) return PerfRing(fd, pages, bytes);
    if (errno != EPERM && errno != ENOMEM) break;
  }
  Error error = ErrnoError("map", "a ring of perf events", errno);
  error.remedy = "end other profilers, or as root: sysctl kernel.perf_event_mlock_kb=2048";
  return error;
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : fd_(other.fd_), pages_(std::exchange(other.pages_, nullptr)), bytes_(other.bytes_) {}

PerfRing::~PerfRing() {
  if (pages_ != nullptr) munmap(pages_, bytes_ + PageBytes());
}

void PerfRing::Drain(
    const std::function<bool(std::span<const std::byte>, std::span<const std::byte>)>& take) {
  auto* control = static_cast<perf_event_mmap_page*>(pages_);
  const auto* data = static_cast<const std::byte*>(pages_) + PageBytes();
  const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
  const std::uint64_t tail = control->data_tail;
  if (head == tail || head - tail > bytes_) return;
  const std::size_t begin = tail & (bytes_ - 1);
  const std::size_t size = head - tail;
  const std::size_t first = std::min(size, bytes_ - begin);
  if (take({data + begin, first}, {data, size - first})) {
    __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
  }
}

}  // namespace culprit::sampling
