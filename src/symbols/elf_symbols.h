// SymbolFile: the functions of one ELF file (program, shared library, debug file, vdso, module) by
// address, from .symtab, a debug file of the same build id, .gnu_debugdata and .dynsym.
// Knows no processes and no mappings: callers turn addresses into offsets in the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::symbols {

struct SymbolFileOptions {
  std::string root = "/";        // where usr/lib/debug is looked for
  bool find_debug_files = true;  // by build id, when the file has no symbols of its own
};

// Not for several threads at once. Names are as they stand in the file: symbols/demangle.h.
class SymbolFile {
 public:
  // An Error when it is no ELF file or cannot be read. A file without symbols is no Error.
  static Result<SymbolFile> Open(const std::string& path, const SymbolFileOptions& options = {});
  // The same of a copy of bytes (a vdso read out of memory, a test).
  static Result<SymbolFile> OfImage(std::span<const std::byte> image);

  SymbolFile(SymbolFile&&) noexcept;
  SymbolFile& operator=(SymbolFile&&) noexcept;
  ~SymbolFile();

  // Lower-case hexadecimal; empty when there is none.
  const std::string& build_id() const;
  // How many functions are known.
  std::size_t symbol_count() const;

  // The address (as the file counts: st_value, DWARF) of what lies at `offset` in the file, by its
  // loadable segments; nothing when no segment holds it.
  std::optional<std::uint64_t> AddressOfOffset(std::uint64_t offset) const;

  struct Symbol {
    std::string_view name;
    std::uint64_t offset = 0;  // of the address from the function's start
  };
  // The function that `address` lies in; nothing where no symbol covers it.
  std::optional<Symbol> Lookup(std::uint64_t address) const;

  // Whether the instruction that ends at `address` is a call, as far as its bytes tell (x86-64,
  // AArch64): a return address has one before it, a function pointer that lies on the stack not.
  bool FollowsCall(std::uint64_t address) const;

  struct InlinedFrame {
    std::string name;  // mangled where DWARF has the linkage name
    std::string file;  // source file and line of the code in this function; empty and 0: unknown
    int line = 0;
  };
  // The functions inlined at `address`, the innermost first, without the function that Lookup
  // names; empty without DWARF. Quickest in ascending order of addresses.
  std::vector<InlinedFrame> Inlined(std::uint64_t address);
  bool has_dwarf();

 private:
  struct State;
  explicit SymbolFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Files that may have the symbols (`debug` true) or the code of this build id: below usr/lib/debug
// of `root`, in perf's ~/.debug and in the caches of debuginfod-find. Only those that are there.
std::vector<std::string> FindByBuildId(std::string_view build_id, bool debug,
                                       const std::string& root = "/");

}  // namespace culprit::symbols
