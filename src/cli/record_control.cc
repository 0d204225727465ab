#include "cli/record_control.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "capture/category_table.h"
#include "capture/instance.h"
#include "capture/registry.h"
#include "capture/ring_stats.h"
#include "cli/verb.h"
#include "kernel/process_identity.h"
#include "kernel/tracefs.h"

namespace culprit::cli {
namespace {

using nlohmann::ordered_json;

std::string LocalTime(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm local{};
  char text[32] = "";
  if (localtime_r(&time, &local) != nullptr) {
    std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
  }
  return text;
}

// Lost by the rings of an instance since it was made; nothing when it cannot be read.
std::optional<std::uint64_t> LiveLoss(const std::string& instance) {
  if (instance.empty()) return 0;
  const auto tracefs = kernel::Tracefs::Find();
  if (!tracefs) return std::nullopt;
  const kernel::TraceDirectory directory = tracefs->Instance(instance);
  const auto cpus = directory.Cpus();
  if (!cpus) return std::nullopt;
  std::uint64_t lost = 0;
  for (const int cpu : *cpus) {
    const auto text = directory.Read(kernel::TraceDirectory::CpuFile(cpu, "stats"));
    if (text) lost += capture::LostEvents(capture::ParseRingStats(*text));
  }
  return lost;
}

// Waits until the recorder has no entry any more (its file is there), failed, or is gone.
std::optional<capture::RegistryEntry> WaitForEnd(const capture::Registry& registry,
                                                 const capture::RegistryEntry& recording) {
  for (;;) {
    const auto entries = registry.List();
    const auto it =
        std::ranges::find(entries, recording.recorder, &capture::RegistryEntry::recorder);
    if (it == entries.end()) return std::nullopt;
    if (it->state == "failed") return *it;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

int ListCategories(const RecordOptions& options) {
  std::vector<std::string> events;
  const auto tracefs = kernel::Tracefs::FindOrMount();
  if (tracefs) {
    auto available = tracefs->AvailableEvents();
    if (!available) return Fail(available.error());
    events = std::move(available).value();
  } else {
    fmt::print(stderr, "culprit: which events this kernel has is not known: {}\n",
               SafeForTerminal(tracefs.error().ToString()));
  }
  const auto categories = capture::ListCategories(events);
  if (options.json) {
    ordered_json json = ordered_json::array();
    for (const capture::CategoryOnKernel& entry : categories) {
      json.push_back({{"name", entry.category->name},
                      {"summary", entry.category->summary},
                      {"members", std::vector<std::string>(entry.category->members.begin(),
                                                           entry.category->members.end())},
                      {"present", entry.present},
                      {"absent", entry.absent}});
    }
    fmt::print("{}\n", json.dump(2));
    return kExitOk;
  }
  for (const capture::CategoryOnKernel& entry : categories) {
    fmt::print("{:<10} {}\n", entry.category->name, entry.category->summary);
    if (!entry.category->members.empty()) {
      std::string members;
      for (const std::string_view member : entry.category->members) {
        members.append(" ").append(member);
      }
      fmt::print("           ={}\n", members);
      continue;
    }
    for (const std::string& event : entry.present) fmt::print("           + {}\n", event);
    for (const std::string& event : entry.absent) fmt::print("           - {}\n", event);
  }
  fmt::print("\n+ this kernel has it   - it has not\n");
  return kExitOk;
}

int ShowRecordings(const RecordOptions& options) {
  const auto registry = capture::Registry::Open();
  if (!registry) return Fail(registry.error());
  const auto entries = registry->List();
  ordered_json json = ordered_json::array();
  if (!options.json && entries.empty()) fmt::print("no recording is under way\n");
  if (!options.json && !entries.empty()) {
    fmt::print("{:>8}  {:<19}  {:<9}  {:>5}  {:>12}  {}\n", "pid", "since", "state", "files",
               "lost events", "output");
  }
  for (const capture::RegistryEntry& entry : entries) {
    const auto live = LiveLoss(entry.state == "recording" ? entry.instance : "");
    const std::uint64_t lost = std::max(entry.lost_events, live.value_or(0));
    if (options.json) {
      json.push_back({{"pid", entry.recorder.pid},
                      {"since_unix_s", entry.since_unix_s},
                      {"state", entry.state},
                      {"files", entry.files},
                      {"lost_events", lost},
                      {"output", entry.output},
                      {"error", entry.error}});
    } else {
      fmt::print("{:>8}  {:<19}  {:<9}  {:>5}  {:>12}  {}\n", entry.recorder.pid,
                 LocalTime(entry.since_unix_s), entry.state, entry.files, FormatCount(lost),
                 SafeForTerminal(entry.output));
      if (!entry.error.empty()) fmt::print("          {}\n", SafeForTerminal(entry.error));
    }
    // A failure is told once.
    if (entry.state == "failed") registry->Remove(entry.recorder.pid);
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
  return kExitOk;
}

int StopRecording(const RecordOptions& options) {
  const auto registry = capture::Registry::Open();
  if (!registry) return Fail(registry.error());
  auto entries = registry->List();
  std::erase_if(entries, [](const auto& entry) { return entry.state == "failed"; });
  if (!options.stop_pid.empty()) {
    const auto pid = ParseInteger<std::int32_t>(options.stop_pid);
    if (!pid) return Fail({"not a pid: '" + options.stop_pid + "'", "see --status"}, kExitUsage);
    std::erase_if(entries, [&](const auto& entry) { return entry.recorder.pid != *pid; });
    if (entries.empty()) {
      return Fail({"no recorder with pid " + options.stop_pid, "see culprit record --status"});
    }
  }
  if (entries.empty()) return Fail({"no recording is under way", "see culprit record --status"});
  if (entries.size() > 1) {
    std::string pids;
    for (const auto& entry : entries) pids += " " + std::to_string(entry.recorder.pid);
    return Fail({std::to_string(entries.size()) + " recordings are under way:" + pids,
                 "say which: culprit record --stop PID"},
                kExitUsage);
  }
  const capture::RegistryEntry& recording = entries.front();
  // SIGINT ends the recording and leaves a command that it runs alone. The identity was checked by
  // List a moment ago; the recorder cannot have been replaced without its entry being gone.
  if (kill(recording.recorder.pid, SIGINT) != 0) {
    return Fail(ErrnoError("signal", "recorder " + std::to_string(recording.recorder.pid), errno));
  }
  if (const auto failed = WaitForEnd(*registry, recording); failed) {
    registry->Remove(failed->recorder.pid);
    return Fail(
        {"recorder " + std::to_string(failed->recorder.pid) + " failed: " + failed->error, ""});
  }
  if (access(recording.output.c_str(), F_OK) != 0) {
    return Fail({"recorder " + std::to_string(recording.recorder.pid) + " ended without its file " +
                     recording.output,
                 "was it killed?"});
  }
  if (!options.quiet) fmt::print("{}\n", SafeForTerminal(recording.output));
  return kExitOk;
}

int CleanUp(const RecordOptions& options) {
  const auto tracefs = kernel::Tracefs::Find();
  if (!tracefs) return Fail(tracefs.error());
  const auto removed = capture::RemoveDeadInstances(*tracefs);
  if (!removed) return Fail(removed.error());
  if (options.quiet) return kExitOk;
  for (const std::string& name : *removed) fmt::print("removed {}\n", name);
  if (removed->empty()) fmt::print("nothing to remove\n");
  return kExitOk;
}

}  // namespace culprit::cli
