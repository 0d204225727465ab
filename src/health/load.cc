#include "health/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "health/stack_class.h"

namespace culprit::health {

double LoadAfter(double load, double active, int minutes, double seconds) {
  constexpr double kUpdateSeconds = 5.001;
  const double factor = (minutes == 1 ? 1884.0 : minutes == 5 ? 2014.0 : 2037.0) / 2048.0;
  const double kept = std::pow(factor, std::floor(seconds / kUpdateSeconds));
  return load * kept + active * (1 - kept);
}

void ExplainLoad(const Context& context, const kernel::LoadAverage& load, Reading& reading) {
  reading.evidence.push_back(fmt::format("load {:.2f} {:.2f} {:.2f} on {} CPUs", load.load_1min,
                                         load.load_5min, load.load_15min, context.cpus));
  const TaskScan& tasks = context.after.tasks;
  if (!tasks.whole) {
    reading.evidence.push_back("task states could not be read: " + tasks.error);
    return;
  }
  const std::uint64_t running = tasks.CountOf('R');
  const std::uint64_t waiting = tasks.CountOf('D');
  const auto active = static_cast<double>(running + waiting);
  reading.evidence.push_back(fmt::format(
      "now {} tasks in R (running or runnable) and {} in D (uninterruptible)", running, waiting));
  const double next = LoadAfter(load.load_1min, active, 1, 60);
  const std::string_view heading = next > load.load_1min + 0.05   ? "rising"
                                   : next < load.load_1min - 0.05 ? "falling"
                                                                  : "steady";
  reading.evidence.push_back(
      fmt::format("{}: with these counts the 1 minute load is {:.2f} in a minute", heading, next));
  const bool high = load.load_1min > static_cast<double>(context.cpus) ||
                    load.load_15min > static_cast<double>(context.cpus);
  if (!high) return;
  if (waiting > running) {
    reading.summary = fmt::format("load {:.1f} is mostly tasks in D ({} of {}), not CPU demand",
                                  load.load_1min, waiting, running + waiting);
    for (const StackGroup& group : GroupByStack(tasks.waiting, 3)) {
      reading.evidence.push_back(fmt::format("{} in D: {}", group.rows.size(), group.Describe()));
    }
    reading.advice = "see tasks.dstate: what these tasks wait for; more CPUs would not help";
  } else if (running > 0) {
    reading.summary = fmt::format("load {:.1f} is CPU demand: {} tasks run or want to on {} CPUs",
                                  load.load_1min, running, context.cpus);
  } else {
    reading.summary =
        fmt::format("load {:.1f} is of the past: nothing runs or waits now", load.load_1min);
  }
}

}  // namespace culprit::health
