// Finding: one answer of culprit, whoever found it (a live check, a rule over a recording): what is
// wrong, with what, by which measure, why we think so, and what to do. Nothing here formats it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace culprit {

enum class FindingStatus { kOk, kWarning, kCritical, kUnknown, kNotApplicable };

// "OK", "WARN", "CRIT", "UNKNOWN", "N/A".
constexpr std::string_view StatusName(FindingStatus status) {
  constexpr std::string_view kNames[] = {"OK", "WARN", "CRIT", "UNKNOWN", "N/A"};
  return kNames[static_cast<int>(status)];
}

// For sorting, worst first: CRIT > WARN > UNKNOWN > OK > N/A.
constexpr int Severity(FindingStatus status) {
  constexpr int kRanks[] = {1, 3, 4, 2, 0};
  return kRanks[static_cast<int>(status)];
}

struct Finding {
  std::string id;        // stable: "cpu.psi"
  std::string resource;  // "cpu", "memory", "disk", "fs", "network", "gpu", "kernel"
  char use = 'E';        // U utilization, S saturation, E errors
  FindingStatus status = FindingStatus::kOk;
  std::string subject;  // what it is about: "sda", "/mnt/data", "cgroup /train"; empty: the node
  std::string summary;  // one line for a person
  std::optional<double> value;
  std::string unit;  // of the value and the thresholds: "%", "s", "ms", "/s", "bytes", ""
  std::optional<double> warning_at, critical_at;
  std::string threshold_source;  // who says so
  std::vector<std::string> evidence;
  std::string advice;  // what to do, or the next command to type
  bool needs_root = false;
  std::string skipped_reason;   // why there is no value: of UNKNOWN and N/A
  std::optional<double> age_s;  // how long it has been so, where that is known
};

}  // namespace culprit
