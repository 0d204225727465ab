#include "kernel/proc_scan.h"

#include <algorithm>

namespace culprit::kernel {

void ParseNamedValues(std::string_view text, std::vector<NamedValue>& values) {
  values.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    WordCursor words(line);
    std::string_view name = words.Word();
    if (name.size() > 1 && name.ends_with(':')) name.remove_suffix(1);
    const auto value = words.Number();
    if (name.empty() || !value) continue;
    const bool is_kb = words.Word() == "kB";
    // An absurd number of kB must not wrap into a small one.
    constexpr std::uint64_t kMostKb = ~std::uint64_t{0} / 1024;
    if (is_kb && *value > kMostKb) continue;
    values.push_back({name, is_kb ? *value * 1024 : *value});
  }
}

std::optional<std::uint64_t> FindValue(const std::vector<NamedValue>& values,
                                       std::string_view name) {
  const auto at = std::ranges::find(values, name, &NamedValue::name);
  if (at == values.end()) return std::nullopt;
  return at->value;
}

std::optional<std::uint64_t> ParseSingle(std::string_view text) {
  return ParseInteger<std::uint64_t>(TrimBlanks(text));
}

std::optional<std::vector<std::uint32_t>> ParseCpuList(std::string_view text) {
  std::vector<std::uint32_t> list;
  text = TrimBlanks(text);
  while (!text.empty()) {
    const auto comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
    const auto dash = part.find('-');
    const auto first = ParseInteger<std::uint32_t>(part.substr(0, dash));
    const auto last =
        dash == part.npos ? first : ParseInteger<std::uint32_t>(part.substr(dash + 1));
    if (!first || !last || *last < *first || *last - *first >= kMostListed - list.size()) {
      return std::nullopt;
    }
    for (std::uint32_t at = *first;; ++at) {
      list.push_back(at);
      if (at == *last) break;
    }
  }
  return list;
}

}  // namespace culprit::kernel
