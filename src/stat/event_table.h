// The generic names of perf events, as perf(1) writes them, and their numbers. PMUs of /sys, raw
// numbers and libpfm4's names are event_names.h's.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "stat/event.h"

namespace culprit::stat {

struct GenericEvent {
  std::string_view name;
  std::string_view alias;  // "" for none
  bool has_perf;
  std::uint32_t type;
  std::uint64_t config;
  std::string_view unit;
  ProcCount proc;
};

std::span<const GenericEvent> GenericEvents();
const GenericEvent* FindGenericEvent(std::string_view name);

// "L1-dcache-load-misses", "LLC-loads", "dTLB-store-misses", "branch-loads": the config of
// PERF_TYPE_HW_CACHE (cache | operation << 8 | result << 16).
std::optional<std::uint64_t> CacheEventConfig(std::string_view name);
// All names that CacheEventConfig takes.
std::vector<std::string> CacheEventNames();

// What is counted when nobody names events; for the whole machine the first is cpu-clock.
std::string_view DefaultEvents(bool whole_machine);

}  // namespace culprit::stat
