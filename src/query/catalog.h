// What the database and the session know of tables and functions, for the rewriting of statements.
// Columns are asked for once and kept until something is created or dropped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/scope.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::query {

// A function that SQL of the user or of a module made.
struct UserFunction {
  std::string name;
  std::vector<Column> parameters;
  Type result = Type::kUnknown;  // of a scalar one
  Columns columns;               // of one that returns a table
  bool returns_table = false;
};

class Catalog {
 public:
  explicit Catalog(tables::Connection& connection) : connection_(&connection) {}

  // Columns of a table or view, found as DuckDB finds it; nothing when there is none. `table` is
  // quoted where it must be: "sched", "\"my table\"", "main.sched".
  const Columns* Find(const std::string& table);
  // After a statement that may have changed what there is.
  void Forget() { columns_.clear(); }

  // What the args table holds under a key, by the first row found: kBigint, kReal or kText.
  Type ArgumentType(const std::string& key);
  // After args were loaded.
  void ForgetArguments() { argument_types_.clear(); }

  const UserFunction* FindFunction(std::string_view name) const;
  void AddFunction(UserFunction function);

  // Names that the user made: what is known of the tables of traces does not hold for them.
  void AddUserTable(std::string_view name);
  bool IsUserTable(std::string_view name) const;

 private:
  tables::Connection* connection_;
  std::map<std::string, std::optional<Columns>> columns_;
  std::map<std::string, UserFunction> functions_;  // by lower-case name
  std::map<std::string, Type> argument_types_;
  std::vector<std::string> user_tables_;
};

}  // namespace culprit::query
