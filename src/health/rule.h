// Rule: one check of a node as a row of a table: what is read, the formula, when it is bad and who
// says so, what fools it, what to do. Readings are the plain numbers that a rule judges.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace culprit::health {

struct Context;

// One number (or the reason why there is none) of one check, before anybody judges it.
struct Reading {
  std::string subject;
  std::optional<double> value;
  std::string summary;  // one line; made from the rule when empty
  std::vector<std::string> evidence;
  std::string advice;                   // instead of the rule's
  std::optional<FindingStatus> status;  // judged already: no threshold, no `worst`
  FindingStatus worst =
      FindingStatus::kCritical;  // no worse than this, whatever the thresholds say
  bool needs_root = false;
  std::optional<double> age_s;  // has been so for this long
};

class Readings {
 public:
  Reading& Value(std::string subject, double value) {
    Reading& reading = rows_.emplace_back();
    reading.subject = std::move(subject);
    reading.value = value;
    return reading;
  }
  // Could not be read. `needs_root` when root could.
  Reading& Unknown(std::string reason, bool needs_root = false) {
    return Without(FindingStatus::kUnknown, std::move(reason), needs_root);
  }
  // There is nothing of the kind on this node.
  Reading& NotApplicable(std::string reason) {
    return Without(FindingStatus::kNotApplicable, std::move(reason), false);
  }
  std::vector<Reading>& rows() { return rows_; }
  const std::vector<Reading>& rows() const { return rows_; }

 private:
  Reading& Without(FindingStatus status, std::string reason, bool needs_root) {
    Reading& reading = rows_.emplace_back();
    reading.status = status;
    reading.summary = std::move(reason);
    reading.needs_root = needs_root;
    return reading;
  }
  std::vector<Reading> rows_;
};

struct Rule {
  int number;           // the row in docs/check.md
  std::string_view id;  // stable
  std::string_view resource;
  char use;  // U, S, E
  std::string_view title;
  std::string_view formula;
  std::string_view unit;
  std::optional<double> warning_at;
  std::optional<double> critical_at;
  bool low_is_bad;          // thresholds are floors
  double persist_s;         // worse than WARN only when it has been so for this long
  std::string_view source;  // of the thresholds; J: our judgement, measure before relying on it
  // Files, blanks between; "*" is any name. A word with "@" is a probe of its own (moment.h).
  std::string_view reads;
  std::string_view fooled_by;
  std::string_view advice;
  char privilege;  // u any user, r root or a capability
  // Takes the numbers out of what was read. nullptr: not built yet (`state` of --list says so).
  void (*measure)(const Context&, Readings&);
};

std::span<const Rule> Rules();
const Rule* FindRule(std::string_view id);

// "cpu", "memory", ... in the order of the report.
std::span<const std::string_view> Resources();

}  // namespace culprit::health
