#include "query/catalog.h"

#include <algorithm>

#include "query/token.h"
#include "tables/database.h"

namespace culprit::query {

const Columns* Catalog::Find(const std::string& table) {
  const auto [it, inserted] = columns_.try_emplace(ToLower(table));
  if (inserted) {
    auto result = connection_->Query("SELECT * FROM " + table + " LIMIT 0");
    if (result.ok()) {
      Columns columns;
      for (std::size_t i = 0; i < result->column_count(); ++i) {
        columns.push_back({std::string(result->name(i)), TypeOfName(result->TypeName(i))});
      }
      it->second = std::move(columns);
    }
  }
  return it->second ? &*it->second : nullptr;
}

Type Catalog::ArgumentType(const std::string& key) {
  const auto [it, inserted] = argument_types_.try_emplace(key, Type::kText);
  if (!inserted) return it->second;
  const tables::Value parameter = std::string_view(key);
  const auto kind =
      connection_->QueryText("SELECT value_type FROM args WHERE key = ? LIMIT 1", {&parameter, 1});
  if (kind.ok() && (*kind == "int" || *kind == "uint" || *kind == "bool"))
    it->second = Type::kBigint;
  if (kind.ok() && *kind == "real") it->second = Type::kReal;
  return it->second;
}

const UserFunction* Catalog::FindFunction(std::string_view name) const {
  const auto it = functions_.find(ToLower(name));
  return it == functions_.end() ? nullptr : &it->second;
}

void Catalog::AddFunction(UserFunction function) {
  functions_.insert_or_assign(ToLower(function.name), std::move(function));
}

void Catalog::AddUserTable(std::string_view name) {
  if (!IsUserTable(name)) user_tables_.emplace_back(name);
}

bool Catalog::IsUserTable(std::string_view name) const {
  return std::any_of(user_tables_.begin(), user_tables_.end(),
                     [&](const std::string& table) { return EqualsIgnoreCase(table, name); });
}

}  // namespace culprit::query
