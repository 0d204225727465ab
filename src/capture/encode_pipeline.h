// The encoder's scheduling: which thread takes which pages when, and in which order the bundles go
// to the file. What pages hold is for encode_chunk.h.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "capture/encode.h"
#include "capture/encode_chunk.h"
#include "capture/encode_plan.h"

namespace culprit::capture {

// Decodes the pages of all CPUs on several threads and hands the bundles to the writer in order of
// their start.
//
//   pages of CPU n -> chunk -> EncodeChunk -> ready_ -> (no earlier one can come) -> writer
//
// A CPU waits in `waiting_` by the start of its next chunk; the earliest is taken first. What
// starts before every chunk that is waiting or in work is next in the file, so `ready_` stays
// small.
class Pipeline {
 public:
  Pipeline(const FtraceSpool& spool, const EncodePlan& plan, LazySymbols& symbols,
           tracefile::TraceWriter& writer);

  Status Prepare();
  // Time of the first page of all; none when there is no page. To be asked before Run.
  std::optional<std::uint64_t> first_page_ns() const;
  // Everything, on `threads` threads of its own; returns when the writer has it all.
  Status Run(unsigned threads, bool low_priority);

  void Summarise(EncodeSummary& summary) const;
  const std::vector<std::uint32_t>& statuses() const { return statuses_; }

 private:
  struct Cpu {
    CpuEncodeSummary summary;
    std::uint64_t next_page = 0;
    std::uint64_t next_chunk = 0;      // number of the chunk to be cut next
    std::uint64_t finished_chunk = 0;  // number of the chunk whose results are due next
    // Results of chunks that finished before an earlier one did.
    std::vector<std::pair<std::uint64_t, ChunkOutput>> early;
  };
  struct Waiting {
    std::uint64_t start_ns;
    std::size_t cpu;
    bool operator>(const Waiting& other) const {
      return start_ns != other.start_ns ? start_ns > other.start_ns : cpu > other.cpu;
    }
  };
  struct Ready {
    std::uint64_t start_ns;
    std::size_t cpu;
    std::uint64_t order;
    std::string packet;
  };
  struct Later {
    bool operator()(const Ready& a, const Ready& b) const {
      if (a.start_ns != b.start_ns) return a.start_ns > b.start_ns;
      return a.cpu != b.cpu ? a.cpu > b.cpu : a.order > b.order;
    }
  };
  struct Chunk {
    std::size_t cpu;
    std::uint64_t number;
    std::uint64_t start_ns;
    std::uint64_t first_page;
    std::size_t pages;
  };

  Result<std::uint64_t> PageStart(std::size_t cpu, std::uint64_t page) const;
  Status Read(std::size_t cpu, std::uint64_t page, std::span<std::byte> into) const;
  Status Enqueue(std::size_t cpu, std::uint64_t page);
  Status Encode(Chunk& chunk, std::vector<std::byte>& buffer, BundleWriter& bundle,
                ChunkOutput& output);
  void Work();
  void Deliver(const Chunk& chunk, ChunkOutput output, std::unique_lock<std::mutex>& lock);
  void Account(Cpu& cpu, ChunkOutput& output);
  void WriteReady(std::unique_lock<std::mutex>& lock);
  bool TakeEarliest(std::string& block);
  std::uint64_t PageBytes() const { return spool_.page_bytes; }
  // `index` counts the rings of the recording first, then those of the markers.
  bool IsMarkers(std::size_t index) const { return index >= spool_.cpus.size(); }
  const CpuSpool& SpoolOf(std::size_t index) const {
    return IsMarkers(index) ? spool_.marker_cpus[index - spool_.cpus.size()] : spool_.cpus[index];
  }

  const FtraceSpool& spool_;
  const EncodePlan& plan_;
  LazySymbols& symbols_;
  tracefile::TraceWriter& writer_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable progress_;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::vector<Chunk> in_work_;
  std::vector<Ready> ready_;  // a heap, earliest on top
  std::size_t ready_bytes_ = 0;
  bool is_writing_ = false;
  std::optional<Error> error_;
  std::vector<std::uint64_t> counts_;
  std::vector<Cpu> cpus_;
  std::uint64_t errors_ = 0;
  std::uint64_t stacks_ = 0;
  std::vector<std::uint32_t> statuses_;
  std::vector<std::string> samples_;
};

}  // namespace culprit::capture
