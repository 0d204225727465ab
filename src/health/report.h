// A Report as text for a person, JSON, NDJSON, OpenMetrics and a Nagios plugin's output. Formats
// are additive: a key or metric that stands keeps its name and meaning (docs/check.md).
#pragma once

#include <string>

#include "health/checker.h"

namespace culprit::health {

inline constexpr int kSchemaVersion = 1;

struct TextOptions {
  bool colour = false;
  bool all = false;  // what is OK and N/A too
};

std::string ReportText(const Report& report, const TextOptions& options);
std::string ReportJson(const Report& report);    // one indented object
std::string ReportNdjson(const Report& report);  // a line a finding
std::string ReportOpenMetrics(const Report& report);
std::string ReportNagios(const Report& report);

// What each check is: --list (text or JSON) and --explain.
std::string RuleListText(const CheckConfig& config);
std::string RuleListJson(const CheckConfig& config);
std::string RuleListMarkdown();  // docs/checks.md
std::string RuleText(const Rule& rule, const CheckConfig& config);

// "12.3 %", "4.1 GiB": a value with its unit.
std::string ValueText(double value, std::string_view unit);

}  // namespace culprit::health
