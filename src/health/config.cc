#include "health/config.h"

#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::health {

std::string NearRules(std::string_view id) {
  std::vector<std::string> names;
  for (const Rule& rule : Rules()) names.emplace_back(rule.id);
  for (const std::string_view resource : Resources()) names.emplace_back(resource);
  auto near = NearNames(id, names);
  // "mem.oom" is memory.oom: what stands behind the dot is what people remember.
  if (const auto dot = id.rfind('.'); near.empty() && dot != id.npos) {
    for (const Rule& rule : Rules()) {
      if (rule.id.ends_with(id.substr(dot)) && near.size() < 3) near.emplace_back(rule.id);
    }
  }
  if (near.empty()) return "see culprit check --list";
  std::string text = "did you mean " + near.front();
  for (std::size_t i = 1; i < near.size(); ++i) text += " or " + near[i];
  return text + "?";
}

Result<CheckConfig> CheckConfig::Parse(std::string_view text, std::string_view file_name) {
  CheckConfig config;
  std::size_t number = 0;
  kernel::LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    ++number;
    line = TrimBlanks(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto fault = [&](const std::string& what, std::string remedy) {
      return Error{std::string(file_name) + ":" + std::to_string(number) + ": " + what,
                   std::move(remedy)};
    };
    kernel::WordCursor words(line);
    const std::string_view id = words.Word();
    const Rule* rule = FindRule(id);
    if (rule == nullptr) return fault("no check '" + SafeForTerminal(id) + "'", NearRules(id));
    Thresholds changed = config.Of(*rule);
    std::string_view word = words.Word();
    if (word.empty())
      return fault("nothing is said about " + std::string(id),
                   "write off, warning=N or critical=N");
    for (; !word.empty(); word = words.Word()) {
      if (word == "off") {
        config.off_.emplace(id);
        continue;
      }
      const auto equals = word.find('=');
      const std::string_view name = word.substr(0, equals);
      const std::string_view value =
          equals == word.npos ? std::string_view() : word.substr(equals + 1);
      const auto parsed = value == "none" ? std::optional<double>() : ParseNumber(value);
      if ((name != "warning" && name != "critical") || (!parsed && value != "none")) {
        return fault("'" + SafeForTerminal(word) + "' is not understood",
                     "write off, warning=N or critical=N");
      }
      (name == "warning" ? changed.warning_at : changed.critical_at) = parsed;
      changed.source = file_name;
      config.changed_[std::string(id)] = changed;
    }
  }
  return config;
}

Thresholds CheckConfig::Of(const Rule& rule) const {
  if (const auto at = changed_.find(rule.id); at != changed_.end()) return at->second;
  return {rule.warning_at, rule.critical_at, std::string(rule.source)};
}

Result<std::vector<const Rule*>> SelectRules(std::string_view only) {
  std::vector<const Rule*> chosen;
  if (only.empty()) {
    for (const Rule& rule : Rules()) chosen.push_back(&rule);
    return chosen;
  }
  for (const std::string_view part : Split(only, ',')) {
    const std::string_view name = TrimBlanks(part);
    bool found = false;
    for (const Rule& rule : Rules()) {
      // A group of ids, too: "tasks" are tasks.dstate and its like.
      const bool in_group =
          rule.id.starts_with(name) && rule.id.substr(name.size()).starts_with('.');
      if (rule.id != name && rule.resource != name && !in_group) continue;
      found = true;
      bool already = false;
      for (const Rule* known : chosen) already = already || known == &rule;
      if (!already) chosen.push_back(&rule);
    }
    if (!found)
      return Error{"no check or resource '" + SafeForTerminal(name) + "'", NearRules(name)};
  }
  return chosen;
}

}  // namespace culprit::health
