#include "stat/event_table.h"

#include <linux/perf_event.h>

#include <algorithm>

namespace culprit::stat {
namespace {

using P = ProcCount;
constexpr std::uint32_t kHw = PERF_TYPE_HARDWARE;
constexpr std::uint32_t kSw = PERF_TYPE_SOFTWARE;

// Names and aliases as in perf-list(1).
constexpr GenericEvent kEvents[] = {
    {"cycles", "cpu-cycles", true, kHw, PERF_COUNT_HW_CPU_CYCLES, "", P::kNone},
    {"instructions", "", true, kHw, PERF_COUNT_HW_INSTRUCTIONS, "", P::kNone},
    {"cache-references", "", true, kHw, PERF_COUNT_HW_CACHE_REFERENCES, "", P::kNone},
    {"cache-misses", "", true, kHw, PERF_COUNT_HW_CACHE_MISSES, "", P::kNone},
    {"branches", "branch-instructions", true, kHw, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "", P::kNone},
    {"branch-misses", "", true, kHw, PERF_COUNT_HW_BRANCH_MISSES, "", P::kNone},
    {"bus-cycles", "", true, kHw, PERF_COUNT_HW_BUS_CYCLES, "", P::kNone},
    {"stalled-cycles-frontend", "idle-cycles-frontend", true, kHw,
     PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "", P::kNone},
    {"stalled-cycles-backend", "idle-cycles-backend", true, kHw,
     PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "", P::kNone},
    {"ref-cycles", "", true, kHw, PERF_COUNT_HW_REF_CPU_CYCLES, "", P::kNone},

    {"cpu-clock", "", true, kSw, PERF_COUNT_SW_CPU_CLOCK, "ns", P::kTaskClock},
    {"task-clock", "", true, kSw, PERF_COUNT_SW_TASK_CLOCK, "ns", P::kTaskClock},
    {"page-faults", "faults", true, kSw, PERF_COUNT_SW_PAGE_FAULTS, "", P::kFaults},
    {"context-switches", "cs", true, kSw, PERF_COUNT_SW_CONTEXT_SWITCHES, "", P::kSwitches},
    {"cpu-migrations", "migrations", true, kSw, PERF_COUNT_SW_CPU_MIGRATIONS, "", P::kMigrations},
    {"minor-faults", "", true, kSw, PERF_COUNT_SW_PAGE_FAULTS_MIN, "", P::kMinorFaults},
    {"major-faults", "", true, kSw, PERF_COUNT_SW_PAGE_FAULTS_MAJ, "", P::kMajorFaults},
    {"alignment-faults", "", true, kSw, PERF_COUNT_SW_ALIGNMENT_FAULTS, "", P::kNone},
    {"emulation-faults", "", true, kSw, PERF_COUNT_SW_EMULATION_FAULTS, "", P::kNone},

    // perf has no such events; /proc and wait4(2) have the counts.
    {"voluntary-switches", "", false, 0, 0, "", P::kVoluntary},
    {"involuntary-switches", "", false, 0, 0, "", P::kInvoluntary},
    {"user-time", "", false, 0, 0, "ns", P::kUserTime},
    {"system-time", "", false, 0, 0, "ns", P::kSystemTime},
};

struct CachePart {
  std::string_view name;
  std::uint64_t number;
};
constexpr CachePart kCaches[] = {
    {"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I},
    {"LLC", PERF_COUNT_HW_CACHE_LL},        {"dTLB", PERF_COUNT_HW_CACHE_DTLB},
    {"iTLB", PERF_COUNT_HW_CACHE_ITLB},     {"branch", PERF_COUNT_HW_CACHE_BPU},
    {"node", PERF_COUNT_HW_CACHE_NODE},
};
// Operation and result in one: "loads" are accesses, "load-misses" misses.
constexpr std::uint64_t OpAndResult(std::uint64_t op, std::uint64_t result) {
  return op << 8 | result << 16;
}
constexpr std::uint64_t kAccess = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
constexpr std::uint64_t kMiss = PERF_COUNT_HW_CACHE_RESULT_MISS;
constexpr CachePart kOperations[] = {
    {"loads", OpAndResult(PERF_COUNT_HW_CACHE_OP_READ, kAccess)},
    {"load-misses", OpAndResult(PERF_COUNT_HW_CACHE_OP_READ, kMiss)},
    {"stores", OpAndResult(PERF_COUNT_HW_CACHE_OP_WRITE, kAccess)},
    {"store-misses", OpAndResult(PERF_COUNT_HW_CACHE_OP_WRITE, kMiss)},
    {"prefetches", OpAndResult(PERF_COUNT_HW_CACHE_OP_PREFETCH, kAccess)},
    {"prefetch-misses", OpAndResult(PERF_COUNT_HW_CACHE_OP_PREFETCH, kMiss)},
};

// Groups hold what is divided by one another; two events fit on the counters of any CPU.
constexpr std::string_view kDefaultOfTasks =
    "task-clock,context-switches,voluntary-switches,involuntary-switches,cpu-migrations,"
    "minor-faults,major-faults,user-time,system-time,{cycles,instructions},"
    "{branches,branch-misses},{cache-references,cache-misses},{LLC-loads,LLC-load-misses},"
    "{stalled-cycles-frontend,stalled-cycles-backend}";
constexpr std::string_view kDefaultOfMachine =
    "cpu-clock,context-switches,voluntary-switches,involuntary-switches,cpu-migrations,"
    "minor-faults,major-faults,user-time,system-time,{cycles,instructions},"
    "{branches,branch-misses},{cache-references,cache-misses},{LLC-loads,LLC-load-misses},"
    "{stalled-cycles-frontend,stalled-cycles-backend}";

}  // namespace

std::span<const GenericEvent> GenericEvents() { return kEvents; }

const GenericEvent* FindGenericEvent(std::string_view name) {
  const auto* found = std::ranges::find_if(kEvents, [&](const GenericEvent& event) {
    return event.name == name || (!event.alias.empty() && event.alias == name);
  });
  return found == std::end(kEvents) ? nullptr : found;
}

std::optional<std::uint64_t> CacheEventConfig(std::string_view name) {
  for (const CachePart& cache : kCaches) {
    if (!name.starts_with(cache.name) || name.size() <= cache.name.size() ||
        name[cache.name.size()] != '-') {
      continue;
    }
    const std::string_view rest = name.substr(cache.name.size() + 1);
    for (const CachePart& operation : kOperations) {
      if (operation.name == rest) return cache.number | operation.number;
    }
  }
  return std::nullopt;
}

std::vector<std::string> CacheEventNames() {
  std::vector<std::string> names;
  for (const CachePart& cache : kCaches) {
    for (const CachePart& operation : kOperations) {
      names.push_back(std::string(cache.name) + "-" + std::string(operation.name));
    }
  }
  return names;
}

std::string_view DefaultEvents(bool whole_machine) {
  return whole_machine ? kDefaultOfMachine : kDefaultOfTasks;
}

}  // namespace culprit::stat
