// JSON of culprit explain; docs/explain.schema.json is its schema. null is "not known".
#include <nlohmann/json.hpp>

#include "views/explain/explain_view.h"

namespace culprit::views {
namespace {

using namespace analysis;  // NOLINT(google-build-using-namespace): this file is about its types
using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json OfInterval(Interval time) {
  return {{"start_ns", time.begin}, {"end_ns", time.end}, {"duration_ns", time.length()}};
}

Json OfTask(const TaskName& task) {
  return {{"utid", task.utid},
          {"tid", task.tid},
          {"thread", task.thread},
          {"pid", task.pid},
          {"process", task.process}};
}

Json OfParty(const Party& party) {
  Json json;
  json["type"] = PartyTypeName(party.type);
  json["name"] = party.name;
  for (const char* key : {"pid", "tid", "thread", "process", "utid"}) json[key] = nullptr;
  if (party.task) json.update(OfTask(*party.task));
  json["device"] = TextOrNull(party.device);
  json["priority"] = party.priority ? Json(*party.priority) : Json(nullptr);
  json["cgroup"] = TextOrNull(party.cgroup);
  return json;
}

Json OfFinding(const ExplainFinding& finding) {
  Json json;
  json["id"] = finding.id;
  json["level"] = LevelName(finding.level);
  json["kind"] = finding.kind;
  json["culprit"] = OfParty(finding.culprit);
  json["victim"] = OfTask(finding.victims.front().victim);
  json["wait_ns"] = finding.wait_ns();
  json["share"] = finding.share();
  const Amount& amount = finding.victims.front().waited;
  json["count"] = amount.count;
  json["worst"] = {{"ts", amount.worst_ts}, {"dur", amount.worst_ns}};
  json["by_victim"] = Json::array();
  for (const VictimShare& row : finding.victims) {
    json["by_victim"].push_back({{"utid", row.victim.utid},
                                 {"tid", row.victim.tid},
                                 {"pid", row.victim.pid},
                                 {"wait_ns", row.waited.ns},
                                 {"share", row.share},
                                 {"count", row.waited.count}});
  }
  json["by_thread"] = Json::array();
  for (const ThreadShare& row : finding.threads) {
    json["by_thread"].push_back({{"tid", row.thread.tid},
                                 {"thread", row.thread.thread},
                                 {"pid", row.thread.pid},
                                 {"wait_ns", row.wait_ns}});
  }
  json["via"] = Json::array();
  for (const TaskName& task : finding.via) {
    json["via"].push_back({{"tid", task.tid}, {"thread", task.thread}, {"pid", task.pid}});
  }
  json["confidence"] = finding.confidence;
  json["confidence_why"] = finding.confidence_why;
  json["summary"] = finding.summary;
  json["evidence"] = finding.evidence;
  json["remedy"] = {{"text", finding.remedy.text},
                    {"command", TextOrNull(finding.remedy.command)},
                    {"wins_at_most_ns", finding.remedy.wins_at_most_ns}};
  json["sql"] = TextOrNull(finding.sql);
  return json;
}

Json OfTree(const ChainTree& tree) {
  Json json = OfTask(tree.thread);
  json["waited_ns"] = tree.waited.ns;
  json["count"] = tree.waited.count;
  json["blocked"] = tree.is_blocked;
  json["causes"] = Json::array();
  for (const ChainCause& cause : tree.causes) {
    json["causes"].push_back({{"kind", cause.kind},
                              {"text", cause.text},
                              {"ns", cause.amount.ns},
                              {"count", cause.amount.count}});
  }
  json["children"] = Json::array();
  for (const ChainTree& child : tree.children) json["children"].push_back(OfTree(child));
  return json;
}

Json OfVictim(const ExplainVictim& victim, std::int64_t window_ns) {
  Json json = OfTask(victim.name);
  json["role"] = RoleName(victim.role);
  json["why"] = victim.why;
  json["budget"] = Json::array();
  for (const BudgetRow& row : victim.budget) {
    json["budget"].push_back(
        {{"name", row.name},
         {"ns", row.ns},
         {"share",
          window_ns > 0 ? static_cast<double>(row.ns) / static_cast<double>(window_ns) : 0.0}});
  }
  return json;
}

Json OfEvidence(const Evidence& evidence) {
  Json json;
  json["complete"] = evidence.lost.empty() && evidence.unknown_ns == 0;
  json["lost_events"] = evidence.lost_events;
  json["lost"] = Json::array();
  for (const LostGap& gap : evidence.lost) {
    json["lost"].push_back({{"cpu", gap.cpu},
                            {"ts", gap.time.begin},
                            {"dur", gap.time.length()},
                            {"events", gap.events}});
  }
  json["unknown_ns"] = evidence.unknown_ns;
  json["unknown_share"] = evidence.unknown_share;
  json["cut_waits"] = evidence.cut_waits;
  json["d_waits"] = evidence.blocked_waits;
  json["d_waits_with_stack"] = evidence.blocked_waits_with_stack;
  json["has_irqs"] = evidence.has_irqs;
  json["has_disk"] = evidence.has_disk;
  json["notes"] = evidence.notes;
  return json;
}

}  // namespace

std::string ExplainJson(const Explanation& made, const std::string& file) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["trace"] = OfInterval(made.trace);
  json["trace"]["file"] = file;
  json["window"] = OfInterval(made.window);
  json["window"]["examined_ns"] = made.examined_ns;
  json["selection"] = {
      {"by", made.selected_by}, {"text", made.selection}, {"reason", made.selection_reason}};
  const bool has_culprit = made.level >= Level::kWarning;
  json["verdict"] = {
      {"level", VerdictName(made)},
      {"finding", has_culprit ? Json(0) : Json(nullptr)},
      {"text", made.verdict},
      {"command", has_culprit ? TextOrNull(made.findings.front().remedy.command) : Json(nullptr)}};
  json["victims"] = Json::array();
  for (const ExplainVictim& victim : made.victims) {
    json["victims"].push_back(OfVictim(victim, made.examined_ns));
  }
  json["findings"] = Json::array();
  for (const ExplainFinding& finding : made.findings)
    json["findings"].push_back(OfFinding(finding));
  json["chains"] = Json::array();
  for (const Chain& chain : made.chains) {
    json["chains"].push_back({{"victim", OfTask(chain.victim)},
                              {"scope", chain.is_total ? "total" : "longest"},
                              {"ts", chain.time.begin},
                              {"dur", chain.time.length()},
                              {"tree", OfTree(chain.tree)}});
  }
  json["examined"] = made.examined;
  json["evidence"] = OfEvidence(made.evidence);
  // Hostile comm names need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace culprit::views
