#include "symbols/elf_image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <lzma.h>

#include <algorithm>

namespace culprit::symbols {
namespace {

// Mini debug info of real programs is some MB; what claims more is not believed.
constexpr std::size_t kLargestMiniDebugInfo = std::size_t{256} << 20;
constexpr std::uint64_t kPltEntryBytes = 16;  // x86 and AArch64; s390x and others differ

std::string Hexadecimal(const unsigned char* bytes, std::size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

struct Section {
  Elf_Scn* handle = nullptr;
  GElf_Shdr header{};
};

template <class Visit>  // bool(const Section&): true ends the search
bool FindSection(Elf* elf, Visit visit) {
  for (Elf_Scn* scn = elf_nextscn(elf, nullptr); scn != nullptr; scn = elf_nextscn(elf, scn)) {
    Section section{scn, {}};
    if (gelf_getshdr(scn, &section.header) != nullptr && visit(section)) return true;
  }
  return false;
}

std::string_view SectionName(Elf* elf, const Section& section) {
  std::size_t table = 0;
  if (elf_getshdrstrndx(elf, &table) != 0) return {};
  const char* name = elf_strptr(elf, table, section.header.sh_name);
  return name == nullptr ? std::string_view{} : std::string_view(name);
}

Section NamedSection(Elf* elf, std::string_view name) {
  Section found;
  FindSection(elf, [&](const Section& section) {
    if (SectionName(elf, section) != name) return false;
    found = section;
    return true;
  });
  return found;
}

bool IsFunction(const GElf_Sym& symbol, std::string_view name, bool is_code) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || name.empty()) return false;
  switch (GELF_ST_TYPE(symbol.st_info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
      return true;
    case STT_NOTYPE:  // labels of assembler code; "$x" and ".L" are the assembler's own
      return is_code && symbol.st_shndx != SHN_ABS && name[0] != '$' && !name.starts_with(".L");
    default:
      return false;
  }
}

}  // namespace

void ElfImage::End::operator()(Elf* elf) const { elf_end(elf); }

Status ElfImage::ReadFacts(std::string_view name) {
  if (elf_ == nullptr || elf_kind(elf_.get()) != ELF_K_ELF) {
    return Error{std::string(name) + " is not an ELF file", ""};
  }
  std::size_t size = 0;
  const char* raw = elf_rawfile(elf_.get(), &size);
  if (raw != nullptr) image_ = {reinterpret_cast<const std::byte*>(raw), size};
  GElf_Ehdr header_of_file;
  if (gelf_getehdr(elf_.get(), &header_of_file) != nullptr) machine_ = header_of_file.e_machine;
  const void* id = nullptr;
  const auto id_size = dwelf_elf_gnu_build_id(elf_.get(), &id);
  if (id_size > 0) {
    build_id_ =
        Hexadecimal(static_cast<const unsigned char*>(id), static_cast<std::size_t>(id_size));
  }
  std::size_t count = 0;
  if (elf_getphdrnum(elf_.get(), &count) != 0) count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_.get(), static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD) continue;
    segments_.push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
  has_symtab_ = FindSection(elf_.get(), [](const Section& section) {
    return section.header.sh_type == SHT_SYMTAB && section.header.sh_size > 0;
  });
  return {};
}

// libelf writes into what it reads (headers of sections that it decompresses), so it gets a private
// mapping, or bytes of our own.
Result<ElfImage> ElfImage::Open(const std::string& path) {
  ElfImage image;
  CULPRIT_ASSIGN(image.fd_, OpenFile(path, O_RDONLY));
  static_cast<void>(elf_version(EV_CURRENT));
  image.elf_.reset(elf_begin(image.fd_.get(), ELF_C_READ_MMAP_PRIVATE, nullptr));
  CULPRIT_TRY(image.ReadFacts(path));
  return image;
}

Result<ElfImage> ElfImage::OfBytes(std::vector<std::byte> bytes, std::string_view name) {
  ElfImage image;
  image.bytes_ = std::move(bytes);
  static_cast<void>(elf_version(EV_CURRENT));
  if (image.bytes_.size() >= EI_NIDENT) {
    image.elf_.reset(elf_memory(reinterpret_cast<char*>(image.bytes_.data()), image.bytes_.size()));
  }
  CULPRIT_TRY(image.ReadFacts(name));
  return image;
}

std::span<const std::byte> ElfImage::CodeAt(std::uint64_t address, std::size_t size) const {
  for (const LoadSegment& segment : segments_) {
    if (address < segment.address || address - segment.address >= segment.size) continue;
    const std::uint64_t into = address - segment.address;
    if (segment.offset > image_.size() || into >= image_.size() - segment.offset) return {};
    const auto rest = image_.subspan(segment.offset + into);
    return rest.first(std::min<std::uint64_t>({size, segment.size - into, rest.size()}));
  }
  return {};
}

bool ElfImage::HasSection(std::string_view name) const {
  return NamedSection(elf_.get(), name).handle != nullptr;
}

void ElfImage::AddSymbols(bool dynamic, std::vector<FunctionSymbol>& symbols) const {
  const GElf_Word wanted = dynamic ? SHT_DYNSYM : SHT_SYMTAB;
  std::vector<bool> code;  // by section: are there instructions in it
  FindSection(elf_.get(), [&](const Section& section) {
    const std::size_t index = elf_ndxscn(section.handle);
    if (code.size() <= index) code.resize(index + 1);
    code[index] = (section.header.sh_flags & SHF_EXECINSTR) != 0;
    return false;
  });
  FindSection(elf_.get(), [&](const Section& section) {
    if (section.header.sh_type != wanted || section.header.sh_entsize == 0) return false;
    Elf_Data* data = elf_getdata(section.handle, nullptr);
    if (data == nullptr) return false;
    const std::size_t count = data->d_size / section.header.sh_entsize;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
      const char* text = elf_strptr(elf_.get(), section.header.sh_link, symbol.st_name);
      if (text == nullptr) continue;
      const std::string_view name(text);
      const bool is_code = symbol.st_shndx < code.size() && code[symbol.st_shndx];
      if (!IsFunction(symbol, name, is_code)) continue;
      const std::uint64_t end = symbol.st_value + symbol.st_size;
      if (end < symbol.st_value) continue;
      symbols.push_back(
          {symbol.st_value, end, name, static_cast<std::uint8_t>(GELF_ST_BIND(symbol.st_info))});
    }
    return true;
  });
}

// Each relocation of .rela.plt belongs to one entry of .plt.sec, or of .plt behind its first one.
void ElfImage::AddPltSymbols(std::vector<FunctionSymbol>& symbols) {
  Section relocations = NamedSection(elf_.get(), ".rela.plt");
  Section plt = NamedSection(elf_.get(), ".plt.sec");
  std::uint64_t first = 0;
  if (plt.handle == nullptr) {
    plt = NamedSection(elf_.get(), ".plt");
    first = 1;
  }
  if (plt.handle == nullptr || relocations.handle == nullptr) return;
  if (relocations.header.sh_entsize == 0) return;
  GElf_Shdr symbol_table;
  Elf_Scn* symbol_section = elf_getscn(elf_.get(), relocations.header.sh_link);
  if (symbol_section == nullptr || gelf_getshdr(symbol_section, &symbol_table) == nullptr) return;
  Elf_Data* data = elf_getdata(relocations.handle, nullptr);
  Elf_Data* symbol_data = elf_getdata(symbol_section, nullptr);
  if (data == nullptr || symbol_data == nullptr) return;
  const std::size_t count = data->d_size / relocations.header.sh_entsize;
  const std::uint64_t entries = plt.header.sh_size / kPltEntryBytes;
  for (std::size_t i = 0; i < count && first + i < entries; ++i) {
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (gelf_getrela(data, static_cast<int>(i), &relocation) == nullptr) return;
    const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
    if (index == 0 || gelf_getsym(symbol_data, index, &symbol) == nullptr) continue;
    const char* text = elf_strptr(elf_.get(), symbol_table.sh_link, symbol.st_name);
    if (text == nullptr || *text == '\0') continue;
    synthesized_names_.push_back(std::make_unique<std::string>(std::string(text) + "@plt"));
    const std::uint64_t start = plt.header.sh_addr + (first + i) * kPltEntryBytes;
    symbols.push_back({start, start + kPltEntryBytes, *synthesized_names_.back(), STB_LOCAL});
  }
}

std::vector<std::byte> ElfImage::MiniDebugInfo() const {
  const Section section = NamedSection(elf_.get(), ".gnu_debugdata");
  Elf_Data* data = section.handle == nullptr ? nullptr : elf_rawdata(section.handle, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kLargestMiniDebugInfo, 0) != LZMA_OK) return {};
  std::vector<std::byte> out(std::max<std::size_t>(data->d_size * 4, 4096));
  stream.next_in = static_cast<const std::uint8_t*>(data->d_buf);
  stream.avail_in = data->d_size;
  std::size_t used = 0;
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && used < kLargestMiniDebugInfo) {
    if (used == out.size()) out.resize(out.size() * 2);
    stream.next_out = reinterpret_cast<std::uint8_t*>(out.data()) + used;
    stream.avail_out = out.size() - used;
    result = lzma_code(&stream, LZMA_FINISH);
    used = out.size() - stream.avail_out;
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END) return {};
  out.resize(used);
  return out;
}

}  // namespace culprit::symbols
