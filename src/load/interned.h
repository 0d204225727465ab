// Interned: what the packets of a sequence named once and refer to by number: kernel symbols,
// frames, stacks, names of TrackEvents. Texts lie in the trace.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace culprit::load {

// What packets of one sequence interned, from one clearing of its state to the next.
struct Interned {
  struct Frame {
    std::uint64_t function_name = 0;
    std::uint64_t mapping = 0;
    std::uint64_t rel_pc = 0;
    std::uint64_t source_path = 0;
    std::uint32_t line = 0;  // 0: not known
    std::uint32_t kind = 0;  // Frame.Kind; 0: not known
  };
  struct Mapping {
    std::uint64_t build_id = 0;
    std::uint64_t exact_offset = 0;
    std::uint64_t start_offset = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t load_bias = 0;
    std::vector<std::uint64_t> path;
  };
  std::unordered_map<std::uint64_t, std::string_view> kernel_symbols;
  std::unordered_map<std::uint64_t, std::string_view> event_categories;
  std::unordered_map<std::uint64_t, std::string_view> event_names;
  std::unordered_map<std::uint64_t, std::string_view> debug_names;
  std::unordered_map<std::uint64_t, std::string_view> debug_strings;
  std::unordered_map<std::uint64_t, std::string_view> function_names;
  std::unordered_map<std::uint64_t, std::string_view> mapping_paths;
  std::unordered_map<std::uint64_t, std::string_view> build_ids;  // bytes, not text
  std::unordered_map<std::uint64_t, std::string_view> source_paths;
  std::unordered_map<std::uint64_t, Frame> frames;
  std::unordered_map<std::uint64_t, Mapping> mappings;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> callstacks;
};

// Adds the entries of an InternedData message.
void AddInterned(std::string_view data, Interned& interned);

}  // namespace culprit::load
