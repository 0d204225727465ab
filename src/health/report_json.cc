// JSON and NDJSON. null is "not known", which is not 0.
#include <nlohmann/json.hpp>

#include "health/report.h"

namespace culprit::health {
namespace {

using Json = nlohmann::ordered_json;

Json Optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json OfFinding(const Finding& finding) {
  Json json;
  json["id"] = finding.id;
  json["resource"] = finding.resource;
  json["use"] = std::string(1, finding.use);
  json["status"] = StatusName(finding.status);
  json["subject"] = finding.subject;
  json["summary"] = finding.summary;
  json["value"] = Optional(finding.value);
  json["unit"] = finding.unit;
  json["threshold"] = {{"warning", Optional(finding.warning_at)},
                       {"critical", Optional(finding.critical_at)},
                       {"source", finding.threshold_source}};
  json["evidence"] = finding.evidence;
  json["advice"] = finding.advice;
  json["needs_root"] = finding.needs_root;
  json["skipped_reason"] =
      finding.skipped_reason.empty() ? Json(nullptr) : Json(finding.skipped_reason);
  json["age_seconds"] = Optional(finding.age_s);
  return json;
}

Json Head(const Report& report) {
  Json json;
  json["schema_version"] = kSchemaVersion;
  json["host"] = report.node.host;
  json["boot_id"] = report.node.boot_id;
  json["time"] = report.time_s;
  json["duration"] = report.duration_s;
  return json;
}

// Hostile comm names need not be UTF-8.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string ReportJson(const Report& report) {
  Json json = Head(report);
  json["sample_seconds"] = report.sample_s > 0 ? Json(report.sample_s) : Json(nullptr);
  json["sample_assumed"] = report.sample_assumed;
  json["verdict"] = StatusName(report.verdict);
  json["container"] = report.node.container.empty() ? Json(nullptr) : Json(report.node.container);
  json["root"] = report.node.is_root;
  json["cpus"] = report.cpus;
  json["findings"] = Json::array();
  for (const Finding& finding : report.findings) json["findings"].push_back(OfFinding(finding));
  json["new"] = report.new_keys;
  json["cleared"] = Json::array();
  for (const Finding& finding : report.cleared) json["cleared"].push_back(OfFinding(finding));
  return Dump(json, 2) + "\n";
}

std::string ReportNdjson(const Report& report) {
  std::string text;
  for (const Finding& finding : report.findings) {
    Json json = Head(report);
    json.update(OfFinding(finding));
    text += Dump(json, -1) + "\n";
  }
  return text;
}

std::string RuleListJson(const CheckConfig& config) {
  Json list = Json::array();
  for (const Rule& rule : Rules()) {
    const Thresholds thresholds = config.Of(rule);
    list.push_back({{"row", rule.number},
                    {"id", rule.id},
                    {"resource", rule.resource},
                    {"use", std::string(1, rule.use)},
                    {"title", rule.title},
                    {"formula", rule.formula},
                    {"unit", rule.unit},
                    {"warning", Optional(thresholds.warning_at)},
                    {"critical", Optional(thresholds.critical_at)},
                    {"source", thresholds.source},
                    {"reads", rule.reads},
                    {"state", rule.measure == nullptr ? "not built"
                              : config.IsOff(rule)    ? "off"
                                                      : "on"},
                    {"needs_root", rule.privilege == 'r'}});
  }
  return Dump(Json{{"schema_version", kSchemaVersion}, {"checks", list}}, 2) + "\n";
}

}  // namespace culprit::health
