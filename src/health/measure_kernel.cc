// What the kernel log of this boot says, the clock, and our own probes that did not come back.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "health/kmsg.h"
#include "health/measures.h"
#include "health/nvml.h"

namespace culprit::health {

namespace {

constexpr std::string_view kKmsg = "/dev/kmsg";

bool NeedKmsg(const Context& context, Readings& out) {
  const Text* text = context.after.texts.Find(kKmsg);
  if (text != nullptr && text->error_number == 0) return true;
  if (text == nullptr || text->error_number == ENOENT) {
    context.node.live ? out.Unknown("/dev/kmsg is not there (a container without it)")
                      : out.NotApplicable("the captured tree has no dev/kmsg");
  } else {
    out.Unknown(context.after.texts.Reason(kKmsg),
                context.after.texts.Denied(kKmsg) && !context.node.is_root);
  }
  return false;
}

// Seconds since boot, now, on the clock of the log.
double LogNow(const Context& context) { return context.after.uptime_s.value_or(0); }

std::string Ago(const Context& context, double time_s) {
  const double seconds = LogNow(context) - time_s;
  if (seconds < 0) return fmt::format("at {:.0f} s after boot", time_s);
  if (seconds < 120) return fmt::format("{:.0f} s ago", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min ago", seconds / 60);
  return fmt::format("{:.1f} h ago", seconds / 3600);
}

// Lines of a topic, by what they mean.
void MeasureTopic(const Context& context, Readings& out, KmsgTopic topic, std::string_view none) {
  if (!NeedKmsg(context, out)) return;
  struct Group {
    const KmsgPattern* pattern;
    std::size_t count = 0;
    double last_s = 0;
    std::string_view last;
  };
  std::map<std::string_view, Group> groups;
  for (const KmsgRecord& record : context.after.kernel_log) {
    const KmsgPattern* pattern = MatchKmsg(record.message);
    if (pattern == nullptr || pattern->topic != topic) continue;
    Group& group = groups[pattern->meaning];
    group.pattern = pattern;
    ++group.count;
    group.last_s = record.time_s;
    group.last = record.message;
  }
  for (const auto& [meaning, group] : groups) {
    Reading& reading = out.Value(std::string(meaning), static_cast<double>(group.count));
    reading.status = group.pattern->status;
    reading.summary = fmt::format("{}: {} lines in the kernel log of this boot, the last {}",
                                  meaning, group.count, Ago(context, group.last_s));
    reading.evidence.emplace_back(group.last);
    // What happened hours ago and not again is history, not an alarm that never clears.
    constexpr double kRecent = 3600;
    if (LogNow(context) - group.last_s > kRecent) {
      reading.status = FindingStatus::kOk;
      reading.evidence.emplace_back("more than an hour ago: it informs");
    }
  }
  if (out.rows().empty()) out.Value("", 0).summary = none;
}

}  // namespace

void MeasureLockups(const Context& context, Readings& out) {
  MeasureTopic(context, out, KmsgTopic::kLockup, "none in the kernel log of this boot");
}

void MeasureDiskErrors(const Context& context, Readings& out) {
  MeasureTopic(context, out, KmsgTopic::kDisk, "none in the kernel log of this boot");
}

void MeasureHungTask(const Context& context, Readings& out) {
  MeasureTopic(context, out, KmsgTopic::kHungTask, "no hung task in the kernel log of this boot");
  constexpr std::string_view kCount = "/proc/sys/kernel/hung_task_detect_count";
  if (!context.after.texts.Has(kCount)) return;
  const auto now = kernel::ParseSingle(context.after.texts.Get(kCount));
  const auto delta = Delta(kernel::ParseSingle(context.before.texts.Get(kCount)), now);
  if (context.two && delta && *delta > 0) {
    out.Value("kernel.hung_task_detect_count", *delta).summary =
        fmt::format("the kernel found {:.0f} hung tasks during the sample", *delta);
  } else if (out.rows().size() == 1 && out.rows()[0].value) {
    out.rows()[0].evidence.push_back(
        fmt::format("{} since boot by the kernel's count", now.value_or(0)));
  }
}

void MeasureNfsLog(const Context& context, Readings& out) {
  if (!NeedKmsg(context, out)) return;
  // "nfs: server HOST not responding, still trying" is open until "nfs: server HOST OK".
  std::map<std::string, double> open;
  std::size_t closed = 0;
  for (const KmsgRecord& record : context.after.kernel_log) {
    const auto at = record.message.find("nfs: server ");
    if (at == std::string_view::npos) continue;
    kernel::WordCursor words(record.message.substr(at + 12));
    const std::string server(words.Word());
    const std::string_view rest = words.Rest();
    if (rest.starts_with("not responding")) open.emplace(server, record.time_s);
    if (rest.starts_with("OK")) closed += open.erase(server);
  }
  for (const auto& [server, since_s] : open) {
    Reading& reading = out.Value(server, LogNow(context) - since_s);
    reading.status = FindingStatus::kCritical;
    reading.summary = fmt::format("NFS server {} stopped answering {} and has not come back",
                                  server, Ago(context, since_s));
    reading.age_s = std::max(0.0, LogNow(context) - since_s);
  }
  if (out.rows().empty()) {
    out.Value("", 0).summary = closed > 0 ? fmt::format("{} outages of this boot are over", closed)
                                          : "no outage in the kernel log of this boot";
  }
}

void MeasureXid(const Context& context, Readings& out) {
  if (!NeedKmsg(context, out)) return;
  const auto all = FindXids(context.after.kernel_log);
  for (const XidEvents& events : all) {
    const XidMeaning& meaning = MeaningOfXid(events.code);
    const std::string name =
        events.code == 0 ? std::string("off the bus")
                         : fmt::format("{}Xid {}", events.is_switch ? "S" : "", events.code);
    Reading& reading =
        out.Value(fmt::format("GPU {} {}", events.gpu, name), static_cast<double>(events.count));
    reading.status = StatusOfXid(events);
    reading.summary = fmt::format(
        "{} on {} {}: {} ({} x, last {})", name, events.is_switch ? "NVSwitch" : "GPU", events.gpu,
        events.is_switch ? std::string_view(events.detail) : meaning.meaning, events.count,
        Ago(context, events.last_s));
    if (!events.detail.empty()) reading.evidence.push_back(events.detail);
    if (events.caused_by)
      reading.evidence.push_back(fmt::format("caused by Xid {} before it", *events.caused_by));
    reading.advice = std::string(meaning.advice);
    // A fault of an application is over when it was long ago; a lost card stays lost.
    constexpr double kRecent = 600;
    if (reading.status == FindingStatus::kWarning && LogNow(context) - events.last_s > kRecent) {
      reading.status = FindingStatus::kOk;
      reading.evidence.emplace_back("more than ten minutes ago: it informs");
    }
  }
  if (!all.empty()) return;
  if (HasGpu(context.after.texts)) {
    out.Value("", 0).summary = "no Xid in the kernel log of this boot";
  } else {
    out.NotApplicable("no NVIDIA device on this node, and no Xid in its log");
  }
}

void MeasureClock(const Context& context, Readings& out) {
  if (!context.node.live) {
    out.NotApplicable("a captured tree has no clock");
    return;
  }
  const std::string_view text = context.after.texts.Get("@clock");
  std::optional<double> offset;
  bool unsynced = false;
  kernel::LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    kernel::WordCursor words(line);
    const std::string_view name = words.Word();
    if (name == "offset_s") offset = ParseNumber(words.Word());
    if (name == "unsync") unsynced = words.Word() == "1";
  }
  if (!offset) {
    out.Unknown("adjtimex could not be read");
    return;
  }
  Reading& reading = out.Value("", std::fabs(*offset));
  reading.worst = FindingStatus::kWarning;
  reading.evidence.push_back(fmt::format("kernel clock offset {:.6f} s, {}", *offset,
                                         unsynced ? "not synchronized" : "synchronized"));
  // Seventeen minutes is what the kernel itself waits before it says so; after boot it is normal.
  const double uptime_s = context.after.uptime_s.value_or(0);
  if (unsynced && uptime_s >= 1020) {
    reading.status = FindingStatus::kWarning;
    reading.summary =
        "nothing disciplines the clock (no NTP or PTP): times of different nodes cannot be "
        "compared";
  } else if (unsynced) {
    reading.summary = "not synchronized yet, and the node is up for less than 17 minutes";
  }
}

void MeasureView(const Context& context, Readings& out) {
  if (!context.node.live) {
    out.NotApplicable("a captured tree is what it is");
  } else if (context.node.container.empty()) {
    out.Value("", 0).summary = "every process of the kernel is in view";
  } else {
    out.Unknown(
        fmt::format("inside a container ({}): processes, mounts and interfaces of the host and of "
                    "other containers are "
                    "not seen; memory, CPU and disks are the whole node's",
                    context.node.container));
  }
}

void MeasureStuckProbes(const Context& context, Readings& out) {
  std::set<std::string> told;
  for (const StuckProbe& probe : context.stuck) {
    // These are findings of checks of their own.
    if (probe.probe == "mount" || probe.probe == "NVML" || probe.probe == "NVMe") continue;
    if (!told.insert(probe.probe + ": " + probe.at).second) continue;  // in both samples
    if (probe.Is(StuckProbe::End::kNotStarted)) {
      // Our own limits (ulimit -u, -n, pids.max) are no fault of what was to be asked.
      out.Unknown(fmt::format("{} could not be read: {}", probe.probe, probe.at));
      continue;
    }
    Reading& reading = out.Value(probe.probe + ": " + probe.at, probe.after_s);
    reading.status = FindingStatus::kCritical;
    reading.summary =
        probe.Is(StuckProbe::End::kDied)
            ? fmt::format("the probe of {} died at {}", probe.probe, probe.at)
            : fmt::format("reading {} did not come back within {:.1f} s", probe.at, probe.after_s);
    reading.evidence.push_back("it ran in a child of its own, which was killed or left behind");
  }
  if (out.rows().empty()) out.Value("", 0).summary = "every probe came back";
}

}  // namespace culprit::health
