// PerfettoSQL's macros: name!(arguments) becomes the tokens of the macro's body, before anything
// else looks at the statement. Defines and expands them; parsing CREATE MACRO is perfetto_sql.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "query/token.h"
#include "tables/database.h"

namespace culprit::query {

struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  Tokens body;
};

class MacroTable {
 public:
  // False when there is one of this name and `replace` does not allow another.
  bool Define(Macro macro, bool replace);

  // Replaces the macros of `tokens`; what comes from a body has the place of the call. The error's
  // offset is one of the user's SQL.
  std::optional<tables::SqlError> Expand(Tokens& tokens) const;

 private:
  std::optional<tables::SqlError> ExpandAll(const Tokens& in, Tokens& out, int depth) const;

  std::map<std::string, Macro> macros_;  // by lower-case name
};

}  // namespace culprit::query
