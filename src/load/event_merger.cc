#include "load/event_merger.h"

#include <algorithm>

namespace culprit::load {
namespace {
constexpr std::int64_t kNever = INT64_MAX;
}

EventMerger::EventMerger(const TraceIndex& index, StringPool& strings, TraceStats& stats,
                         unsigned decoders)
    : index_(index),
      strings_(strings),
      stats_(stats),
      decoder_(index, decoders),
      cursors_(index.cpus.size()) {
  next_ts_.assign(cursors_.size() + 1, kNever);
  if (!index.packets.empty()) next_ts_[0] = index.packets.front().ts;
  for (std::size_t i = 0; i < cursors_.size(); ++i) {
    cursors_[i].cpu = &index.cpus[i];
    if (Fill(cursors_[i])) next_ts_[i + 1] = cursors_[i].events[cursors_[i].at].ts;
  }
}

void EventMerger::Load(Cursor& cursor) {
  const BundleRef& bundle = cursor.cpu->bundles[cursor.next_bundle];
  bytes_done_ += bundle.body.size();
  decoder_.Take(static_cast<std::size_t>(cursor.cpu - index_.cpus.data()), cursor.next_bundle++,
                decoded_);
  if (decoded_.damaged > 0) stats_.Add("ftrace_bundle_tokenizer_errors", decoded_.damaged);
  if (decoded_.without_payload > 0) stats_.Add("ftrace_missing_event_id", decoded_.without_payload);
  if (decoded_.has_damaged_columns) stats_.Add("compact_sched_has_parse_errors");
  comm_ids_.clear();
  for (const std::string_view comm : decoded_.comms) comm_ids_.push_back(strings_.Intern(comm));
  for (Event& event : decoded_.events) {
    if (event.kind != EventKind::kTyped) event.comm = comm_ids_[event.comm];
  }
  if (decoded_.events.empty()) return;
  if (bundle.has_lost_events && !cursor.has_lost) {
    cursor.has_lost = true;
    cursor.lost_before = decoded_.events.front().ts;
  }
  if (cursor.at == cursor.events.size()) {
    cursor.events.swap(decoded_.events);
    cursor.at = 0;
    return;
  }
  // The bundles of a CPU overlap: merge what is left with what is new.
  cursor.events.erase(cursor.events.begin(),
                      cursor.events.begin() + static_cast<std::ptrdiff_t>(cursor.at));
  cursor.at = 0;
  const auto old_size = static_cast<std::ptrdiff_t>(cursor.events.size());
  cursor.events.insert(cursor.events.end(), decoded_.events.begin(), decoded_.events.end());
  std::inplace_merge(cursor.events.begin(), cursor.events.begin() + old_size, cursor.events.end(),
                     [](const Event& a, const Event& b) { return a.ts < b.ts; });
}

bool EventMerger::Fill(Cursor& cursor) {
  const std::vector<BundleRef>& bundles = cursor.cpu->bundles;
  while (cursor.next_bundle < bundles.size()) {
    if (cursor.at < cursor.events.size() &&
        cursor.events[cursor.at].ts <= bundles[cursor.next_bundle].first_ts) {
      break;
    }
    Load(cursor);
  }
  return cursor.at < cursor.events.size();
}

void EventMerger::Choose() {
  std::int64_t first = kNever;
  std::int64_t second = kNever;
  std::size_t best = 0;
  for (std::size_t i = 0; i < next_ts_.size(); ++i) {
    const std::int64_t ts = next_ts_[i];
    if (ts < first) {
      second = first;
      first = ts;
      best = i;
    } else if (ts < second) {
      second = ts;
    }
  }
  current_ = best;
  until_ = second;
}

// Steps over the event that was given out last.
void EventMerger::Advance() {
  is_given_out_ = false;
  Cursor& cursor = cursors_[current_ - 1];
  ++cursor.at;
  next_ts_[current_] = Fill(cursor) ? cursor.events[cursor.at].ts : kNever;
}

Merged EventMerger::Next() {
  if (is_given_out_) Advance();
  if (next_ts_[current_] > until_ || next_ts_[current_] == kNever) {
    Choose();
    if (next_ts_[current_] == kNever) return {};
  }
  Merged merged;
  if (current_ == 0) {
    merged.kind = Merged::Kind::kPacket;
    merged.packet = &index_.packets[next_packet_++];
    bytes_done_ += merged.packet->body.size();
    next_ts_[0] = next_packet_ < index_.packets.size() ? index_.packets[next_packet_].ts : kNever;
    return merged;
  }
  Cursor& cursor = cursors_[current_ - 1];
  merged.cpu = cursor.cpu->cpu;
  const Event& event = cursor.events[cursor.at];
  merged.event = &event;
  if (cursor.has_lost && event.ts >= cursor.lost_before) {
    cursor.has_lost = false;
    merged.kind = Merged::Kind::kLost;  // the event itself comes next
    return merged;
  }
  if (event.ts < latest_ts_) {
    stats_.Add("ftrace_events_out_of_order", 1, merged.cpu);
  } else {
    latest_ts_ = event.ts;
  }
  merged.kind = Merged::Kind::kEvent;
  is_given_out_ = true;
  return merged;
}

}  // namespace culprit::load
