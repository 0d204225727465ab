// Patterns of SQLite's GLOB and LIKE, and what DuckDB does quicker for most of them.
#pragma once

#include <string>
#include <string_view>

namespace culprit::query {

struct GlobPattern {
  enum class Kind {
    kExact,     // is `text`
    kPrefix,    // begins with it
    kSuffix,    // ends with it
    kContains,  // holds it
    kPattern,   // matches it, as DuckDB's GLOB writes patterns
  };
  Kind kind = Kind::kPattern;
  std::string text;

  // `glob` is a pattern as SQLite writes it: * ? [abc] [^abc]; there is no escape character.
  static GlobPattern Of(std::string_view glob);
};

bool HasLetters(std::string_view text);

}  // namespace culprit::query
