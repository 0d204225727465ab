#include "tracefile/sys_stats_table.h"

#include <span>
#include <unordered_map>

namespace culprit::tracefile {
namespace {

using KeyMap = std::unordered_map<std::string_view, std::uint32_t>;

KeyMap Invert(std::span<const std::string_view> names) {
  KeyMap keys;
  for (std::uint32_t key = 1; key < names.size(); ++key) keys.emplace(names[key], key);
  return keys;
}

std::optional<std::uint32_t> Find(const KeyMap& keys, std::string_view name) {
  const auto found = keys.find(name);
  if (found == keys.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<std::uint32_t> MeminfoKey(std::string_view name) {
  static const KeyMap keys = Invert(kMeminfoNames);
  return Find(keys, name);
}

std::optional<std::uint32_t> VmstatKey(std::string_view name) {
  static const KeyMap keys = Invert(kVmstatNames);
  return Find(keys, name);
}

}  // namespace culprit::tracefile
