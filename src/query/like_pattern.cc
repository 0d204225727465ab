#include "query/like_pattern.h"

#include <algorithm>

namespace culprit::query {

GlobPattern GlobPattern::Of(std::string_view glob) {
  std::string_view middle = glob;
  const bool leading = middle.starts_with('*');
  while (middle.starts_with('*')) middle.remove_prefix(1);
  const bool trailing = middle.ends_with('*') || (middle.empty() && leading);
  while (middle.ends_with('*')) middle.remove_suffix(1);
  if (middle.find_first_of("*?[") == std::string_view::npos) {
    const Kind kind = leading && trailing ? Kind::kContains
                      : leading           ? Kind::kSuffix
                      : trailing          ? Kind::kPrefix
                                          : Kind::kExact;
    return {kind, std::string(middle)};
  }
  std::string text;
  for (std::size_t i = 0; i < glob.size(); ++i) {
    if (glob[i] == '\\') {
      text += "\\\\";  // DuckDB escapes with it, SQLite does not
    } else if (glob[i] == '[' && i + 1 < glob.size() && glob[i + 1] == '^') {
      text += "[!";
      ++i;
    } else {
      text += glob[i];
    }
  }
  return {Kind::kPattern, text};
}

bool HasLetters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           static_cast<unsigned char>(c) >= 0x80;
  });
}

}  // namespace culprit::query
