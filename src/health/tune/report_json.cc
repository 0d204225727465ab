#include <nlohmann/json.hpp>

#include "health/tune/report.h"

namespace culprit::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

constexpr std::array<std::string_view, 4> kPlaceNames = {"sysctl", "sysfs", "limit", "obsolete"};
constexpr std::array<std::string_view, 3> kRelationNames = {"equal", "at_least", "at_most"};

// Null instead of an empty text: absent is not "".
Json OrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json SettingJson(const Setting& setting) {
  return {{"kind", OriginName(setting.kind)},
          {"place", OrNull(setting.place)},
          {"value", setting.value}};
}

Json ItemJson(const AuditItem& item) {
  Json json = {
      {"key", item.key},
      {"place", kPlaceNames[static_cast<std::size_t>(item.place)]},
      {"status", ItemStatusName(item.status)},
      {"value", OrNull(item.current)},
      {"advised", OrNull(item.advice.value)},
      {"relation", item.advice.value.empty()
                       ? Json(nullptr)
                       : Json(kRelationNames[static_cast<std::size_t>(item.advice.relation)])},
      {"set_by", item.current.empty() && item.status != ItemStatus::kObsolete
                     ? Json(nullptr)
                     : SettingJson(item.origin.set_by)},
      {"next_boot", item.origin.at_boot ? SettingJson(*item.origin.at_boot) : Json(nullptr)},
      {"kernel_default", OrNull(item.kernel_default)},
      {"reason", OrNull(item.reason)},
      {"why", item.why},
      {"profiles", OrNull(item.by_profile)},
      {"breaks", item.breaks},
      {"source", item.source},
      {"files", Json::array()}};
  for (const KnobFile& file : item.files) {
    json["files"].push_back({{"path", file.path}, {"value", file.value}});
  }
  return json;
}

Json NodeJson(const NodeFacts& node) {
  Json json = {{"kernel", OrNull(node.release)},
               {"cpus", node.cpus},
               {"memory_bytes", node.memory_bytes},
               {"numa_nodes", node.numa_nodes},
               {"gpus", node.gpus},
               {"rdma_devices", node.rdma_devices.size()},
               {"virtual_machine", node.virtual_machine},
               {"container", node.container},
               {"write_bandwidth", nullptr}};
  if (node.write_bandwidth) {
    json["write_bandwidth"] = {{"bytes_per_second", node.write_bandwidth->bytes_per_s},
                               {"how", node.write_bandwidth->how}};
  }
  return json;
}

// Bytes that are no UTF-8 become U+FFFD: a hostile file must not end the report.
std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string AuditJson(const Audit& audit, const std::string& policy) {
  Json json = {
      {"schema_version", kSchemaVersion},
      {"action", "audit"},
      {"profile", policy.empty() ? Json(kProfileNames[static_cast<std::size_t>(audit.profile)])
                                 : Json(nullptr)},
      {"policy", OrNull(policy)},
      {"node", NodeJson(audit.node)},
      {"tuned_profile", OrNull(audit.tuned_profile)},
      {"problems", audit.problems},
      {"counts", Json::object()},
      {"knobs", Json::array()}};
  for (const ItemStatus status :
       {ItemStatus::kChange, ItemStatus::kObsolete, ItemStatus::kOk, ItemStatus::kLeave,
        ItemStatus::kUnknown, ItemStatus::kNotApplicable}) {
    json["counts"][std::string(ItemStatusName(status))] = audit.Count(status);
  }
  for (const AuditItem& item : audit.items) json["knobs"].push_back(ItemJson(item));
  return Dump(json);
}

std::string ChangeJson(const ChangeReport& report, const std::string& verb) {
  Json json = {{"schema_version", kSchemaVersion},
               {"action", verb},
               {"dry_run", report.dry_run},
               {"ok", report.ok()},
               {"files", report.files},
               {"steps", Json::array()}};
  for (const Step& step : report.steps) {
    json["steps"].push_back({{"key", OrNull(step.key)},
                             {"path", step.path},
                             {"from", OrNull(step.from)},
                             {"to", OrNull(step.to)},
                             {"outcome", StepOutcomeName(step.outcome)},
                             {"reason", OrNull(step.reason)}});
  }
  return Dump(json);
}

}  // namespace culprit::tune
