#include "symbols/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace culprit::symbols {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }  // NOLINT(cppcoreguidelines-no-malloc)
};

// Longer ones are made by fuzzers: the demangler's time and memory can grow faster than its input.
constexpr std::size_t kLongestSymbol = 16 * 1024;

bool LooksMangled(std::string_view symbol) {
  return symbol.starts_with("_Z") || symbol.starts_with("_R") || symbol.starts_with("__Z") ||
         symbol.starts_with("_D");
}

// Where the group that opens at `begin` closes; npos when it does not.
std::size_t ClosingParenthesis(std::string_view name, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < name.size(); ++at) {
    if (name[at] == '(') ++depth;
    if (name[at] == ')' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

// Whether the "(" at `at` is part of a name and no parameter list.
bool BelongsToName(std::string_view name, std::size_t at) {
  const std::string_view before = name.substr(0, at);
  const std::string_view rest = name.substr(at);
  if (at == 0 || rest.starts_with("(anonymous namespace)")) return true;
  if (before.ends_with("operator") && rest.starts_with("()")) return true;
  return before.ends_with(".");  // Go: net/http.(*Client).Do
}

// What may follow a parameter list and says nothing in a profile: "const", "&", "[clone .isra.0]".
bool IsQualifier(std::string_view rest) {
  return rest.empty() || rest.starts_with(" const") || rest.starts_with(" volatile") ||
         rest.starts_with(" &") || rest.starts_with(" noexcept") || rest.starts_with(" [clone") ||
         rest.starts_with(" [abi:");
}

}  // namespace

std::string Demangle(std::string_view symbol, NameStyle style) {
  if (LooksMangled(symbol)) {  // "_Znwm@@GLIBCXX_3.4": the version is no part of the mangling
    const std::size_t version = std::min(symbol.find('@'), symbol.size());
    constexpr std::string_view kPlt = "@plt";
    if (symbol.substr(version) == kPlt) {
      return Demangle(symbol.substr(0, version), style) + std::string(kPlt);
    }
    symbol = symbol.substr(0, version);
  }
  if (!LooksMangled(symbol) || symbol.size() > kLongestSymbol) return std::string(symbol);
  const std::string text(symbol);
  const int options =
      DMGL_AUTO | (style == NameStyle::kFull ? DMGL_PARAMS | DMGL_ANSI : DMGL_NO_OPTS);
  const std::unique_ptr<char, Free> name(::cplus_demangle(text.c_str(), options));
  return name == nullptr ? text : std::string(name.get());
}

std::string ShortName(std::string_view name) {
  if (name.find('(') == std::string_view::npos) return std::string(name);
  std::string out;
  std::size_t angles = 0;
  std::size_t braces = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    // "operator<", "operator->" and "->" open and close nothing.
    const bool is_operator = std::string_view(out).ends_with("operator") ||
                             std::string_view(out).ends_with("operator<") ||
                             (c == '>' && (out.ends_with('-') || out.ends_with('=')));
    if (c == '<' && !is_operator) ++angles;
    if (c == '>' && !is_operator && angles > 0) --angles;
    if (c == '{') ++braces;
    if (c == '}' && braces > 0) --braces;
    if (c != '(' || angles > 0 || braces > 0) {
      out += c;
      continue;
    }
    const std::size_t close = ClosingParenthesis(name, at);
    if (close == std::string_view::npos) break;  // a name that was cut off within its parameters
    if (BelongsToName(name, at)) {
      out += name.substr(at, close - at + 1);
    } else if (IsQualifier(name.substr(close + 1))) {
      break;
    }
    at = close;
  }
  return out.empty() ? std::string(name) : out;
}

}  // namespace culprit::symbols
