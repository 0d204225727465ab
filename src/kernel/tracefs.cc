#include "kernel/tracefs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/text.h"

namespace culprit::kernel {
namespace {

constexpr std::string_view kPlaces[] = {"sys/kernel/tracing", "sys/kernel/debug/tracing"};

constexpr std::string_view kNeedsRoot = "run as root, or with CAP_SYS_ADMIN and CAP_DAC_OVERRIDE";

Result<std::vector<std::string>> DirectoryNames(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (!directory) return ErrnoError("open", path, errno);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

Status TraceDirectory::SetBufferBytesPerCpu(std::uint64_t bytes) const {
  return Write("buffer_size_kb", std::to_string((bytes + 1023) / 1024));
}

Status TraceDirectory::SetOption(std::string_view name, bool on) const {
  return Write("options/" + std::string(name), on ? "1" : "0");
}

Status TraceDirectory::EnableEvent(std::string_view event, bool on) const {
  return Write("events/" + std::string(event) + "/enable", on ? "1" : "0");
}

Result<std::string> TraceDirectory::EventFormat(std::string_view event) const {
  return Read("events/" + std::string(event) + "/format");
}

Result<std::vector<int>> TraceDirectory::Cpus() const {
  CULPRIT_ASSIGN(const std::vector<std::string> names, DirectoryNames(PathOf("per_cpu")));
  std::vector<int> cpus;
  for (const std::string_view name : names) {
    if (!name.starts_with("cpu")) continue;
    if (const auto cpu = ParseInteger<int>(name.substr(3)); cpu) cpus.push_back(*cpu);
  }
  std::ranges::sort(cpus);
  return cpus;
}

std::string TraceDirectory::CpuFile(int cpu, std::string_view name) {
  return "per_cpu/cpu" + std::to_string(cpu) + "/" + std::string(name);
}

std::uint32_t TraceDirectory::SubBufferBytes() const {
  constexpr std::uint32_t kLargest = 1U << 26;
  if (const auto text = Read("buffer_subbuf_size_kb"); text) {
    const auto kb = ParseInteger<std::uint32_t>(TrimBlanks(*text));
    if (kb && *kb > 0 && *kb <= kLargest / 1024) return *kb * 1024;
  }
  return static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
}

Result<Tracefs> Tracefs::Find(const std::string& root) {
  bool hidden = false;
  for (const std::string_view place : kPlaces) {
    const std::string path = JoinPath(root, place);
    if (PathExists(path + "/trace_clock")) return Tracefs(path);
    hidden = hidden || errno == EACCES;
  }
  if (hidden || geteuid() != 0) {
    return Error{"the kernel's tracing files cannot be reached as this user",
                 std::string(kNeedsRoot)};
  }
  return Error{"tracefs is not mounted", "mount -t tracefs nodev /sys/kernel/tracing"};
}

Result<Tracefs> Tracefs::FindOrMount(const std::string& root) {
  if (auto found = Find(root); found || geteuid() != 0) return found;
  const std::string path = JoinPath(root, kPlaces[0]);
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME;
  if (mount("nodev", path.c_str(), "tracefs", kFlags, nullptr) != 0) {
    const int error_number = errno;
    Error error = ErrnoError("mount tracefs at", path, error_number);
    if (error_number == ENOENT || error_number == ENODEV) {
      error.remedy = "this kernel is built without tracing (CONFIG_FTRACE)";
    } else if (error_number == EPERM || error_number == EACCES) {
      error.remedy =
          "in a container, mount it from the host (-v /sys/kernel/tracing) and run privileged";
    }
    return error;
  }
  return Find(root);
}

Result<std::vector<std::string>> Tracefs::AvailableEvents() const {
  CULPRIT_ASSIGN(const std::string text, top_.Read("available_events"));
  std::vector<std::string> events;
  for (const std::string_view line : SplitLines(text)) {
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    events.emplace_back(line);
    events.back()[colon] = '/';
  }
  std::ranges::sort(events);
  return events;
}

Result<std::vector<std::string>> Tracefs::Clocks() const {
  CULPRIT_ASSIGN(const std::string text, top_.Read("trace_clock"));
  std::vector<std::string> clocks;
  for (std::string_view word : SplitWords(text)) {
    if (word.starts_with("[") && word.ends_with("]")) word = word.substr(1, word.size() - 2);
    clocks.emplace_back(word);
  }
  return clocks;
}

Result<std::vector<std::string>> Tracefs::Instances() const {
  return DirectoryNames(top_.PathOf("instances"));
}

TraceDirectory Tracefs::Instance(std::string_view name) const {
  return TraceDirectory(top_.PathOf("instances/" + std::string(name)));
}

Result<TraceDirectory> Tracefs::CreateInstance(std::string_view name) const {
  TraceDirectory instance = Instance(name);
  if (mkdir(instance.path().c_str(), 0750) != 0) {
    const int error_number = errno;
    Error error = ErrnoError("make the trace instance", instance.path(), error_number);
    if (error_number == EACCES || error_number == EPERM) error.remedy = kNeedsRoot;
    if (error_number == ENOMEM) error.remedy = "free memory, or ask for less with --buffer";
    return error;
  }
  return instance;
}

Status Tracefs::RemoveInstance(std::string_view name) const {
  const TraceDirectory instance = Instance(name);
  if (!PathExists(instance.path())) return {};
  // Removal alone would do, but not while a reader holds a file open: stop the cost first. What
  // fails here is settled by rmdir.
  static_cast<void>(instance.SetTracingOn(false));
  static_cast<void>(instance.Write("events/enable", "0"));
  constexpr int kTries = 40;
  constexpr std::chrono::milliseconds kPause(25);
  for (int i = 0;; ++i) {
    if (rmdir(instance.path().c_str()) == 0 || errno == ENOENT) return {};
    if (errno != EBUSY || i == kTries) {
      const int error_number = errno;
      Error error = ErrnoError("remove the trace instance", instance.path(), error_number);
      if (error_number == EBUSY) error.remedy = "a process still has a file of it open; end that";
      return error;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace culprit::kernel
