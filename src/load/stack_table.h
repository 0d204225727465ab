// StackTable: the kernel stacks of a trace as the rows of stack_profile_mapping, _frame and
// _callsite: each distinct frame and each distinct path from the root once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "load/stats.h"
#include "load/string_pool.h"
#include "load/trace_index.h"

namespace culprit::load {

inline constexpr std::uint32_t kNoCallsite = 0xFFFFFFFF;

struct StackMapping {
  StringId build_id = kNoString;
  std::uint64_t exact_offset = 0;
  std::uint64_t start_offset = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t load_bias = 0;
  StringId name = kNoString;
};

struct StackFrame {
  StringId name = kNoString;
  std::uint32_t mapping = 0;
  std::uint64_t rel_pc = 0;
  std::uint32_t symbol_set = kNoCallsite;  // the first of its rows of symbols; kNoCallsite: none
};

// One function of a frame: where functions were inlined, the innermost comes first.
struct StackSymbol {
  std::uint32_t symbol_set = 0;
  StringId name = kNoString;
  StringId source_file = kNoString;
  std::uint32_t line = 0;  // 0: not known
  bool is_inlined = false;
  bool knows_inlining = false;
};

struct StackCallsite {
  std::uint32_t depth = 0;
  std::uint32_t parent = kNoCallsite;
  std::uint32_t frame = 0;
};

class StackTable {
 public:
  explicit StackTable(StringPool& strings) : strings_(strings) {}

  struct Stack {
    std::uint32_t callsite = kNoCallsite;  // of the leaf; kNoCallsite: the stack is not whole
    StringId blocked_function = kNoString;
  };
  // The stack with this number, and the function that the thread blocked in: its innermost frame
  // that is not the scheduler's own.
  Stack Resolve(const Interned& interned, std::uint64_t callstack);

  // The stack of these kernel functions, from the root to the leaf.
  Stack Of(std::span<const std::string_view> functions);

  // Names that were found after the recording: a ModuleSymbols. What fits no mapping and no frame
  // is counted in `stats`.
  void AddSymbols(std::string_view module_symbols, TraceStats& stats);

  const std::vector<StackSymbol>& symbols() const { return symbols_; }
  const std::vector<StackMapping>& mappings() const { return mappings_; }
  const std::vector<StackFrame>& frames() const { return frames_; }
  const std::vector<StackCallsite>& callsites() const { return callsites_; }

 private:
  std::uint32_t Callsite(std::uint32_t parent, std::uint32_t frame);
  StringId BlockedFunction(std::uint32_t callsite) const;
  std::uint32_t AddMapping(const StackMapping& mapping);
  std::uint32_t AddFrame(const StackFrame& frame, StringId source = kNoString,
                         std::uint32_t line = 0, bool is_of_no_file = false);
  // Nothing when the trace refers to what it does not have.
  std::optional<std::uint32_t> Mapping(const Interned& interned, std::uint64_t iid);
  std::optional<std::uint32_t> Frame(const Interned& interned, std::uint64_t iid);

  StringPool& strings_;
  std::vector<StackMapping> mappings_;
  std::vector<StackFrame> frames_;
  std::vector<StackCallsite> callsites_;
  std::vector<StackSymbol> symbols_;
  std::map<std::tuple<StringId, StringId, std::uint64_t, std::uint64_t, std::uint64_t>,
           std::uint32_t>
      mapping_ids_;  // name, build id, start, end, offset
  std::map<std::tuple<StringId, std::uint32_t, std::uint64_t, StringId, std::uint32_t>,
           std::uint32_t>
      frame_ids_;  // name, mapping, rel_pc; of frames of no file also source and line
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> callsite_ids_;  // parent, frame
  std::map<std::pair<const Interned*, std::uint64_t>, Stack> resolved_;
};

// Whether a kernel function is machinery of going to sleep, which says nothing about why.
bool IsSchedulerFunction(std::string_view name);

}  // namespace culprit::load
