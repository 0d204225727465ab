#include "symbols/inline_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <optional>

namespace culprit::symbols {
namespace {

// Real code nests a few dozen levels; what goes deeper is no compiler's output.
constexpr int kDeepestNesting = 256;

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t index = 0;
};

// Calls visit(begin, end) for each stretch of code of a DIE.
template <class Visit>
void ForEachRange(Dwarf_Die* die, Visit visit) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;) {
    if (begin < end) visit(begin, end);
  }
}

std::string FunctionName(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(die, name, &attribute) == nullptr) continue;
    if (const char* text = dwarf_formstring(&attribute); text != nullptr) return text;
  }
  const char* text = dwarf_diename(die);
  return text == nullptr ? std::string() : std::string(text);
}

std::optional<std::uint64_t> UnsignedAttribute(Dwarf_Die* die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, name, &attribute) == nullptr) return std::nullopt;
  if (dwarf_formudata(&attribute, &value) != 0) return std::nullopt;
  return value;
}

const Range* FindRange(const std::vector<Range>& ranges, std::uint64_t address) {
  auto after = std::upper_bound(
      ranges.begin(), ranges.end(), address,
      [](std::uint64_t wanted, const Range& range) { return wanted < range.begin; });
  if (after == ranges.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

void SortRanges(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
}

// One compilation unit: its functions by address.
struct Unit {
  Dwarf_Die die;
  bool read = false;
  std::vector<Range> ranges;
  std::vector<Dwarf_Die> functions;

  void Collect(Dwarf_Die* parent, int depth) {
    Dwarf_Die child;
    if (depth > kDeepestNesting || dwarf_child(parent, &child) != 0) return;
    do {
      switch (dwarf_tag(&child)) {
        case DW_TAG_subprogram: {
          const std::size_t index = functions.size();
          bool has_code = false;
          ForEachRange(&child, [&](std::uint64_t begin, std::uint64_t end) {
            ranges.push_back({begin, end, index});
            has_code = true;
          });
          if (has_code) functions.push_back(child);
          break;
        }
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type:
        case DW_TAG_union_type:
          Collect(&child, depth + 1);
          break;
        default:
          break;
      }
    } while (dwarf_siblingof(&child, &child) == 0);
  }

  void Read() {
    read = true;
    Collect(&die, 0);
    SortRanges(ranges);
  }
};

}  // namespace

struct InlineTable::State {
  Dwarf* dwarf = nullptr;
  std::vector<Unit> units;
  std::vector<Range> unit_ranges;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { dwarf_end(dwarf); }

  void ReadUnits() {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      if (dwarf_tag(&die) != DW_TAG_compile_unit) continue;
      const std::size_t index = units.size();
      ForEachRange(&die, [&](std::uint64_t begin, std::uint64_t end) {
        unit_ranges.push_back({begin, end, index});
      });
      units.push_back({die, false, {}, {}});
    }
    SortRanges(unit_ranges);
  }

  // From the function inwards: the call sites that hold `address`, outermost first.
  void Descend(Dwarf_Die* parent, std::uint64_t address, int depth,
               std::vector<Dwarf_Die>& inlined) {
    Dwarf_Die child;
    if (depth > kDeepestNesting || dwarf_child(parent, &child) != 0) return;
    do {
      const int tag = dwarf_tag(&child);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
      if (dwarf_haspc(&child, address) != 1) continue;
      if (tag == DW_TAG_inlined_subroutine) inlined.push_back(child);
      Descend(&child, address, depth + 1, inlined);
      return;
    } while (dwarf_siblingof(&child, &child) == 0);
  }
};

InlineTable::InlineTable(std::unique_ptr<State> state) : state_(std::move(state)) {}
InlineTable::~InlineTable() = default;

std::unique_ptr<InlineTable> InlineTable::Open(Elf* elf) {
  auto state = std::make_unique<State>();
  state->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, nullptr);
  if (state->dwarf == nullptr) return nullptr;
  state->ReadUnits();
  if (state->units.empty()) return nullptr;
  return std::unique_ptr<InlineTable>(new InlineTable(std::move(state)));
}

std::vector<SymbolFile::InlinedFrame> InlineTable::Find(std::uint64_t address) {
  const Range* in_unit = FindRange(state_->unit_ranges, address);
  if (in_unit == nullptr) return {};
  Unit& unit = state_->units[in_unit->index];
  if (!unit.read) unit.Read();
  const Range* in_function = FindRange(unit.ranges, address);
  if (in_function == nullptr) return {};
  std::vector<Dwarf_Die> inlined;
  state_->Descend(&unit.functions[in_function->index], address, 0, inlined);
  if (inlined.empty()) return {};

  // The line of the innermost is that of the address; each other one's is where it calls the next.
  std::vector<SymbolFile::InlinedFrame> frames(inlined.size());
  const char* file = nullptr;
  int line = 0;
  if (Dwarf_Line* place = dwarf_getsrc_die(&unit.die, address); place != nullptr) {
    file = dwarf_linesrc(place, nullptr, nullptr);
    static_cast<void>(dwarf_lineno(place, &line));
  }
  Dwarf_Files* files = nullptr;
  std::size_t file_count = 0;
  static_cast<void>(dwarf_getsrcfiles(&unit.die, &files, &file_count));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Dwarf_Die* die = &inlined[inlined.size() - 1 - i];
    frames[i].name = FunctionName(die);
    frames[i].file = file == nullptr ? "" : file;
    frames[i].line = line;
    const auto call_file = UnsignedAttribute(die, DW_AT_call_file);
    const auto call_line = UnsignedAttribute(die, DW_AT_call_line);
    file = call_file && *call_file < file_count ? dwarf_filesrc(files, *call_file, nullptr, nullptr)
                                                : nullptr;
    line = static_cast<int>(call_line.value_or(0));
  }
  return frames;
}

}  // namespace culprit::symbols
