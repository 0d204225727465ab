// Names of events as perf has them, for files that do not bring them along.
#include <fmt/format.h>

#include <array>

#include "profile/perf_data/header.h"

namespace culprit::profile::perf_data {
namespace {

constexpr std::array<std::string_view, 10> kHardware = {"cycles",
                                                        "instructions",
                                                        "cache-references",
                                                        "cache-misses",
                                                        "branches",
                                                        "branch-misses",
                                                        "bus-cycles",
                                                        "stalled-cycles-frontend",
                                                        "stalled-cycles-backend",
                                                        "ref-cycles"};
constexpr std::array<std::string_view, 12> kSoftware = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

}  // namespace

std::string EventName(const Event& event) {
  enum Type : std::uint32_t {
    kHardwareType,
    kSoftwareType,
    kTracepoint,
    kCache,
    kRaw,
    kBreakpoint
  };
  std::string name;
  // On hybrid CPUs the upper half of config is the PMU.
  const std::uint64_t config =
      event.type == kHardwareType ? event.config & 0xffffffffU : event.config;
  if (event.type == kHardwareType && config < kHardware.size()) {
    name = kHardware[config];
  } else if (event.type == kSoftwareType && config < kSoftware.size()) {
    name = kSoftware[config];
  } else if (event.type == kTracepoint) {
    name = fmt::format("tracepoint-{}", config);
  } else if (event.type == kRaw) {
    name = fmt::format("r{:x}", config);
  } else {
    name = fmt::format("event-{}-{:#x}", event.type, config);
  }
  std::string modifiers;
  if (event.exclude_kernel && !event.exclude_user) modifiers += 'u';
  if (event.exclude_user && !event.exclude_kernel) modifiers += 'k';
  modifiers.append(event.precise_ip, 'p');
  return modifiers.empty() ? name : name + ":" + modifiers;
}

}  // namespace culprit::profile::perf_data
