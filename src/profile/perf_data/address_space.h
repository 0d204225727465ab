// AddressSpaces: what was mapped where, in the kernel and in each process, as the records tell it:
// from an address to a module and an offset in its file. Opens no files and knows no symbols.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/profile.h"

namespace culprit::profile::perf_data {

using ModuleId = std::uint32_t;  // 0: no module known

struct Module {
  std::string path;      // "/usr/bin/python3", "[vdso]", "[kernel.kallsyms]", "/tmp/perf-12.map"
  std::string build_id;  // hexadecimal; empty: not recorded
  bool is_kernel = false;
  std::string symbol;                  // of one that is a single function (BPF program): its name
  std::uint64_t kernel_reference = 0;  // where the recorded kernel had _text or _stext
  std::string kernel_reference_name;
};

struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;  // of begin
  ModuleId module = 0;
};

// Mappings that do not overlap, by address: a new one cuts what it covers.
class MappingTable {
 public:
  void Add(const Mapping& mapping);
  const Mapping* Find(std::uint64_t address) const;

 private:
  std::vector<Mapping> mappings_;
};

class AddressSpaces {
 public:
  AddressSpaces();

  struct MmapRecord {
    std::int32_t pid = -1;
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::uint64_t file_offset = 0;
    std::string_view path;
    std::string build_id;
    bool is_kernel = false;
    bool is_executable = true;
  };
  void Map(const MmapRecord& record);
  // A kernel function that came or went at run time (KSYMBOL: BPF programs).
  void MapKernelSymbol(std::uint64_t begin, std::uint64_t size, std::string_view name);
  void Fork(std::int32_t child_pid, std::int32_t parent_pid);

  const Mapping* FindKernel(std::uint64_t address) const { return kernel_.Find(address); }
  const Mapping* FindUser(std::int32_t pid, std::uint64_t address) const;
  // Changes whenever what Find says could change.
  std::uint64_t generation() const { return generation_; }

  const std::vector<Module>& modules() const { return modules_; }
  std::vector<Module>& modules() { return modules_; }

 private:
  ModuleId InternModule(std::string_view path, const std::string& build_id, bool is_kernel);

  std::vector<Module> modules_;
  std::unordered_map<std::string, ModuleId> module_ids_;  // of path and build id
  MappingTable kernel_;
  // Shared until one of them changes: a fork copies nothing.
  std::unordered_map<std::int32_t, std::shared_ptr<MappingTable>> users_;
  std::uint64_t generation_ = 0;
};

}  // namespace culprit::profile::perf_data
