#include "sampling/sampled_event.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "base/text.h"
#include "kernel/tracefs.h"

namespace culprit::sampling {
namespace {

struct Known {
  std::string_view name;
  std::uint32_t type;
  std::uint64_t config;
  std::uint32_t trace_counter;
};
// Numbers of include/uapi/linux/perf_event.h, and of Perfetto's perf_events.proto.
constexpr std::array kKnown = {
    Known{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 10},
    Known{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 10},
    Known{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 11},
    Known{"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 12},
    Known{"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 13},
    Known{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 14},
    Known{"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 15},
    Known{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1},
    Known{"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 3},
    Known{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 2},
    Known{"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 6},
    Known{"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 7},
    Known{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 4},
    Known{"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 5},
};

Result<SampledEvent> FindTracepoint(std::string_view group, std::string_view event,
                                    const std::string& root) {
  SampledEvent found;
  found.name = std::string(group) + ":" + std::string(event);
  found.type = PERF_TYPE_TRACEPOINT;
  found.is_tracepoint = true;
  CULPRIT_ASSIGN(const kernel::Tracefs tracefs, kernel::Tracefs::FindOrMount(root));
  const std::string path = JoinPath(
      tracefs.top().path(), "events/" + std::string(group) + "/" + std::string(event) + "/id");
  const auto text = ReadFile(path);
  const auto id = text ? ParseInteger<std::uint64_t>(TrimBlanks(*text)) : std::nullopt;
  if (!id) {
    return Error{"this kernel has no tracepoint " + found.name,
                 "see culprit record --list, and that you are root"};
  }
  found.config = *id;
  return found;
}

}  // namespace

Result<SampledEvent> FindEvent(std::string_view name, const std::string& root) {
  const auto* known = std::ranges::find(kKnown, name, &Known::name);
  if (known != kKnown.end()) {
    return SampledEvent{std::string(name), known->type, known->config, known->trace_counter, false};
  }
  const std::size_t mark = name.find_first_of("/:");
  if (mark != std::string_view::npos) {
    const std::string_view group = name.substr(0, mark);
    const std::string_view event = name.substr(mark + 1);
    // A part of a path below events/, and nothing else.
    if (!group.empty() && !event.empty() && event.find_first_of("/:") == std::string_view::npos &&
        !group.starts_with('.') && !event.starts_with('.')) {
      return FindTracepoint(group, event, root);
    }
  }
  if (name.starts_with('r')) {
    if (const auto config = ParseInteger<std::uint64_t>(name.substr(1), 16)) {
      return SampledEvent{std::string(name), PERF_TYPE_RAW, *config, 0, false};
    }
  }
  std::string names;
  for (const Known& each : kKnown) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return Error{"no event is called '" + std::string(name) + "'",
               "one of " + names + ", GROUP/EVENT, or rNNN (hexadecimal)"};
}

}  // namespace culprit::sampling
