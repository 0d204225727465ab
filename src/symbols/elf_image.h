// ElfImage: RAII owner of one libelf handle and the plain facts in it: build id, loadable segments,
// function symbols, the compressed .gnu_debugdata. Looks for no other files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

struct Elf;

namespace culprit::symbols {

struct FunctionSymbol {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  // the same as start: the symbol table does not say
  std::string_view name;  // lies in the image, or in its synthesized_names
  std::uint8_t binding = 0;
};

struct LoadSegment {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // in the file
  std::uint64_t address = 0;
};

class ElfImage {
 public:
  static Result<ElfImage> Open(const std::string& path);
  static Result<ElfImage> OfBytes(std::vector<std::byte> bytes, std::string_view name);

  Elf* handle() const { return elf_.get(); }
  const std::string& build_id() const { return build_id_; }
  const std::vector<LoadSegment>& segments() const { return segments_; }

  std::uint16_t machine() const { return machine_; }  // EM_X86_64 ...
  // The bytes that the file has for an address; fewer or none where no segment holds them.
  std::span<const std::byte> CodeAt(std::uint64_t address, std::size_t size) const;

  bool has_symtab() const { return has_symtab_; }
  bool HasSection(std::string_view name) const;
  // Adds the functions of .symtab (or of .dynsym), and of .plt as "name@plt".
  void AddSymbols(bool dynamic, std::vector<FunctionSymbol>& symbols) const;
  void AddPltSymbols(std::vector<FunctionSymbol>& symbols);
  // The ELF file in .gnu_debugdata ("mini debug info"), decompressed; empty when there is none.
  std::vector<std::byte> MiniDebugInfo() const;

 private:
  struct End {
    void operator()(Elf* elf) const;
  };
  Status ReadFacts(std::string_view name);

  UniqueFd fd_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<Elf, End> elf_;
  std::string build_id_;
  std::vector<LoadSegment> segments_;
  std::vector<std::unique_ptr<std::string>> synthesized_names_;
  std::span<const std::byte> image_;
  std::uint16_t machine_ = 0;
  bool has_symtab_ = false;
};

}  // namespace culprit::symbols
