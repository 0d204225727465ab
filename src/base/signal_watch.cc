#include "base/signal_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace culprit {
namespace {

constexpr int kTickMs = 100;

sigset_t WatchedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

Result<SignalWatch> SignalWatch::Open() {
  const sigset_t signals = WatchedSignals();
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return ErrnoError("signalfd", "", errno);
  sigset_t previous;
  pthread_sigmask(SIG_BLOCK, &signals, &previous);
  return SignalWatch(std::move(fd), previous);
}

SignalWatch::SignalWatch(SignalWatch&&) noexcept = default;

SignalWatch::~SignalWatch() {
  if (fd_.valid()) pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

int SignalWatch::Take() {
  signalfd_siginfo info;
  const auto size = read(fd_.get(), &info, sizeof(info));
  return size == sizeof(info) ? static_cast<int>(info.ssi_signo) : 0;
}

int SignalWatch::During(const std::function<void()>& work, const std::function<void()>& on_signal,
                        const std::function<void(DurationNs)>& on_tick) {
  const UniqueFd finished(eventfd(0, EFD_CLOEXEC));
  CULPRIT_CHECK(finished.valid());
  int last = 0;
  std::thread watcher([&] {
    const TimeNs start = NowBoottime();
    pollfd waits[] = {{finished.get(), POLLIN, 0}, {fd_.get(), POLLIN, 0}};
    for (;;) {
      poll(waits, 2, kTickMs);
      if (waits[0].revents != 0) return;
      if (const int signal = Take(); signal != 0) {
        last = signal;
        on_signal();
      }
      if (on_tick) on_tick(NowBoottime() - start);
    }
  });
  work();
  const std::uint64_t one = 1;
  CULPRIT_CHECK(write(finished.get(), &one, sizeof(one)) == sizeof(one));
  watcher.join();
  return last;
}

}  // namespace culprit
