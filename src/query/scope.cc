#include "query/scope.h"

#include <algorithm>
#include <array>

#include "query/token.h"

namespace culprit::query {

Type TypeOfName(std::string_view duckdb_type) {
  struct Name {
    std::string_view name;
    Type type;
  };
  static constexpr std::array kNames = {
      Name{"BIGINT", Type::kBigint},    Name{"INTEGER", Type::kNarrow},
      Name{"UINTEGER", Type::kNarrow},  Name{"SMALLINT", Type::kNarrow},
      Name{"USMALLINT", Type::kNarrow}, Name{"TINYINT", Type::kNarrow},
      Name{"UTINYINT", Type::kNarrow},  Name{"UBIGINT", Type::kWide},
      Name{"HUGEINT", Type::kWide},     Name{"UHUGEINT", Type::kWide},
      Name{"DOUBLE", Type::kReal},      Name{"FLOAT", Type::kReal},
      Name{"VARCHAR", Type::kText},     Name{"BOOLEAN", Type::kBool},
      Name{"BLOB", Type::kBlob},        Name{"NULL", Type::kNull},
      Name{"\"NULL\"", Type::kNull}};
  const auto it = std::find_if(kNames.begin(), kNames.end(),
                               [&](const Name& entry) { return entry.name == duckdb_type; });
  if (it != kNames.end()) return it->type;
  if (duckdb_type.ends_with("]")) return Type::kOther;
  if (duckdb_type.starts_with("ENUM")) return Type::kEnum;
  if (duckdb_type.starts_with("DECIMAL")) return Type::kReal;
  return Type::kOther;
}

Type CommonType(Type a, Type b) {
  if (a == b || b == Type::kNull) return a;
  if (a == Type::kNull) return b;
  if (a == Type::kUnknown || b == Type::kUnknown) return Type::kUnknown;
  if (IsText(a) || IsText(b)) return Type::kText;
  if (a == Type::kOther || b == Type::kOther) return Type::kOther;
  if (a == Type::kReal || b == Type::kReal) return Type::kReal;
  if (a == Type::kWide || b == Type::kWide) return Type::kWide;
  return Type::kBigint;
}

std::optional<Scope::Found> Scope::FindHere(const std::vector<std::string>& path) const {
  if (path.empty() || path.size() > 3) return std::nullopt;
  std::optional<Found> found;
  for (std::size_t r = 0; r < relations.size(); ++r) {
    const Relation& relation = relations[r];
    if (path.size() > 1 && !EqualsIgnoreCase(relation.name, path[path.size() - 2])) continue;
    for (std::size_t c = 0; c < relation.columns.size(); ++c) {
      if (!EqualsIgnoreCase(relation.columns[c].name, path.back())) continue;
      if (found && !IsMerged(path.back())) found->ambiguous = true;
      if (!found) found = Found{this, r, c, false};
      break;
    }
  }
  return found;
}

std::optional<Scope::Found> Scope::Find(const std::vector<std::string>& path) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto found = scope->FindHere(path);
    if (found) return found;
    // A name that this level gives to a result hides what is further out.
    if (path.size() == 1 && scope->FindAlias(path.front()) != nullptr) return std::nullopt;
  }
  return std::nullopt;
}

const Column* Scope::FindAlias(std::string_view name) const {
  const auto it = std::find_if(aliases.begin(), aliases.end(), [&](const Column& column) {
    return EqualsIgnoreCase(column.name, name);
  });
  return it == aliases.end() ? nullptr : &*it;
}

bool Scope::IsMerged(std::string_view name) const {
  return std::any_of(merged.begin(), merged.end(),
                     [&](const std::string& column) { return EqualsIgnoreCase(column, name); });
}

bool Scope::MayHide() const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    if (std::any_of(scope->relations.begin(), scope->relations.end(),
                    [](const Relation& relation) { return relation.opaque; })) {
      return true;
    }
  }
  return false;
}

}  // namespace culprit::query
