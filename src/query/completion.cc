#include "query/completion.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"
#include "query/shell_commands.h"
#include "tables/database.h"

namespace culprit::query {
namespace {

constexpr std::string_view kKeywords[] = {
    "ALL",     "AND",         "ANY_VALUE", "AS",       "ASC",      "AVG",        "BETWEEN",
    "BY",      "CASE",        "CAST",      "COALESCE", "COUNT",    "CREATE",     "CROSS",
    "DESC",    "DISTINCT",    "DROP",      "ELSE",     "END",      "EXCEPT",     "EXISTS",
    "EXPLAIN", "EXTRACT_ARG", "FALSE",     "FROM",     "FUNCTION", "GLOB",       "GROUP",
    "HAVING",  "IFNULL",      "IIF",       "IN",       "INCLUDE",  "INNER",      "INTERSECT",
    "IS",      "JOIN",        "LAG",       "LEAD",     "LEFT",     "LIKE",       "LIMIT",
    "MACRO",   "MAX",         "MIN",       "MODULE",   "NOT",      "NULL",       "OFFSET",
    "ON",      "OR",          "ORDER",     "OUTER",    "OVER",     "PARTITION",  "PERFETTO",
    "PRINTF",  "RECURSIVE",   "REPLACE",   "RIGHT",    "ROUND",    "ROW_NUMBER", "SELECT",
    "SUBSTR",  "SUM",         "TABLE",     "THEN",     "TRUE",     "UNION",      "USING",
    "VALUES",  "VIEW",        "WHEN",      "WHERE",    "WITH"};

bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

char Lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

std::string Lowered(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char a, char b) { return Lower(a) == Lower(b); });
}

// Words and the punctuation between, without the insides of strings.
std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (IsWord(text[i])) {
      while (i < text.size() && IsWord(text[i])) ++i;
      words.push_back(text.substr(begin, i - begin));
    } else if (text[i] == '\'') {
      i = std::min(text.find('\'', i + 1), text.size() - 1) + 1;
    } else {
      if (std::isspace(static_cast<unsigned char>(text[i])) == 0) {
        words.push_back(text.substr(i, 1));
      }
      ++i;
    }
  }
  return words;
}

bool IsKeyword(std::string_view word) {
  const auto is_it = [word](std::string_view keyword) {
    return keyword.size() == word.size() && StartsWith(keyword, word);
  };
  return std::any_of(std::begin(kKeywords), std::end(kKeywords), is_it);
}

}  // namespace

std::string_view LastWord(std::string_view before) {
  std::size_t begin = before.size();
  while (begin > 0 && IsWord(before[begin - 1])) --begin;
  return before.substr(begin);
}

Result<Completion> Completion::Read(tables::Connection& connection) {
  CULPRIT_ASSIGN(auto rows,
                 connection.Query("SELECT DISTINCT table_name, column_name, column_index FROM "
                                  "duckdb_columns() WHERE NOT internal AND table_name NOT LIKE "
                                  "'\\_\\_%' ESCAPE '\\' ORDER BY table_name, column_index"));
  Completion completion;
  for (;;) {
    CULPRIT_ASSIGN(const bool more, rows.Next());
    if (!more) return completion;
    for (std::size_t row = 0; row < rows.chunk_rows(); ++row) {
      if (completion.tables_.empty() || completion.tables_.back().name != rows.Text(0, row)) {
        completion.tables_.push_back({std::string(rows.Text(0, row)), {}});
      }
      completion.tables_.back().columns.emplace_back(rows.Text(1, row));
    }
  }
}

const Completion::Table* Completion::Find(std::string_view name) const {
  const std::string wanted = Lowered(name);
  for (const Table& table : tables_) {
    if (Lowered(table.name) == wanted) return &table;
  }
  return nullptr;
}

std::vector<std::pair<std::string, const Completion::Table*>> Completion::Mentioned(
    std::string_view statement) const {
  std::vector<std::pair<std::string, const Table*>> mentioned;
  const auto words = Words(statement);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string before = Lowered(words[i - 1]);
    if (before != "from" && before != "join" && before != ",") continue;
    const Table* table = Find(words[i]);
    if (table == nullptr) continue;
    std::size_t alias = i + 1;
    if (alias < words.size() && Lowered(words[alias]) == "as") ++alias;
    const bool has_alias = alias < words.size() &&
                           std::isalpha(static_cast<unsigned char>(words[alias][0])) != 0 &&
                           !IsKeyword(words[alias]);
    mentioned.emplace_back(has_alias ? Lowered(words[alias]) : Lowered(table->name), table);
  }
  return mentioned;
}

std::vector<std::string> Completion::Candidates(std::string_view before,
                                                std::string_view after) const {
  const std::string_view word = LastWord(before);
  std::set<std::string> found;
  const auto offer = [&](std::string_view candidate, std::string_view prefix) {
    if (StartsWith(candidate, prefix)) found.emplace(candidate);
  };
  const auto offer_tables = [&] {
    for (const Table& table : tables_) offer(table.name, word);
  };

  const std::string_view line = TrimBlanks(before);
  if (line.starts_with('.')) {
    const bool is_argument = word.empty() || word.data() != line.data();
    if (is_argument && line.starts_with(".schema")) {
      offer_tables();
    } else if (!is_argument) {
      for (const ShellCommand& command : ShellCommands()) offer(command.name, word);
    }
    return {found.begin(), found.end()};
  }

  const auto words = Words(before.substr(0, before.size() - word.size()));
  const std::string previous = words.empty() ? "" : Lowered(words.back());
  if (previous == "from" || previous == "join") {
    offer_tables();
    return {found.begin(), found.end()};
  }
  const auto mentioned = Mentioned(std::string(before) + std::string(after));
  if (const auto dot = word.rfind('.'); dot != std::string_view::npos) {
    const std::string alias = Lowered(word.substr(0, dot));
    for (const auto& [name, table] : mentioned) {
      if (name != alias && Lowered(table->name) != alias) continue;
      for (const auto& column : table->columns) {
        offer(std::string(word.substr(0, dot + 1)) + column, word);
      }
    }
    return {found.begin(), found.end()};
  }
  if (word.empty() && mentioned.empty()) return {};
  for (const auto& [name, table] : mentioned) {
    for (const auto& column : table->columns) offer(column, word);
  }
  if (mentioned.empty()) {
    for (const Table& table : tables_) {
      for (const auto& column : table.columns) offer(column, word);
    }
  }
  if (word.empty()) return {found.begin(), found.end()};
  offer_tables();
  const bool small = std::any_of(
      word.begin(), word.end(), [](char c) { return std::islower(static_cast<unsigned char>(c)); });
  const auto offer_keyword = [&](std::string_view keyword) {
    offer(small ? Lowered(keyword) : std::string(keyword), word);
  };
  for (const auto keyword : kKeywords) offer_keyword(keyword);
  return {found.begin(), found.end()};
}

}  // namespace culprit::query
