#include "health/tune/drop_in.h"

#include <algorithm>

#include "base/text.h"
#include "health/tune/sysctl_files.h"

namespace culprit::tune {
namespace {

constexpr std::string_view kHead[] = {
    "# Written by 'culprit tune apply'; undone by 'culprit tune rollback'.",
    "# tune owns the keys that its journal (/var/lib/culprit/tune.json) names and no other line "
    "here.",
};

bool IsHead(std::string_view line) { return std::ranges::find(kHead, line) != std::end(kHead); }

}  // namespace

DropIn::DropIn(Place place, std::string_view text) : place_(place) {
  for (const auto line : SplitLines(text)) {
    if (!IsHead(line)) lines_.push_back(Parse(line));
  }
}

DropIn::Line DropIn::Parse(std::string_view text) const {
  Line line{std::string(text), "", ""};
  if (place_ == Place::kSysctl) {
    const auto parsed = ParseSysctlConfig(text, "");
    if (parsed.size() == 1 && parsed.front().value && !parsed.front().is_pattern) {
      line.name = parsed.front().path;
      line.value = *parsed.front().value;
    }
  } else {
    const auto words = SplitWords(text);
    if (words.size() >= 7 && words[0] == "w") {
      line.name = std::string(words[1]);
      line.value = std::string(words[6]);
    }
  }
  return line;
}

std::optional<std::string> DropIn::Get(std::string_view name) const {
  const auto last = std::ranges::find(lines_.rbegin(), lines_.rend(), name, &Line::name);
  if (last == lines_.rend()) return std::nullopt;
  return last->value;
}

void DropIn::Set(std::string_view name, std::optional<std::string_view> value) {
  const auto same = [name](const Line& line) { return line.name == name; };
  if (!value) {
    std::erase_if(lines_, same);
    return;
  }
  std::string text = place_ == Place::kSysctl
                         ? SysctlKey(name) + " = " + std::string(*value)
                         : "w " + std::string(name) + " - - - - " + std::string(*value);
  Line line{std::move(text), std::string(name), std::string(*value)};
  const auto first = std::ranges::find_if(lines_, same);
  if (first == lines_.end()) {
    lines_.push_back(std::move(line));
    return;
  }
  *first = std::move(line);
  lines_.erase(std::remove_if(first + 1, lines_.end(), same), lines_.end());
}

bool DropIn::empty() const {
  return std::ranges::all_of(lines_,
                             [](const Line& line) { return TrimBlanks(line.text).empty(); });
}

std::string DropIn::Text() const {
  std::string text;
  for (const auto line : kHead) text.append(line).push_back('\n');
  for (const Line& line : lines_) text.append(line.text).push_back('\n');
  return text;
}

}  // namespace culprit::tune
