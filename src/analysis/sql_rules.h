// The rules over counters and events: SQL files (rules/), run over the tables of a recording. What
// is told from who waited for whom is the walk's (culprits.h, walk_rule_table.h).
//
// A rule gives one row for each thing that held a victim up, out of the relations
//   explain_window (begin_ts, end_ts)   one row
//   explain_victim (utid)               the threads that are explained
// in the columns
//   utid          the victim; NULL: it is about the machine, and told as a note
//   culprit_type  as PartyTypeName has it
//   culprit_utid  a thread of the culprit, or NULL
//   culprit       what to print for it
//   ns, ts        how long the victim was held up, and since when
//   what          "in reclaim": what the victim lost the time with
//   detail        a line of evidence, or NULL
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/explanation.h"
#include "analysis/findings.h"
#include "base/result.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::analysis {

struct SqlRule {
  std::string_view id;
  std::string_view kind;
  double warn_share;  // of a victim's time, as in WalkRule
  double critical_share;
  std::int64_t least_ns;
  std::string_view why;  // why these thresholds
};

// The head of a rule's file.
struct SqlRuleHead {
  std::string_view id, severity, needs, has, meaning, remedy;
};

std::span<const SqlRule> SqlRules();
SqlRuleHead HeadOf(const SqlRule& rule);
std::string_view TextOf(const SqlRule& rule);  // the whole file

// The statement that gives column wait_ns of a rule for one victim and culprit, to be run by
// itself.
std::string ShowSql(const SqlRule& rule, Interval window, std::span<const Walked> victims,
                    const ExplainFinding& finding);

// Appends what the rules find, notes about the machine, and which rules could not be examined. A
// rule that fails is such a note, too: the rest of the report stands without it.
void AddSqlFindings(tables::Connection& connection, const Timeline& timeline,
                    std::span<const Walked> victims, Explanation& made);

}  // namespace culprit::analysis
