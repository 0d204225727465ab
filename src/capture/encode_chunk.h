// One chunk of a CPU's pages, decoded into bundles. Chunks know nothing of each other, so any
// thread may encode any of them at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/encode_bundle.h"
#include "capture/encode_plan.h"

namespace culprit::capture {

struct ChunkInput {
  int cpu = 0;
  std::span<const std::byte> pages;  // whole sub-buffers
  std::size_t page_bytes = 0;
  bool is_first = false;    // of its CPU
  bool is_markers = false;  // a ring of FtraceSpool::marker_cpus: print events alone
};

struct EncodedBundle {
  std::uint64_t start_ns = 0;  // time of its first event
  std::string packet;          // framed
};

struct ChunkOutput {
  struct Gap {
    std::optional<std::uint64_t> begin_ns;  // none: the last event of an earlier chunk
    std::uint64_t end_ns = 0;
    std::optional<std::uint64_t> events;
  };

  std::vector<EncodedBundle> bundles;
  std::vector<std::uint64_t> counts;  // by EventPlan.index
  std::vector<Gap> gaps;
  std::optional<std::uint64_t> first_ns, last_ns;
  std::uint64_t events = 0;
  std::uint64_t bad_pages = 0;
  std::uint64_t errors = 0;
  std::uint64_t stacks = 0;
  std::vector<std::uint32_t> statuses;     // FtraceParseStatus of the errors, each once
  std::vector<std::string> error_samples;  // a few
};

// `bundle` is the thread's own and empty; its buffers are what is kept from chunk to chunk.
ChunkOutput EncodeChunk(const EncodePlan& plan, BundleWriter& bundle, const ChunkInput& input);

}  // namespace culprit::capture
