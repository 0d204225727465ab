// CheckConfig: the thresholds and checks that a site changes, by id. One line each:
//
//   cpu.psi warning=30 critical=60     # "none" takes a threshold away
//   disk.util off
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "health/rule.h"

namespace culprit::health {

struct Thresholds {
  std::optional<double> warning_at, critical_at;
  std::string source;
};

class CheckConfig {
 public:
  // An Error names the line, and near names of an unknown id.
  static Result<CheckConfig> Parse(std::string_view text, std::string_view file_name);

  bool IsOff(const Rule& rule) const { return off_.contains(rule.id); }
  Thresholds Of(const Rule& rule) const;

 private:
  std::map<std::string, Thresholds, std::less<>> changed_;
  std::set<std::string, std::less<>> off_;
};

// The rules of "cpu,disk" or "cpu.psi,disk": resources and ids. An Error names near names.
[[nodiscard]] Result<std::vector<const Rule*>> SelectRules(std::string_view only);

// "did you mean cpu.psi?" for an unknown id; "see culprit check --list" when nothing is near.
std::string NearRules(std::string_view id);

}  // namespace culprit::health
