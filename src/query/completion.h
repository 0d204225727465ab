// What the shell offers for a word that is being typed: commands, tables, columns, keywords.
// Knows no readline and no terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::query {

class Completion {
 public:
  // Reads the names of tables and columns that there are now.
  static Result<Completion> Read(tables::Connection& connection);

  // `before` is the text from the begin of the statement to the cursor, `after` the rest of the
  // line: the FROM clause often comes behind. Candidates replace the last word of `before`, are
  // sorted and differ; keywords are written as the word is, in capitals or small.
  std::vector<std::string> Candidates(std::string_view before, std::string_view after) const;

 private:
  struct Table {
    std::string name;
    std::vector<std::string> columns;
  };
  const Table* Find(std::string_view name) const;
  // The tables that the statement names, each with its alias.
  std::vector<std::pair<std::string, const Table*>> Mentioned(std::string_view statement) const;

  std::vector<Table> tables_;
};

// The word before the cursor: letters, digits, _, . and a leading dot.
std::string_view LastWord(std::string_view before);

}  // namespace culprit::query
