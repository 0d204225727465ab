#include "health/tune/audit.h"

#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace culprit::tune {
namespace {

std::string DefaultText(const Knob& knob) {
  std::string text(knob.kernel_default);
  for (auto at = text.find('|'); at != text.npos; at = text.find('|')) text.replace(at, 1, " or ");
  if (!text.empty() && !knob.default_note.empty()) text += "; ";
  return text.append(knob.default_note);
}

// "performance"; "powersave (62 files), performance (2 files)" where they differ.
std::string Summary(const std::vector<KnobFile>& files) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const KnobFile& file : files) {
    const auto known =
        std::ranges::find(counts, file.value, &std::pair<std::string, std::size_t>::first);
    if (known == counts.end()) {
      counts.emplace_back(file.value, 1);
    } else {
      ++known->second;
    }
  }
  if (counts.size() == 1) return counts.front().first;
  std::string text;
  for (const auto& [value, count] : counts) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} ({} files)", value, count);
  }
  return text;
}

class Auditor {
 public:
  Auditor(const RootFiles& files, const NodeFacts& node, Profile profile)
      : files_(files),
        node_(node),
        profile_(profile),
        settings_(Settings::Read(files, node.command_line)) {}

  AuditItem Item(const Knob& knob) const {
    AuditItem item;
    item.key = knob.key;
    item.place = knob.place;
    item.kernel_default = DefaultText(knob);
    item.why = knob.why;
    item.by_profile = knob.by_profile;
    item.breaks = knob.breaks;
    item.source = knob.source;
    if (knob.place == Place::kObsolete) {
      JudgeObsolete(item);
      return item;
    }
    if (!ReadFiles(knob, item)) return item;
    item.advice = knob.judge == nullptr
                      ? TableAdvice(knob, profile_)
                      : knob.judge({knob, node_, files_, profile_, item.files.front().value});
    Compare(item);
    Explain(knob, item);
    return item;
  }

  AuditItem Item(const PolicyLine& line) const {
    const Knob* known = FindKnob(line.key);
    Knob knob;
    if (known != nullptr) knob = *known;
    knob.key = line.key;
    knob.judge = nullptr;
    if (known == nullptr) knob.place = Place::kSysctl;
    AuditItem item;
    item.key = line.key;
    item.place = knob.place == Place::kObsolete ? Place::kSysctl : knob.place;
    item.kernel_default = DefaultText(knob);
    item.why = "the policy asks for it";
    item.breaks =
        known != nullptr ? std::string(knob.breaks) : "not known: the key is not in the baseline";
    item.source = line.place;
    knob.place = item.place;
    if (!ReadFiles(knob, item)) return item;
    item.advice = {.relation = line.relation, .value = line.value, .because = ""};
    Compare(item);
    Explain(knob, item);
    return item;
  }

  const Settings& settings() const { return settings_; }

 private:
  // Fills files and current, or status and reason; false then.
  bool ReadFiles(const Knob& knob, AuditItem& item) const {
    std::vector<std::string> paths;
    if (knob.place == Place::kSysctl) {
      paths.push_back("/proc/sys/" + SysctlPath(knob.key).value_or("?"));
    } else if (knob.place == Place::kSysfs) {
      paths = files_.Match(std::string(knob.path));
    } else {
      paths.push_back("/proc/self/limits");
    }
    const auto refuse = [&item](ItemStatus status, std::string reason) {
      item.status = status;
      item.reason = std::move(reason);
      item.files.clear();
      return false;
    };
    for (const std::string& path : paths) {
      const FileText text = files_.Read(path);
      if (text.absent()) continue;
      if (!text.ok()) {
        const bool denied = text.error_number == EACCES || text.error_number == EPERM;
        return refuse(ItemStatus::kUnknown,
                      fmt::format("{}: {}{}", path, strerror(text.error_number),
                                  denied ? " (run as root)" : ""));
      }
      std::string value = knob.place == Place::kLimit ? LimitOf(text.text, knob.path)
                                                      : ShownValue(knob.place, text.text);
      if (value.empty() && knob.place == Place::kLimit) continue;
      item.files.push_back({path, std::move(value)});
    }
    if (item.files.empty()) {
      return refuse(ItemStatus::kNotApplicable, MissingReason(knob));
    }
    item.current = Summary(item.files);
    return true;
  }

  std::string MissingReason(const Knob& knob) const {
    if (!knob.missing.empty()) return std::string(knob.missing);
    if (knob.place == Place::kLimit) return "/proc/self/limits does not tell it";
    if (!files_.Exists("/proc/sys")) return "not available here: there is no /proc/sys";
    return "not available here: kernel " + (node_.release.empty() ? "(not known)" : node_.release) +
           " has no such key" + (node_.container ? ", or hides it from this container" : "");
  }

  // "Max open files            1024                 524288               files" -> "1024 524288".
  static std::string LimitOf(std::string_view text, std::string_view name) {
    for (const auto line : SplitLines(text)) {
      if (!line.starts_with(name)) continue;
      const auto words = SplitWords(line.substr(name.size()));
      if (words.size() >= 2) return std::string(words[0]) + " " + std::string(words[1]);
    }
    return "";
  }

  static void Compare(AuditItem& item) {
    item.reason = item.advice.because;
    switch (item.advice.verdict) {
      case Verdict::kLeave:
        item.status = ItemStatus::kLeave;
        return;
      case Verdict::kNotApplicable:
        item.status = ItemStatus::kNotApplicable;
        return;
      case Verdict::kUnknown:
        item.status = ItemStatus::kUnknown;
        return;
      case Verdict::kWant:
        break;
    }
    const bool satisfied =
        item.advice.satisfied.value_or(std::ranges::all_of(item.files, [&](const KnobFile& file) {
          return Meets(file.value, item.advice.relation, item.advice.value);
        }));
    item.status = satisfied ? ItemStatus::kOk : ItemStatus::kChange;
  }

  void Explain(const Knob& knob, AuditItem& item) const {
    SettingTarget target;
    target.key = item.key;
    if (item.place == Place::kSysfs) target.path = item.files.front().path;
    target.tuned_option = knob.tuned_option;
    target.boot_parameter = knob.boot_parameter;
    if (item.place == Place::kLimit) {
      target.limits_item = item.key == "limits.nofile" ? "nofile" : "memlock";
      target.systemd_setting =
          item.key == "limits.nofile" ? "DefaultLimitNOFILE" : "DefaultLimitMEMLOCK";
    }
    item.origin = settings_.Explain(target, item.current, knob.kernel_default);
    if (item.status == ItemStatus::kOk && !item.advice.satisfied) CheckNextBoot(knob, item);
  }

  // A value that is right now but not after the next boot still needs a line in a file.
  static void CheckNextBoot(const Knob& knob, AuditItem& item) {
    const auto lost = [&item](std::string_view value) {
      return !Meets(value, item.advice.relation, item.advice.value);
    };
    if (item.origin.at_boot && lost(item.origin.at_boot->value)) {
      item.reason = "right now, but " + item.origin.at_boot->place + " sets it to " +
                    OneLine(item.origin.at_boot->value) + " at the next boot";
    } else if (item.origin.set_by.kind == OriginKind::kRunTime && !item.origin.at_boot &&
               !knob.kernel_default.empty() &&
               std::ranges::any_of(Split(knob.kernel_default, '|'), lost)) {
      item.reason = "right now, but written at run time: no file keeps it over a reboot";
    } else {
      return;
    }
    item.status = ItemStatus::kChange;
  }

  void JudgeObsolete(AuditItem& item) const {
    const std::string path = "/proc/sys/" + SysctlPath(item.key).value_or("?");
    const FileText text = files_.Read(path);
    if (text.ok()) {
      item.files.push_back({path, ShownValue(Place::kSysctl, text.text)});
      item.current = item.files.front().value;
    }
    SettingTarget target;
    target.key = item.key;
    const auto settings = settings_.For(target);
    item.reason = item.why;
    if (settings.empty()) {
      item.status = text.ok() ? ItemStatus::kLeave : ItemStatus::kNotApplicable;
      item.reason = "obsolete: " + item.reason;
      item.origin.set_by.kind = OriginKind::kSizedAtBoot;
      return;
    }
    item.status = ItemStatus::kObsolete;
    item.origin.set_by = settings.front();
    item.reason = settings.front().place + " sets it to " + OneLine(settings.front().value) +
                  " in vain: " + item.reason + "; take the line out";
  }

  const RootFiles& files_;
  const NodeFacts& node_;
  Profile profile_;
  Settings settings_;
};

}  // namespace

std::string_view ItemStatusName(ItemStatus status) {
  constexpr std::array<std::string_view, 6> kNames = {"change", "obsolete", "ok",
                                                      "leave",  "unknown",  "not_applicable"};
  return kNames[static_cast<std::size_t>(status)];
}

std::string ShownValue(Place place, std::string_view text) {
  return place == Place::kSysfs ? ChosenWord(text) : OneLine(text);
}

std::size_t Audit::Count(ItemStatus status) const {
  return static_cast<std::size_t>(std::ranges::count(items, status, &AuditItem::status));
}

const AuditItem* Audit::Find(std::string_view key) const {
  const auto found = std::ranges::find(items, key, &AuditItem::key);
  return found == items.end() ? nullptr : &*found;
}

Result<std::vector<PolicyLine>> ParsePolicy(std::string_view text, const std::string& file) {
  std::vector<PolicyLine> policy;
  std::size_t number = 0;
  for (const auto whole : SplitLines(text)) {
    ++number;
    const auto line = TrimBlanks(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    PolicyLine parsed;
    parsed.place = file + ":" + std::to_string(number);
    const auto equals = line.find('=');
    auto key = line.substr(0, equals);
    if (key.ends_with('>')) parsed.relation = Relation::kAtLeast;
    if (key.ends_with('<')) parsed.relation = Relation::kAtMost;
    if (parsed.relation != Relation::kEqual) key.remove_suffix(1);
    key = TrimBlanks(key);
    const auto path = SysctlPath(key);
    if (equals != line.npos) parsed.value = OneLine(line.substr(equals + 1));
    if (!path || path->find_first_of("*?[") != path->npos || parsed.value.empty()) {
      return Error{parsed.place + ": not a line of a policy: '" + SafeForTerminal(line) + "'",
                   "write KEY = VALUE, KEY >= VALUE or KEY <= VALUE"};
    }
    parsed.key = FindKnob(key) != nullptr ? std::string(key) : SysctlKey(*path);
    policy.push_back(std::move(parsed));
  }
  return policy;
}

Audit AuditBaseline(const RootFiles& files, const NodeFacts& node, Profile profile) {
  Audit audit;
  audit.node = node;
  audit.profile = profile;
  const Auditor auditor(files, node, profile);
  for (const Knob& knob : Knobs()) audit.items.push_back(auditor.Item(knob));
  audit.tuned_profile = auditor.settings().tuned_profile();
  audit.problems = auditor.settings().problems();
  return audit;
}

Audit AuditPolicy(const RootFiles& files, const NodeFacts& node,
                  const std::vector<PolicyLine>& policy) {
  Audit audit;
  audit.node = node;
  const Auditor auditor(files, node, Profile::kTraining);
  for (const PolicyLine& line : policy) audit.items.push_back(auditor.Item(line));
  audit.tuned_profile = auditor.settings().tuned_profile();
  audit.problems = auditor.settings().problems();
  return audit;
}

}  // namespace culprit::tune
