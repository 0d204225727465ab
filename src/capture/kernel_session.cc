#include "capture/kernel_session.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/text.h"
#include "capture/category_table.h"
#include "kernel/proc_scan.h"

namespace culprit::capture {
namespace {

constexpr std::uint64_t kLeastRingBytes = std::uint64_t{2} << 20;
// Of the top-level buffer: some 20,000 markers a CPU between two looks.
constexpr std::uint64_t kMarkerRingBytes = std::uint64_t{2} << 20;

// A poll on trace_pipe_raw returns, and the reader's thread wakes, when a ring is this full.
constexpr std::string_view kBufferPercent = "50";

// Rare, and without them short-lived threads have neither names nor processes.
constexpr std::string_view kLifeEvents[] = {"sched/sched_process_fork", "sched/sched_process_exec",
                                            "sched/sched_process_exit", "sched/sched_process_free",
                                            "task/task_newtask",        "task/task_rename"};

std::string_view GroupOf(std::string_view event) { return event.substr(0, event.find('/')); }

std::uint64_t OnlineCpus() {
  if (const auto text = ReadFile("/sys/devices/system/cpu/online"); text) {
    const auto cpus = kernel::ParseCpuList(TrimBlanks(*text));
    if (cpus && !cpus->empty()) return cpus->size();
  }
  return static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// Of the running kernel, as "major * 1000 + minor"; 0 when it cannot be told.
unsigned KernelRelease() {
  utsname name{};
  if (uname(&name) != 0) return 0;
  const auto parts = Split(name.release, '.');
  if (parts.size() < 2) return 0;
  const auto minor = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
  return ParseInteger<unsigned>(parts[0]).value_or(0) * 1000 +
         ParseInteger<unsigned>(minor).value_or(0);
}

// Threads of a process now; the process alone when its folder cannot be read.
std::vector<std::string> ThreadsOf(std::int32_t pid) {
  std::vector<std::string> tids;
  const std::string path = "/proc/" + std::to_string(pid) + "/task";
  if (DIR* directory = opendir(path.c_str()); directory != nullptr) {
    while (const dirent* entry = readdir(directory)) {
      if (entry->d_name[0] != '.') tids.emplace_back(entry->d_name);
    }
    closedir(directory);
  }
  return tids;
}

RingStats StatsOf(const kernel::TraceDirectory& directory, int cpu) {
  const auto text = directory.Read(kernel::TraceDirectory::CpuFile(cpu, "stats"));
  return text ? ParseRingStats(*text) : RingStats{};
}

}  // namespace

std::string_view TraceClockName(TraceClock clock) {
  switch (clock) {
    case TraceClock::kBoottime:
      return "boot";
    case TraceClock::kMonotonic:
      return "mono";
    case TraceClock::kMonotonicRaw:
      return "mono_raw";
  }
  return "boot";
}

Result<bool> StackTriggerStaysInside(const kernel::TraceDirectory& instance) {
  constexpr unsigned kFixedEverywhere = 5017;
  if (KernelRelease() >= kFixedEverywhere) return true;
  constexpr const char* kTrigger = "events/sched/sched_switch/trigger";
  const std::string probe = "stacktrace if prev_pid == " + std::to_string(long{gettid()});
  CULPRIT_TRY(instance.Write(kTrigger, probe));
  CULPRIT_TRY(instance.SetTracingOn(true));
  std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a switch of this thread
  CULPRIT_TRY(instance.SetTracingOn(false));
  CULPRIT_TRY(instance.Write(kTrigger, "!" + probe));
  CULPRIT_ASSIGN(const std::vector<int> cpus, instance.Cpus());
  const bool inside = std::ranges::any_of(cpus, [&](int cpu) {
    const auto text = instance.Read(kernel::TraceDirectory::CpuFile(cpu, "stats"));
    return text && ParseRingStats(*text).entries > 0;
  });
  CULPRIT_TRY(OpenFile(instance.PathOf("trace"), O_WRONLY | O_TRUNC));  // empties the rings
  return inside;
}

Result<KernelSession> KernelSession::Open(Instance instance, const RecordConfig& config,
                                          std::optional<TopLevelMarkers> markers) {
  CULPRIT_ASSIGN(const std::vector<std::string> available, instance.tracefs().AvailableEvents());
  KernelSession session(std::move(instance), std::move(markers));
  session.ChooseEvents(config, available);
  if (config.d_state_stacks) session.SetUpStacks();
  CULPRIT_TRY(session.SetUpRings(config));
  if (!config.pids.empty()) CULPRIT_TRY(session.FilterPids(config.pids));
  session.EnableEvents(available);
  if (config.markers) session.SetUpMarkers();
  session.ReadDescription();
  return session;
}

Status KernelSession::SetUpRings(const RecordConfig& config) {
  const kernel::TraceDirectory& trace = directory();
  const std::string_view clock = TraceClockName(config.clock);
  if (const Status set = trace.Write("trace_clock", clock); !set) {
    return Error{"this kernel has no trace clock '" + std::string(clock) + "'",
                 "choose another with builtin_data_sources.primary_trace_clock; boot needs Linux "
                 "4.10"};
  }
  description_.clock = clock;
  CULPRIT_TRY(trace.SetOption("overwrite", config.fill_policy != FillPolicy::kDiscard));
  // Before Linux 5.0 there is no such file, and a poll returns at the first event: the reader's own
  // pauses (drain.cc) make up for that.
  static_cast<void>(trace.Write("buffer_percent", kBufferPercent));
  const std::uint64_t online = OnlineCpus();
  ring_bytes_per_cpu_ =
      std::max({config.ring_bytes / online, config.ring_bytes_per_cpu, kLeastRingBytes});
  ring_bytes_ = ring_bytes_per_cpu_ * online;
  if (const Status set = trace.SetBufferBytesPerCpu(ring_bytes_per_cpu_); !set) {
    return Error{"the kernel gave no rings of " + FormatBytes(ring_bytes_per_cpu_) +
                     " for each CPU: " + set.error().what,
                 "ask for less with --buffer, or free memory"};
  }
  CULPRIT_ASSIGN(cpus_, trace.Cpus());
  return {};
}

void KernelSession::ChooseEvents(const RecordConfig& config,
                                 const std::vector<std::string>& available) {
  std::vector<EventRequest> requests = config.events;
  if (!requests.empty() || config.d_state_stacks) {
    for (const std::string_view event : kLifeEvents) {
      requests.push_back({std::string(event), false, ""});
    }
  }
  ExpandedEvents expanded = ExpandEvents(requests, available);
  events_ = std::move(expanded.events);
  for (const MissingEvent& missing : expanded.missing) {
    description_.unknown_events.push_back(missing.request.pattern);
    notes_.push_back(missing.ToString());
  }
}

void KernelSession::EnableEvents(const std::vector<std::string>& available) {
  std::map<std::string_view, std::size_t> group_sizes;
  for (const std::string& event : available) ++group_sizes[GroupOf(event)];
  std::vector<std::string> enabled;
  for (auto it = events_.begin(); it != events_.end();) {
    const std::string_view group = GroupOf(*it);
    const auto end = std::find_if(it, events_.end(),
                                  [group](const auto& event) { return GroupOf(event) != group; });
    // One write for a whole group: each enabling makes the kernel patch its text and wait.
    const bool whole = static_cast<std::size_t>(end - it) == group_sizes[group];
    if (whole && directory().EnableEvent(group, true)) {
      enabled.insert(enabled.end(), it, end);
      it = end;
      continue;
    }
    for (; it != end; ++it) {
      if (const Status status = directory().EnableEvent(*it, true); status) {
        enabled.push_back(*it);
      } else {
        description_.failed_events.push_back(*it);
        notes_.push_back("the kernel refused the event " + *it + ": " + status.error().what);
      }
    }
  }
  events_ = std::move(enabled);
}

void KernelSession::SetUpStacks() {
  if (!std::ranges::binary_search(events_, "sched/sched_switch")) return;
  const auto inside = StackTriggerStaysInside(directory());
  const Status set = !inside ? Status(inside.error())
                     : *inside
                         ? directory().Write("events/sched/sched_switch/trigger", kDStateTrigger)
                         : Status(Error{"this kernel's stacktrace trigger writes outside of its "
                                        "instance",
                                        ""});
  if (!set) notes_.push_back("no kernel stacks of D waits: " + set.error().what);
}

void KernelSession::SetUpMarkers() {
  if (!markers_) {
    static_cast<void>(directory().SetOption(kCopyTraceMarker, true));
  } else if (const Status begun = markers_->Begin(description_.clock, kMarkerRingBytes); !begun) {
    notes_.push_back("no markers: " + begun.error().what);
    markers_.reset();
  }
}

Status KernelSession::Remove() {
  if (markers_) markers_->End();
  return instance_.Remove();
}

Status KernelSession::FilterPids(const std::vector<std::int32_t>& pids) {
  std::string tids;
  for (const std::int32_t pid : pids) {
    const auto threads = ThreadsOf(pid);
    if (threads.empty()) {
      return Error{"no process " + std::to_string(pid), "see ps for the pids that there are"};
    }
    for (const std::string& tid : threads) tids.append(tid).push_back(' ');
  }
  // First the option, so that a thread made in between is followed too.
  CULPRIT_TRY(directory().SetOption("event-fork", true));
  CULPRIT_TRY(directory().Write("set_event_pid", tids));
  return {};
}

void KernelSession::ReadDescription() {
  const kernel::TraceDirectory& top = instance_.tracefs().top();
  const auto text = [](Result<std::string> read) { return read ? std::move(*read) : ""; };
  description_.page_bytes = directory().SubBufferBytes();
  description_.header_page = text(top.Read("events/header_page"));
  description_.header_event = text(top.Read("events/header_event"));
  description_.printk_formats = text(top.Read("printk_formats"));
  std::vector<std::string> events = events_;
  // The tracer's own records (print, kernel_stack, ...) are always on and listed nowhere.
  const std::string own = top.PathOf("events/ftrace");
  if (DIR* folder = opendir(own.c_str()); folder != nullptr) {
    while (const dirent* entry = readdir(folder)) {
      const std::string event = "ftrace/" + std::string(entry->d_name);
      if (entry->d_name[0] != '.' && top.Has("events/" + event + "/format")) {
        events.push_back(event);
      }
    }
    closedir(folder);
  }
  std::ranges::sort(events);
  for (const std::string& event : events) {
    const auto slash = event.find('/');
    if (auto format = top.EventFormat(event); format) {
      description_.formats.push_back(
          {event.substr(0, slash), event.substr(slash + 1), std::move(format).value()});
    }
  }
}

RingStats KernelSession::Stats(int cpu) const { return StatsOf(directory(), cpu); }

RingStats KernelSession::MarkerStats(int cpu) const {
  return markers_ ? StatsOf(markers_->directory(), cpu) : RingStats{};
}

FtraceSpool KernelSession::Description() const {
  FtraceSpool spool;
  spool.page_bytes = description_.page_bytes;
  spool.header_page = description_.header_page;
  spool.header_event = description_.header_event;
  spool.clock = description_.clock;
  spool.formats = description_.formats;
  spool.printk_formats = description_.printk_formats;
  spool.unknown_events = description_.unknown_events;
  spool.failed_events = description_.failed_events;
  return spool;
}

}  // namespace culprit::capture
