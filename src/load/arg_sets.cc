#include "load/arg_sets.h"

#include <bit>

namespace culprit::load {

using tables::ArgType;

std::string FlatKey(std::string_view key) {
  std::string flat;
  bool is_index = false;
  for (const char c : key) {
    if (c == '[') is_index = true;
    if (!is_index) flat += c;
    if (c == ']') is_index = false;
  }
  return flat;
}

void ArgSets::Add(std::uint32_t set, std::string_view key, SliceArgRow row) {
  row.arg_set_id = set;
  row.key = strings_.Intern(key);
  row.flat_key = key.find('[') == std::string_view::npos ? row.key : strings_.Intern(FlatKey(key));
  rows_.Append(row);
}

void ArgSets::Int(std::uint32_t set, std::string_view key, std::int64_t value, ArgType type) {
  if (!is_kept_) return;
  Add(set, key, {.value = value, .type = type});
}

void ArgSets::Real(std::uint32_t set, std::string_view key, double value) {
  if (!is_kept_) return;
  Add(set, key, {.value = std::bit_cast<std::int64_t>(value), .type = ArgType::kReal});
}

void ArgSets::Text(std::uint32_t set, std::string_view key, std::string_view value, ArgType type) {
  if (!is_kept_) return;
  Add(set, key, {.text = strings_.Intern(value), .type = type});
}

void ArgSets::Null(std::uint32_t set, std::string_view key) {
  if (!is_kept_) return;
  Add(set, key, {.type = ArgType::kNull});
}

}  // namespace culprit::load
