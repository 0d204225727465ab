#include "health/tune/sysctl_text.h"

#include <algorithm>

#include "base/text.h"

namespace culprit::tune {
namespace {

void SwapDotsAndSlashes(std::string& text) {
  for (char& c : text) c = c == '.' ? '/' : c == '/' ? '.' : c;
}

// A whole number of a sysctl: up to 64 bits, signed or not, compared by sign and size.
struct Whole {
  bool negative = false;
  std::uint64_t size = 0;
  friend bool operator==(const Whole&, const Whole&) = default;
  friend bool operator<(const Whole& a, const Whole& b) {
    if (a.negative != b.negative) return a.negative;
    return a.negative ? a.size > b.size : a.size < b.size;
  }
};

std::optional<Whole> ParseWhole(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto size = ParseInteger<std::uint64_t>(text);
  if (!size) return std::nullopt;
  return Whole{negative && *size != 0, *size};
}

bool SameWord(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto left = ParseWhole(a);
  const auto right = ParseWhole(b);
  return left && right && *left == *right;
}

}  // namespace

std::optional<std::string> SysctlPath(std::string_view key) {
  std::string path(key);
  const auto first = path.find_first_of("./");
  if (first != path.npos && path[first] == '.') SwapDotsAndSlashes(path);
  if (path.empty() || path.size() > 512) return std::nullopt;
  for (const auto part : Split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return std::nullopt;
  }
  const bool printable = std::ranges::all_of(path, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
  if (!printable) return std::nullopt;
  return path;
}

std::string SysctlKey(std::string_view path) {
  std::string key(path);
  SwapDotsAndSlashes(key);
  return key;
}

bool SameValue(std::string_view a, std::string_view b) {
  return std::ranges::equal(SplitWords(a), SplitWords(b), SameWord);
}

std::string OneLine(std::string_view value) {
  std::string line;
  for (const auto word : SplitWords(value)) {
    if (!line.empty()) line.push_back(' ');
    line.append(word);
  }
  return line;
}

std::string_view RelationText(Relation relation) {
  switch (relation) {
    case Relation::kAtLeast:
      return "at least ";
    case Relation::kAtMost:
      return "at most ";
    case Relation::kEqual:
      break;
  }
  return "";
}

bool Meets(std::string_view current, Relation relation, std::string_view wanted) {
  if (relation == Relation::kEqual) return SameValue(current, wanted);
  const auto have = SplitWords(current);
  const auto want = SplitWords(wanted);
  if (have.empty() || have.size() != want.size()) return false;
  for (std::size_t i = 0; i < have.size(); ++i) {
    const auto left = ParseWhole(have[i]);
    const auto right = ParseWhole(want[i]);
    if (!left || !right) return false;
    if (relation == Relation::kAtLeast ? *left < *right : *right < *left) return false;
  }
  return true;
}

std::string ChosenWord(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == text.npos ? 0 : open);
  if (open == text.npos || close == text.npos) return OneLine(text);
  return std::string(text.substr(open + 1, close - open - 1));
}

}  // namespace culprit::tune
