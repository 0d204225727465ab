#include "lab/truth.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace culprit::lab {
namespace {

using Json = nlohmann::ordered_json;

Json VictimJson(const Slot& slot) {
  Json victim;
  victim["pid"] = slot.pid;
  victim["tid"] = slot.tid;
  victim["name"] = slot.name;
  victim["wall_ns"] = slot.wall_ns;
  victim["running_ns"] = slot.cpu_ns;
  victim["runnable_ns"] = slot.runnable_ns;
  victim["off_ns"] = slot.wall_ns - slot.cpu_ns - slot.runnable_ns;
  Json waits = Json::object();
  for (std::size_t i = 0; i < kWaits; ++i) {
    const WaitSum& sum = slot.waits[i];
    if (sum.count == 0) continue;
    waits[WaitName(static_cast<Wait>(i))] = {
        {"ns", sum.ns}, {"count", sum.count}, {"worst_ns", sum.worst_ns}};
  }
  victim["waits"] = std::move(waits);
  victim["slices"] = slot.slices;
  victim["voluntary_switches"] = slot.voluntary_switches;
  victim["involuntary_switches"] = slot.involuntary_switches;
  victim["major_faults"] = slot.major_faults;
  victim["work"] = slot.work;
  return victim;
}

Json PartyJson(const Party& party) {
  return {{"pid", party.pid}, {"tids", party.tids}, {"name", party.name}};
}

Json CulpritJson(const TrueCulprit& culprit) {
  Json json;
  json["kind"] = culprit.kind;
  if (culprit.kind == "none") return json;
  if (!culprit.parties.empty()) {
    json.update(PartyJson(culprit.parties.front()));
    Json also = Json::array();
    for (std::size_t i = 1; i < culprit.parties.size(); ++i) {
      also.push_back(PartyJson(culprit.parties[i]));
    }
    json["also"] = std::move(also);
  }
  if (!culprit.device.empty()) json["device"] = culprit.device;
  if (!culprit.cgroup.empty()) json["cgroup"] = culprit.cgroup;
  json["share"] = culprit.share;
  json["lost_ns"] = culprit.lost_ns;
  json["share_of"] = culprit.share_of;
  json["measured_by"] = culprit.measured_by;
  return json;
}

}  // namespace

const char* WaitName(Wait wait) {
  constexpr const char* kNames[] = {"lock",  "baton", "queue", "queue-full", "disk",      "barrier",
                                    "child", "sleep", "pipe",  "memory",     "interrupts"};
  static_assert(std::size(kNames) == kWaits);
  return kNames[static_cast<std::size_t>(wait)];
}

std::string ToJson(const Truth& truth) {
  Json json;
  json["schema"] = 1;
  json["scenario"] = truth.scenario;
  json["fault"] = truth.fault.empty() ? Json() : Json(truth.fault);
  json["scale"] = truth.scale;
  json["seconds"] = ToSeconds(truth.duration);
  json["seed"] = truth.seed;
  json["interrupted"] = truth.interrupted;
  json["window"] = {{"start_ns", truth.begin.value}, {"end_ns", truth.end.value}};
  json["victims"] = Json::array();
  for (const Slot& slot : truth.victims) json["victims"].push_back(VictimJson(slot));
  json["culprit"] = CulpritJson(truth.culprit);
  json["check"] =
      truth.check ? Json{{"id", truth.check->id}, {"subject", truth.check->subject}} : Json();
  json["figures"] = Json::object();
  for (const auto& [name, value] : truth.figures) json["figures"][name] = value;
  json["notes"] = truth.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ToSentence(const Truth& truth) {
  const TrueCulprit& culprit = truth.culprit;
  if (truth.check) {
    return fmt::format("check {} has to fire: {}", truth.check->id, truth.check->subject);
  }
  if (culprit.kind == "none") return "nobody is at fault";
  std::string who = culprit.kind;
  if (!culprit.parties.empty()) {
    who += fmt::format(" {} (pid {})", culprit.parties.front().name, culprit.parties.front().pid);
  }
  if (!culprit.device.empty()) who += " on " + culprit.device;
  return fmt::format("{}: {:.1f} % of {}", who, culprit.share * 100, culprit.share_of);
}

}  // namespace culprit::lab
