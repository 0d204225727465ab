#include "profile/perf_data/address_space.h"

#include <fmt/format.h>

#include <algorithm>

namespace culprit::profile::perf_data {
namespace {

// Memory without a file, in which code is made at run time; its names are in perf-PID.map.
bool IsAnonymous(std::string_view path) {
  return path.empty() || path == "//anon" || path.starts_with("/dev/zero") ||
         path.starts_with("/anon_hugepage") || path.starts_with("[heap]") ||
         path.starts_with("[stack") || path.starts_with("/SYSV") || path.starts_with("[anon:");
}

// "[ext4]" of ".../kernel/fs/ext4/ext4.ko.xz": the name under which kallsyms has its functions.
std::string KernelModuleName(std::string_view path) {
  std::string_view base = path.substr(path.rfind('/') + 1);
  const std::size_t suffix = base.find(".ko");
  if (suffix == std::string_view::npos) return std::string(path);
  std::string name(base.substr(0, suffix));
  std::ranges::replace(name, '-', '_');
  return "[" + name + "]";
}

}  // namespace

void MappingTable::Add(const Mapping& mapping) {
  if (mapping.begin >= mapping.end) return;
  const auto begins_before = [](const Mapping& a, std::uint64_t address) {
    return a.begin < address;
  };
  auto at = std::lower_bound(mappings_.begin(), mappings_.end(), mapping.begin, begins_before);
  if (at != mappings_.begin() && std::prev(at)->end > mapping.begin) {
    Mapping& before = *std::prev(at);
    const Mapping old = before;
    before.end = mapping.begin;
    if (old.end > mapping.end) {  // in the middle of it: the rest stays behind
      Mapping rest = old;
      rest.begin = mapping.end;
      rest.file_offset += rest.begin - old.begin;
      at = mappings_.insert(at, rest);
    }
  }
  auto last = at;
  while (last != mappings_.end() && last->end <= mapping.end) ++last;
  if (last != mappings_.end() && last->begin < mapping.end) {
    last->file_offset += mapping.end - last->begin;
    last->begin = mapping.end;
  }
  at = mappings_.erase(at, last);
  mappings_.insert(at, mapping);
}

const Mapping* MappingTable::Find(std::uint64_t address) const {
  auto after = std::upper_bound(
      mappings_.begin(), mappings_.end(), address,
      [](std::uint64_t wanted, const Mapping& mapping) { return wanted < mapping.begin; });
  if (after == mappings_.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

AddressSpaces::AddressSpaces() { modules_.emplace_back(); }

ModuleId AddressSpaces::InternModule(std::string_view path, const std::string& build_id,
                                     bool is_kernel) {
  std::string key(path);
  key += '\0';
  key += build_id;
  const auto [entry, added] =
      module_ids_.try_emplace(std::move(key), static_cast<ModuleId>(modules_.size()));
  if (added) {
    Module module;
    module.path = path;
    module.build_id = build_id;
    module.is_kernel = is_kernel;
    modules_.push_back(std::move(module));
  }
  return entry->second;
}

void AddressSpaces::Map(const MmapRecord& record) {
  if (record.size == 0 || record.begin + record.size < record.begin) return;
  Mapping mapping{record.begin, record.begin + record.size, record.file_offset, 0};
  ++generation_;
  if (record.is_kernel) {
    // "[kernel.kallsyms]_text": the kernel itself; its "offset" is the address of that symbol.
    const std::size_t bracket = record.path.find(']');
    const bool is_core = record.path.starts_with("[kernel") || record.path.starts_with("[guest");
    if (is_core && bracket != std::string_view::npos) {
      mapping.module = InternModule(record.path.substr(0, bracket + 1), record.build_id, true);
      Module& module = modules_[mapping.module];
      module.kernel_reference = record.file_offset;
      module.kernel_reference_name = record.path.substr(bracket + 1);
      mapping.file_offset = 0;
    } else {
      mapping.module = InternModule(KernelModuleName(record.path), record.build_id, true);
      mapping.file_offset = 0;
    }
    kernel_.Add(mapping);
    return;
  }
  if (IsAnonymous(record.path) && record.is_executable) {
    mapping.module = InternModule(fmt::format("/tmp/perf-{}.map", record.pid), "", false);
    mapping.file_offset = record.begin;  // the map file names addresses
  } else {
    mapping.module = InternModule(record.path, record.build_id, false);
  }
  auto& table = users_[record.pid];
  if (table == nullptr) {
    table = std::make_shared<MappingTable>();
  } else if (table.use_count() > 1) {
    table = std::make_shared<MappingTable>(*table);
  }
  table->Add(mapping);
}

void AddressSpaces::MapKernelSymbol(std::uint64_t begin, std::uint64_t size,
                                    std::string_view name) {
  if (size == 0 || begin + size < begin) return;
  ++generation_;
  const ModuleId module = InternModule(name, "", true);
  modules_[module].symbol = name;
  kernel_.Add({begin, begin + size, 0, module});
}

void AddressSpaces::Fork(std::int32_t child_pid, std::int32_t parent_pid) {
  if (child_pid == parent_pid) return;
  const auto parent = users_.find(parent_pid);
  ++generation_;
  if (parent == users_.end()) {
    users_.erase(child_pid);
    return;
  }
  const auto table = parent->second;
  users_[child_pid] = table;
}

const Mapping* AddressSpaces::FindUser(std::int32_t pid, std::uint64_t address) const {
  const auto table = users_.find(pid);
  return table == users_.end() ? nullptr : table->second->Find(address);
}

}  // namespace culprit::profile::perf_data
