#include "capture/instance.h"

#include <fcntl.h>
#include <sys/file.h>

#include <chrono>
#include <thread>

#include "base/text.h"

namespace culprit::capture {
namespace {

constexpr std::string_view kPrefix = "culprit-";

// True when no recorder holds the lock of the instance.
bool IsUnlocked(const kernel::TraceDirectory& instance) {
  const auto fd = OpenFile(instance.path(), O_RDONLY | O_DIRECTORY);
  return fd && flock(fd->get(), LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

std::string InstanceName(const kernel::ProcessIdentity& recorder) {
  return std::string(kPrefix) + std::to_string(recorder.pid) + "-" +
         std::to_string(recorder.start_ticks);
}

std::optional<kernel::ProcessIdentity> ParseInstanceName(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto parts = Split(name.substr(kPrefix.size()), '-');
  if (parts.size() != 2) return std::nullopt;
  const auto pid = ParseInteger<std::int32_t>(parts[0]);
  const auto start = ParseInteger<std::uint64_t>(parts[1]);
  if (!pid || !start || *pid <= 0) return std::nullopt;
  return kernel::ProcessIdentity{*pid, *start};
}

Result<std::vector<std::string>> DeadInstances(const kernel::Tracefs& tracefs,
                                               const std::string& root) {
  CULPRIT_ASSIGN(const std::vector<std::string> names, tracefs.Instances());
  const auto is_dead = [&](const std::string& name) {
    const auto recorder = ParseInstanceName(name);
    return recorder && !kernel::IsAlive(*recorder, root) && IsUnlocked(tracefs.Instance(name));
  };
  std::vector<std::string> dead;
  for (const std::string& name : names) {
    if (is_dead(name)) dead.push_back(name);
  }
  if (dead.empty()) return dead;
  // One of another PID namespace looks dead between its mkdir and its flock: look twice.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::erase_if(dead, [&](const std::string& name) { return !is_dead(name); });
  return dead;
}

Result<std::vector<std::string>> RemoveDeadInstances(const kernel::Tracefs& tracefs,
                                                     const std::string& root) {
  CULPRIT_ASSIGN(std::vector<std::string> dead, DeadInstances(tracefs, root));
  for (const std::string& name : dead) CULPRIT_TRY(tracefs.RemoveInstance(name));
  return dead;
}

Result<Instance> Instance::Create(const kernel::Tracefs& tracefs) {
  CULPRIT_ASSIGN(const kernel::ProcessIdentity self, kernel::OwnIdentity());
  const std::string name = InstanceName(self);
  CULPRIT_ASSIGN(kernel::TraceDirectory directory, tracefs.CreateInstance(name));
  Instance instance(tracefs, name, std::move(directory));
  CULPRIT_ASSIGN(instance.lock_, OpenFile(instance.directory_.path(), O_RDONLY | O_DIRECTORY));
  // A kernel whose tracefs knows no flock still has the pid and start time in the name.
  static_cast<void>(flock(instance.lock_.get(), LOCK_EX | LOCK_NB));
  if (instance.directory_.SetOption("disable_on_free", true)) {
    if (auto fd = OpenFile(instance.directory_.PathOf("free_buffer"), O_WRONLY); fd) {
      instance.free_buffer_ = std::move(fd).value();
    }
  }
  // A new instance traces from the start: nothing may enter before all is set up.
  CULPRIT_TRY(instance.directory_.SetTracingOn(false));
  return instance;
}

Instance::Instance(Instance&& other) noexcept
    : tracefs_(other.tracefs_),
      name_(std::exchange(other.name_, "")),
      directory_(other.directory_),
      lock_(std::move(other.lock_)),
      free_buffer_(std::move(other.free_buffer_)) {}

Status Instance::Remove() {
  if (name_.empty()) return {};
  free_buffer_.Reset();
  CULPRIT_TRY(tracefs_.RemoveInstance(name_));
  name_.clear();
  lock_.Reset();
  return {};
}

Instance::~Instance() { static_cast<void>(Remove()); }

}  // namespace culprit::capture
