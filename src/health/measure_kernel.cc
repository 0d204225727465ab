// What the kernel log of this boot says, the clock, and our own probes that did not come back.
#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "health/measures.h"

namespace culprit::health {

void MeasureLockups(const Context& context, Readings& out) {
  static_cast<void>(context);
  out.Unknown("not built yet");
}
void MeasureHungTask(const Context& context, Readings& out) {
  static_cast<void>(context);
  out.Unknown("not built yet");
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

void MeasureStuckProbes(const Context& context, Readings& out) {
  for (const StuckProbe& probe : context.stuck) {
    Reading& reading = out.Value(probe.probe + ": " + probe.at, probe.after_s);
    reading.status = FindingStatus::kCritical;
    reading.summary = probe.died ? fmt::format("the probe of {} died at {}", probe.probe, probe.at)
                                 : fmt::format("reading {} did not come back within {:.1f} s",
                                               probe.at, probe.after_s);
    reading.evidence.push_back("it ran in a child of its own, which was killed or left behind");
  }
  if (out.rows().empty()) out.Value("", 0).summary = "every probe came back";
}

}  // namespace culprit::health
