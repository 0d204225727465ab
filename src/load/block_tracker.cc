#include "load/block_tracker.h"

namespace culprit::load {
namespace {
constexpr std::uint32_t kSectorBytes = 512;
}

BlockTracker::Requests::iterator BlockTracker::Find(const BlockEvent& event, bool is_at_device) {
  // Several at one place are flushes (sector 0 or -1), or a request whose end was lost; of equal
  // ones the oldest, which has the smallest row.
  const auto [begin, end] = requests_.equal_range({event.dev, event.sector});
  auto best = requests_.end();
  for (auto at = begin; at != end; ++at) {
    if (at->second.is_at_device != is_at_device) continue;
    if (best == requests_.end() || at->second.row < best->second.row) best = at;
  }
  return best;
}

BlockTracker::Requests::iterator BlockTracker::Add(const BlockEvent& event) {
  const auto name = names_.find(event.dev);
  const RowId row =
      rows_.Open({.id = 0,
                  .bytes = event.bytes != 0 ? event.bytes : event.sectors * kSectorBytes,
                  .cpu = kNone,
                  .dev = event.dev,
                  .device = name == names_.end() ? kNoString : name->second,
                  .sector = event.sector,
                  .insert_ts = -1,
                  .issue_ts = -1,
                  .complete_ts = -1,
                  .op = event.op,
                  .utid = event.utid,
                  .error = 0,
                  .merges = 0,
                  .requeues = 0});
  if (event.sectors > 0) start_by_end_[{event.dev, event.sector + event.sectors}] = event.sector;
  Request request;
  request.row = row;
  request.sectors = event.sectors;
  return requests_.insert({{event.dev, event.sector}, request});
}

BlockTracker::Requests::iterator BlockTracker::Move(Requests::iterator request,
                                                    std::uint64_t sector, std::uint32_t sectors) {
  const std::uint64_t dev = request->first.dev;
  Request moved = request->second;
  requests_.erase(request);
  moved.sectors = sectors;
  if (sectors > 0) start_by_end_[{dev, sector + sectors}] = sector;
  return requests_.insert({{dev, sector}, moved});
}

void BlockTracker::Start(const BlockEvent& event, RowId slice) {
  const auto request = Add(event);
  request->second.slice = slice;
  request->second.is_provisional = true;
  if (BlockIoRow* row = rows_.Find(request->second.row); row != nullptr) row->issue_ts = event.ts;
}

void BlockTracker::Insert(const BlockEvent& event) {
  auto request = Find(event, false);
  if (request == requests_.end()) request = Add(event);
  request->second.is_provisional = false;
  BlockIoRow* row = rows_.Find(request->second.row);
  if (row == nullptr) return;
  if (row->insert_ts < 0) row->insert_ts = event.ts;
  row->issue_ts = -1;
}

void BlockTracker::Issue(const BlockEvent& event) {
  auto request = Find(event, false);
  if (request == requests_.end()) request = Add(event);
  Request& own = request->second;
  BlockIoRow* row = rows_.Find(own.row);
  if (row != nullptr) {
    if (own.is_provisional) row->insert_ts = row->issue_ts;  // it waited since its start
    row->issue_ts = event.ts;
    row->cpu = event.cpu;
    if (event.bytes != 0) row->bytes = event.bytes;
  }
  own.is_at_device = true;
  own.is_provisional = false;
  own.sectors = event.sectors;
}

void BlockTracker::Requeue(const BlockEvent& event) {
  const auto request = Find(event, true);
  if (request == requests_.end()) return;
  request->second.is_at_device = false;
  BlockIoRow* row = rows_.Find(request->second.row);
  if (row == nullptr) return;
  if (row->insert_ts < 0) row->insert_ts = row->issue_ts;
  row->issue_ts = -1;
  ++row->requeues;
}

RowId BlockTracker::Finish(Requests::iterator request, const BlockEvent& event) {
  const RowId slice = request->second.slice;
  if (BlockIoRow* row = rows_.Find(request->second.row); row != nullptr) {
    row->complete_ts = event.ts;
    row->error = event.error;
    rows_.Close(row->id);
  }
  if (request->second.sectors > 0) {
    start_by_end_.erase({request->first.dev, request->first.sector + request->second.sectors});
  }
  requests_.erase(request);
  return slice;
}

RowId BlockTracker::Complete(const BlockEvent& event) {
  has_completions_ = true;
  auto request = Find(event, true);
  if (request == requests_.end()) request = Find(event, false);  // its issue was not seen
  if (request == requests_.end()) {
    stats_.Add("block_completions_unmatched");
    return kNone;
  }
  if (event.sectors > 0 && event.sectors < request->second.sectors && event.error == 0) {
    Move(request, event.sector + event.sectors, request->second.sectors - event.sectors);
    return kNone;
  }
  return Finish(request, event);
}

RowId BlockTracker::Done(const BlockEvent& event) {
  auto request = Find(event, true);
  if (request == requests_.end()) request = Find(event, false);
  if (request != requests_.end()) return Finish(request, event);
  if (!has_completions_) stats_.Add("block_completions_unmatched");
  return kNone;
}

void BlockTracker::BackMerge(const BlockEvent& bio) {
  const auto end = start_by_end_.find({bio.dev, bio.sector});
  if (end == start_by_end_.end()) return;
  BlockEvent place = bio;
  place.sector = end->second;
  auto request = Find(place, false);
  if (request == requests_.end()) return;
  start_by_end_.erase(end);
  request = Move(request, place.sector, request->second.sectors + bio.sectors);
  if (BlockIoRow* row = rows_.Find(request->second.row); row != nullptr) {
    row->bytes += bio.sectors * kSectorBytes;
    ++row->merges;
  }
}

void BlockTracker::FrontMerge(const BlockEvent& bio) {
  BlockEvent place = bio;
  place.sector = bio.sector + bio.sectors;
  auto request = Find(place, false);
  if (request == requests_.end()) return;
  request = Move(request, bio.sector, request->second.sectors + bio.sectors);
  if (BlockIoRow* row = rows_.Find(request->second.row); row != nullptr) {
    row->sector = bio.sector;
    row->bytes += bio.sectors * kSectorBytes;
    ++row->merges;
  }
}

}  // namespace culprit::load
