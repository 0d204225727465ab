// The trace reader up to the finished decoding of every bundle: framing, damage, clocks, interning.
#include <cstdint>
#include <string_view>

#include "load/event_merger.h"
#include "load/stats.h"
#include "load/string_pool.h"
#include "load/trace_index.h"
#include "tracefile/trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culprit;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = tracefile::TraceFile::OfBytes(bytes);
  if (!file.ok() || file->format() != tracefile::TraceFormat::kPerfetto) return 0;
  load::TraceStats stats;
  load::StringPool strings;
  const load::TraceIndex index = load::IndexTrace(*file, stats);
  load::EventMerger merger(index, strings, stats, 0);
  std::uint64_t steps = 0;
  while (merger.Next().kind != load::Merged::Kind::kEnd) ++steps;
  // Every event takes bytes: more steps than bytes would be a loop.
  if (steps > 4 * size + 16) __builtin_trap();
  return 0;
}
