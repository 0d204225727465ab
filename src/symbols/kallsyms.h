// Names of kernel code addresses, from proc/kallsyms below a root path. Functions only, no data
// symbols; addresses of other machines or boots mean nothing here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::symbols {

class KernelSymbols {
 public:
  struct Symbol {
    std::string_view name;
    std::string_view module;   // empty for the kernel itself
    std::uint64_t offset = 0;  // of the address from the symbol's start
  };

  // An Error when the file is missing, or hides its addresses (kptr_restrict); the remedy says how
  // to get them.
  static Result<KernelSymbols> Load(const std::string& root);
  static Result<KernelSymbols> Parse(std::string_view text);

  // The function that `address` is in, as the kernel's own %pS would name it.
  std::optional<Symbol> Find(std::uint64_t address) const;

  // The same with all names of its place, in the order of kallsyms.
  std::vector<Symbol> FindAliases(std::uint64_t address) const;
  // Where the function of that name in the kernel itself begins; looks at all of them.
  std::optional<std::uint64_t> AddressOf(std::string_view name) const;

  std::size_t size() const { return entries_.size(); }
  // Where the kernel's own code begins (_stext); zero when unknown.
  std::uint64_t text_start() const { return text_start_; }

 private:
  class Parser;
  struct Entry {
    std::uint64_t address;
    std::uint32_t name_at;
    std::uint16_t name_length;
    std::uint16_t module_length;  // its text follows the name's
  };

  Symbol SymbolOf(const Entry& entry, std::uint64_t address) const;

  std::vector<Entry> entries_;  // by address
  std::string names_;
  std::uint64_t text_start_ = 0;
};

}  // namespace culprit::symbols
