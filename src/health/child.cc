#include "health/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"

namespace culprit::health {
namespace {

// Address space, not memory: pages come as they are written.
constexpr std::size_t kSharedBytes = std::size_t{64} << 20;
constexpr std::size_t kNameBytes = 1000;
constexpr int kDoneStatus = 0;
constexpr std::int64_t kReapNs = 200'000'000;

struct RecordHead {
  std::uint32_t key_bytes;
  std::uint32_t text_bytes;
  std::int32_t error_number;
};

}  // namespace

struct ProbeOutput::Shared {
  std::atomic<std::uint32_t> name_bytes;
  char name[kNameBytes];
  std::atomic<std::uint64_t> used;  // of data
  char data[1];                     // to the end of the mapping
  static constexpr std::size_t kRoom = kSharedBytes - kNameBytes - 64;
};

void ProbeOutput::Begin(std::string_view what) {
  const std::size_t size = std::min(what.size(), kNameBytes);
  shared_->name_bytes.store(0);
  std::memcpy(shared_->name, what.data(), size);
  shared_->name_bytes.store(static_cast<std::uint32_t>(size));
}

void ProbeOutput::Put(std::string_view key, std::string_view text, int error_number) {
  const std::uint64_t used = shared_->used.load();
  if (key.size() + text.size() + sizeof(RecordHead) > Shared::kRoom - used) return;
  const RecordHead head{static_cast<std::uint32_t>(key.size()),
                        static_cast<std::uint32_t>(text.size()), error_number};
  char* at = shared_->data + used;
  std::memcpy(at, &head, sizeof(head));
  std::memcpy(at + sizeof(head), key.data(), key.size());
  std::memcpy(at + sizeof(head) + key.size(), text.data(), text.size());
  shared_->used.store(used + sizeof(head) + key.size() + text.size());
}

namespace {

// In the child: nothing of the parent's descriptors or terminal may be held or written to, or a
// stuck child would keep a pipe of the caller's open for ever.
void Detach(int keep) {
  const int null = open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) dup2(null, fd);
  const unsigned first = 3;
  const auto last_before = static_cast<unsigned>(keep) - 1;
  bool closed = true;
  if (static_cast<unsigned>(keep) > first) {
    closed = syscall(SYS_close_range, first, last_before, 0) == 0;
  }
  closed = closed && syscall(SYS_close_range, keep + 1, ~0U, 0) == 0;
  if (closed) return;
  for (int fd = 3; fd < 4096; ++fd) {  // before 5.9
    if (fd != keep) close(fd);
  }
}

}  // namespace

Result<ChildProbe> ChildProbe::Start(std::string_view name, const Work& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoError("pipe for probe", name, errno);
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  void* memory = mmap(nullptr, kSharedBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ErrnoError("mmap for probe", name, errno);
  auto* shared = static_cast<ProbeOutput::Shared*>(memory);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    const int error_number = errno;
    munmap(memory, kSharedBytes);
    return ErrnoError("fork for probe", name, error_number);
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    const std::string comm(name.substr(0, 15));
    prctl(PR_SET_NAME, comm.c_str());
    Detach(write_end.get());
    ProbeOutput output(shared);
    work(output);
    _exit(kDoneStatus);
  }
  return ChildProbe(pid, std::move(read_end), shared);
}

ChildProbe::ChildProbe(ChildProbe&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      end_(std::move(other.end_)),
      shared_(std::exchange(other.shared_, nullptr)),
      died_(other.died_),
      done_(other.done_) {}

ChildProbe& ChildProbe::operator=(ChildProbe&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(end_, other.end_);
  std::swap(shared_, other.shared_);
  std::swap(died_, other.died_);
  std::swap(done_, other.done_);
  return *this;
}

ChildProbe::~ChildProbe() {
  Kill();
  if (shared_ != nullptr) munmap(shared_, kSharedBytes);
}

bool ChildProbe::Wait(TimeNs deadline) {
  while (pid_ > 0) {
    const std::int64_t left_ns = deadline.value - NowBoottime().value;
    pollfd end{end_.get(), POLLIN, 0};
    const int ready = poll(
        &end, 1,
        static_cast<int>(std::clamp<std::int64_t>((left_ns + 999'999) / 1'000'000, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    // The end of the pipe is the end of the child, some microseconds before it can be reaped; but
    // nothing may make us wait past the deadline.
    const std::int64_t most_ns = std::max(deadline.value, NowBoottime().value) + kReapNs;
    int status = 0;
    pid_t reaped = 0;
    while ((reaped = waitpid(pid_, &status, WNOHANG)) == 0 || (reaped < 0 && errno == EINTR)) {
      if (NowBoottime().value >= most_ns) return false;
      usleep(50);
    }
    pid_ = -1;
    done_ = reaped > 0 && WIFEXITED(status) && WEXITSTATUS(status) == kDoneStatus;
    died_ = !done_;
  }
  return done_;
}

bool ChildProbe::Kill() {
  if (pid_ <= 0) return true;
  kill(pid_, SIGKILL);
  // A child that can die does so within a few scheduler ticks; one in D state does not.
  for (int tries = 0; tries < 100; ++tries) {
    const pid_t reaped = waitpid(pid_, nullptr, WNOHANG);
    if (reaped != 0) {
      pid_ = -1;
      return true;
    }
    usleep(1000);
  }
  return false;
}

std::string ChildProbe::stuck_at() const {
  const std::size_t size = std::min<std::size_t>(shared_->name_bytes.load(), kNameBytes);
  return std::string(shared_->name, size);
}

void ChildProbe::Collect(Texts& texts) const {
  const auto used = std::min<std::uint64_t>(shared_->used.load(), ProbeOutput::Shared::kRoom);
  ByteReader reader(std::string_view(shared_->data, used));
  while (reader.ok() && reader.remaining() > 0) {
    const auto key_bytes = reader.Read<std::uint32_t>();
    const auto text_bytes = reader.Read<std::uint32_t>();
    const auto error_number = reader.Read<std::int32_t>();
    const auto key = reader.ReadText(key_bytes);
    const auto text = reader.ReadText(text_bytes);
    if (reader.ok()) texts.Put(std::string(key), {std::string(text), error_number});
  }
}

}  // namespace culprit::health
