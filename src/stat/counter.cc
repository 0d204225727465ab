#include "stat/counter.h"

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"

namespace culprit::stat {
namespace {

class KernelCounter : public Counter {
 public:
  explicit KernelCounter(UniqueFd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }

  Result<Reading> Read() override {
    std::uint64_t values[3] = {};  // PERF_FORMAT_TOTAL_TIME_ENABLED | _RUNNING, no group
    ssize_t got;
    do {
      got = read(fd_.get(), values, sizeof(values));
    } while (got < 0 && errno == EINTR);
    if (got < 0) return ErrnoError("read", "a performance counter", errno);
    // 0 bytes: the kernel has put a pinned event into its error state, which ours are not.
    if (got != ssize_t{sizeof(values)}) return Error{"a performance counter cannot be read", ""};
    return Reading{values[0], values[1], values[2]};
  }

 private:
  UniqueFd fd_;
};

class KernelOpener : public CounterOpener {
 public:
  OpenedCounter Open(const Event& event, const CounterPlace& place,
                     const Counter* leader) override {
    perf_event_attr attributes{};
    attributes.size = sizeof(attributes);
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.config1 = event.config1;
    attributes.config2 = event.config2;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attributes.exclude_user = event.exclude_user;
    attributes.exclude_kernel = event.exclude_kernel;
    attributes.exclude_hv = event.exclude_hypervisor;
    attributes.inherit = place.inherit;
    // The others of a group follow their leader.
    attributes.disabled = place.from_exec && leader == nullptr;
    attributes.enable_on_exec = place.from_exec && leader == nullptr;
    const int group = leader == nullptr ? -1 : static_cast<const KernelCounter*>(leader)->fd();
    for (;;) {
      UniqueFd fd(static_cast<int>(syscall(SYS_perf_event_open, &attributes, place.tid, place.cpu,
                                           group, PERF_FLAG_FD_CLOEXEC)));
      if (fd.valid()) return {std::make_unique<KernelCounter>(std::move(fd)), 0};
      if (errno == EINTR) continue;
      if (errno == EMFILE && RaiseFileLimit()) continue;
      return {nullptr, errno == 0 ? EIO : errno};
    }
  }

 private:
  static bool RaiseFileLimit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
  }
};

}  // namespace

std::unique_ptr<CounterOpener> KernelCounters() { return std::make_unique<KernelOpener>(); }

}  // namespace culprit::stat
