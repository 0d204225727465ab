#include "analysis/sql_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "analysis/finding_text.h"
#include "analysis/walk_rule_table.h"
#include "base/check.h"
#include "base/embedded_file.h"
#include "base/text.h"
#include "tables/database.h"
#include "tables/query_result.h"

namespace culprit::analysis {

extern const std::span<const EmbeddedFile> kRuleFiles;

namespace {

// With the window and the victims as parameters: $1, $2, and $3 as "7,12".
constexpr std::string_view kHead =
    "WITH explain_window AS (SELECT {}::BIGINT AS begin_ts, {}::BIGINT AS end_ts),\n"
    "explain_victim AS (SELECT unnest(string_split({}, ','))::BIGINT AS utid),\nrule AS (\n{}\n)\n";

std::string VictimList(std::span<const Walked> victims) {
  std::string list;
  for (const Walked& row : victims)
    list += fmt::format("{}{}", list.empty() ? "" : ",", row.victim.utid);
  return list;
}

// The statement of a rule's file, without its head and closing semicolon.
std::string_view BodyOf(std::string_view text) {
  while (text.starts_with("--")) text.remove_prefix(text.find('\n') + 1);
  while (!text.empty() && (text.back() == '\n' || text.back() == ';')) text.remove_suffix(1);
  return text;
}

PartyType TypeOf(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(PartyType::kSelf); ++i) {
    if (PartyTypeName(static_cast<PartyType>(i)) == name) return static_cast<PartyType>(i);
  }
  return PartyType::kKernel;
}

Level LevelOf(const SqlRule& rule, double share, std::int64_t ns) {
  if (ns < rule.least_ns) return Level::kInfo;
  if (share >= rule.critical_share) return Level::kCritical;
  return share >= rule.warn_share ? Level::kWarning : Level::kInfo;
}

// One rule over one recording.
class Run {
 public:
  Run(tables::Connection& connection, const Timeline& timeline, std::span<const Walked> victims,
      const SqlRule& rule, Explanation& made)
      : connection_(connection), timeline_(timeline), victims_(victims), rule_(rule), made_(made) {}

  Status Examine() {
    const SqlRuleHead head = HeadOf(rule_);
    CULPRIT_ASSIGN(auto has, connection_.Query(head.has));
    CULPRIT_ASSIGN(const bool any, has.Next());
    if (!any || has.chunk_rows() == 0 || !has.Bool(0, 0)) {
      made_.examined.push_back(fmt::format("{}: not examined: needs {}", rule_.id, head.needs));
      return {};
    }
    made_.examined.push_back(fmt::format("{}: {}", rule_.id, head.meaning));
    const std::string list = VictimList(victims_);
    const std::array<tables::Value, 3> values = {made_.window.begin, made_.window.end,
                                                 std::string_view(list)};
    const std::string sql =
        fmt::format(fmt::runtime(kHead), "$1", "$2", "$3", BodyOf(TextOf(rule_))) +
        "SELECT utid, culprit_type, culprit_utid, culprit, sum(ns)::BIGINT, "
        "count(*), coalesce(max(ns), 0)::BIGINT, coalesce(arg_max(ts, ns), 0), "
        "min(what), min(detail) FROM rule, explain_window, "
        "(SELECT count(*) FROM explain_victim) "
        "GROUP BY ALL ORDER BY 5 DESC, 1, 4";
    CULPRIT_ASSIGN(tables::QueryResult rows, connection_.Query(sql, values));
    while (true) {
      CULPRIT_ASSIGN(const bool more, rows.Next());
      if (!more) break;
      for (std::size_t row = 0; row < rows.chunk_rows(); ++row) Take(rows, row);
    }
    for (auto& [key, finding] : findings_) Finish(finding);
    return {};
  }

 private:
  using Key = std::tuple<std::string, std::int64_t, std::string>;

  void Take(const tables::QueryResult& rows, std::size_t row) {
    if (rows.IsNull(0, row)) {
      std::string note = fmt::format("{}: {}", rule_.id, rows.Text(8, row));
      if (!rows.IsNull(4, row)) note += ": " + FormatDuration({rows.Integer(4, row)});
      made_.evidence.notes.push_back(std::move(note));
      return;
    }
    const auto utid = static_cast<Utid>(rows.Integer(0, row));
    const auto walked = std::ranges::find_if(
        victims_, [&](const Walked& candidate) { return candidate.victim.utid == utid; });
    if (walked == victims_.end() || walked->alive_ns <= 0) return;
    const Amount amount{rows.Integer(4, row), rows.Integer(5, row), rows.Integer(6, row),
                        rows.Integer(7, row)};
    const double share = static_cast<double>(amount.ns) / static_cast<double>(walked->alive_ns);
    if (share < kLeastShare) return;
    const std::int64_t culprit = rows.IsNull(2, row) ? -1 : rows.Integer(2, row);
    ExplainFinding& finding =
        findings_[{std::string(rows.Text(1, row)), culprit, std::string(rows.Text(3, row))}];
    finding.level = std::max(finding.level, LevelOf(rule_, share, amount.ns));
    finding.culprit.type = TypeOf(rows.Text(1, row));
    finding.culprit.name = rows.Text(3, row);
    if (finding.culprit.name.starts_with("disk "))
      finding.culprit.device = finding.culprit.name.substr(5);
    if (culprit >= 0 && static_cast<std::size_t>(culprit) < timeline_.threads().size()) {
      finding.culprit.task = NameTask(timeline_, static_cast<Utid>(culprit));
    }
    if (what_.empty()) what_ = rows.Text(8, row);
    if (!rows.IsNull(9, row) && finding.evidence.empty()) {
      finding.evidence.emplace_back(rows.Text(9, row));
    }
    finding.victims.push_back({NameTask(timeline_, utid), amount, share});
  }

  void Finish(ExplainFinding& finding) {
    std::ranges::stable_sort(finding.victims, [](const VictimShare& a, const VictimShare& b) {
      return a.waited.ns > b.waited.ns;
    });
    finding.id = rule_.id;
    finding.kind = rule_.kind;
    const VictimShare& worst = finding.victims.front();
    const auto walked = std::ranges::find_if(
        victims_, [&](const Walked& row) { return row.victim.utid == worst.victim.utid; });
    finding.summary =
        fmt::format("{} spent {} of {} {}: {}.", NameWithId(worst.victim, false),
                    Percent(worst.share), FormatDuration({walked->alive_ns}), what_,
                    finding.culprit.type == PartyType::kProcess && finding.culprit.task
                        ? NameWithId(*finding.culprit.task, true)
                        : finding.culprit.name);
    if (finding.victims.size() > 1) {
      finding.evidence.push_back(fmt::format("{} victims in all", finding.victims.size()));
    }
    finding.confidence = 0.9;
    finding.confidence_why =
        fmt::format("counted from the recording's events by rule {}", rule_.id);
    finding.remedy.text = HeadOf(rule_).remedy;
    finding.remedy.wins_at_most_ns = finding.wait_ns();
    if (rule_.id == "checkpoint.writer" && finding.culprit.task) {
      finding.remedy.command = fmt::format("ionice -c 3 -p {}", finding.culprit.task->pid);
    }
    finding.sql = ShowSql(rule_, made_.window, victims_, finding);
    made_.findings.push_back(std::move(finding));
  }

  tables::Connection& connection_;
  const Timeline& timeline_;
  std::span<const Walked> victims_;
  const SqlRule& rule_;
  Explanation& made_;
  std::map<Key, ExplainFinding> findings_;
  std::string what_;
};

}  // namespace

std::string_view TextOf(const SqlRule& rule) {
  const std::string name = std::string(rule.id) + ".sql";
  const auto found = std::ranges::find(kRuleFiles, name, &EmbeddedFile::name);
  CULPRIT_CHECK(found != kRuleFiles.end());
  return found->text;
}

SqlRuleHead HeadOf(const SqlRule& rule) {
  SqlRuleHead head;
  const std::pair<std::string_view, std::string_view*> keys[] = {
      {"-- id: ", &head.id},   {"-- severity: ", &head.severity}, {"-- needs: ", &head.needs},
      {"-- has: ", &head.has}, {"-- meaning: ", &head.meaning},   {"-- remedy: ", &head.remedy}};
  for (const std::string_view line : SplitLines(TextOf(rule))) {
    for (const auto& [key, value] : keys) {
      if (line.starts_with(key)) *value = line.substr(key.size());
    }
  }
  return head;
}

std::string ShowSql(const SqlRule& rule, Interval window, std::span<const Walked> victims,
                    const ExplainFinding& finding) {
  const std::string list = VictimList(victims);
  return fmt::format(fmt::runtime(kHead), window.begin, window.end, tables::QuoteText(list),
                     BodyOf(TextOf(rule))) +
         fmt::format("SELECT sum(ns) AS wait_ns FROM rule WHERE utid = {} AND culprit = {}{}",
                     finding.victims.front().victim.utid, tables::QuoteText(finding.culprit.name),
                     finding.culprit.task
                         ? fmt::format(" AND culprit_utid = {}", finding.culprit.task->utid)
                         : "");
}

void AddSqlFindings(tables::Connection& connection, const Timeline& timeline,
                    std::span<const Walked> victims, Explanation& made) {
  if (victims.empty()) return;
  for (const SqlRule& rule : SqlRules()) {
    const Status status = Run(connection, timeline, victims, rule, made).Examine();
    if (!status.ok()) {
      made.examined.push_back(fmt::format("{}: not examined: {}", rule.id, status.error().what));
    }
  }
}

}  // namespace culprit::analysis
