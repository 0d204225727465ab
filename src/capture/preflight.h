// What a recording needs of a machine and how far it is there: each check says what it found and,
// where something is missing, what helps. Changes nothing that outlives it: a trace instance of its
// own is made and removed to try what only trying tells.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::capture {

enum class Readiness : std::uint8_t {
  kReady,
  kLess,     // a recording works and holds less
  kMissing,  // no recording
};
std::string_view ReadinessName(Readiness readiness);  // "ok", "less", "missing"

struct PreflightFinding {
  std::string check;  // "tracefs", "triggers", ...
  Readiness readiness = Readiness::kReady;
  std::string what;
  std::string remedy;  // empty when nothing is missing
};

struct PreflightOptions {
  std::string directory = ".";  // of the trace file
  std::uint64_t disk_bytes = std::uint64_t{1} << 30;
  std::uint64_t ring_bytes = std::uint64_t{64} << 20;
  // A folder that stands for the machine; what can only be tried on a real kernel is left out then.
  std::string root = "/";
};

// One finding or more a check, in the order of the table in preflight.cc.
std::vector<PreflightFinding> Preflight(const PreflightOptions& options);

}  // namespace culprit::capture
