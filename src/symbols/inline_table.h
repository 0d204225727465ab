// InlineTable: which functions are inlined at an address, from the DWARF of one ELF file (libdw).
// Reads a compilation unit when an address in it is first asked for, and of it only the functions
// that addresses lie in.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "symbols/elf_symbols.h"

struct Elf;

namespace culprit::symbols {

class InlineTable {
 public:
  // Nothing when the file has no DWARF; `elf` outlives the table.
  static std::unique_ptr<InlineTable> Open(Elf* elf);
  ~InlineTable();

  std::vector<SymbolFile::InlinedFrame> Find(std::uint64_t address);

 private:
  struct State;
  explicit InlineTable(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace culprit::symbols
