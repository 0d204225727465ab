// ELF and DWARF: symbols, segments, mini debug info, inlined functions of any bytes.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "symbols/demangle.h"
#include "symbols/elf_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culprit::symbols;
  auto file = SymbolFile::OfImage({reinterpret_cast<const std::byte*>(data), size});
  if (!file.ok()) return 0;
  for (std::uint64_t offset = 0; offset < size; offset += 1 + size / 64) {
    const auto address = file->AddressOfOffset(offset).value_or(offset);
    if (const auto symbol = file->Lookup(address)) {
      static_cast<void>(ShortName(Demangle(symbol->name)));
    }
    static_cast<void>(file->FollowsCall(address));
    for (const auto& inlined : file->Inlined(address)) static_cast<void>(Demangle(inlined.name));
  }
  return 0;
}
