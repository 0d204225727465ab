// BlockTracker: the life of each block request, from its events, matched by device and sector (a
// device completes requests out of order). Fills block_io.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "load/row_stream.h"
#include "load/rows.h"
#include "load/stats.h"

namespace culprit::load {

// The fields that the block events share.
struct BlockEvent {
  std::int64_t ts = 0;
  std::uint64_t dev = 0;
  std::uint64_t sector = 0;
  std::uint32_t sectors = 0;
  std::uint32_t bytes = 0;
  std::uint32_t cpu = kNone;
  StringId op = kNoString;  // "WS", "R", "FF" ...
  Utid utid = kNone;        // the thread that the event happened in
  std::int32_t error = 0;
};

//   io_start ---+
//   insert -----+--> waiting --issue--> at the device --complete--> row finished
//   (none) -----+        ^                   |  complete of a part: the rest starts behind it
//                        +----requeue--------+
//   backmerge, frontmerge: the request grows while it waits
class BlockTracker {
 public:
  BlockTracker(RowStream<BlockIoRow>& rows, TraceStats& stats) : rows_(rows), stats_(stats) {}

  // Before the first event: what the device number of stat(2) is called.
  void NameDevice(std::uint64_t dev, StringId name) { names_[dev] = name; }

  // block_io_start: accounting of the request begins; `slice` shows it.
  void Start(const BlockEvent& event, RowId slice = kNone);
  void Insert(const BlockEvent& event);
  void Issue(const BlockEvent& event);
  void Requeue(const BlockEvent& event);
  // Complete and Done return the slice that Start was given, kNone without one.
  RowId Complete(const BlockEvent& event);
  RowId Done(const BlockEvent& event);  // block_io_done: accounting ends
  // A bio joined the request that ends (back) or begins (front) where the bio begins or ends.
  void BackMerge(const BlockEvent& bio);
  void FrontMerge(const BlockEvent& bio);

 private:
  struct Key {
    std::uint64_t dev;
    std::uint64_t sector;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      const std::uint64_t hash = (key.dev * 0x9E3779B97F4A7C15 + key.sector) * 0xC2B2AE3D27D4EB4F;
      return hash ^ (hash >> 31);
    }
  };
  struct Request {
    RowId row = kNone;
    std::uint32_t sectors = 0;  // not yet completed
    RowId slice = kNone;
    bool is_at_device = false;
    bool is_provisional = false;  // waiting, and issue_ts is only that of io_start
  };
  using Requests = std::unordered_multimap<Key, Request, Hash>;

  // The oldest request at the place that is (or is not) at the device.
  Requests::iterator Find(const BlockEvent& event, bool is_at_device);
  Requests::iterator Add(const BlockEvent& event);
  Requests::iterator Move(Requests::iterator request, std::uint64_t sector, std::uint32_t sectors);
  RowId Finish(Requests::iterator request, const BlockEvent& event);

  RowStream<BlockIoRow>& rows_;
  TraceStats& stats_;
  Requests requests_;
  std::unordered_map<std::uint64_t, StringId> names_;
  // Where waiting requests end: what a back merge looks for.
  std::unordered_map<Key, std::uint64_t, Hash> start_by_end_;
  bool has_completions_ = false;
};

}  // namespace culprit::load
