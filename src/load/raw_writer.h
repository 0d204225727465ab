// RawWriter: every ftrace event as it was recorded, with its fields: the tables ftrace_event and
// args. Means nothing by them; that is the Importer's work.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "load/append_pool.h"
#include "load/event.h"
#include "load/importer.h"
#include "load/row_stream.h"
#include "load/rows.h"
#include "load/string_pool.h"
#include "load/trace_index.h"
#include "tracefile/ftrace_event_table.h"

namespace culprit::load {

// The names of events and of their fields that a trace has: they become types of the tables, so
// they must be known before the first row.
class RawNames {
 public:
  void AddEvent(std::string_view name) { events_.emplace(name); }
  void AddKey(std::string_view key) { keys_.emplace(key); }
  void AddType(const tracefile::EventType& type);
  // All of the trace's bundles are looked at.
  void AddBundles(const TraceIndex& index);

  std::vector<std::string> events() const { return {events_.begin(), events_.end()}; }
  std::vector<std::string> keys() const { return {keys_.begin(), keys_.end()}; }

 private:
  void AddGeneric(std::string_view body);
  std::set<std::string, std::less<>> events_;
  std::set<std::string, std::less<>> keys_;
};

// The key of an element of an array: "args[0]".
std::string IndexedKey(std::string_view name, std::size_t index);

// A generic event of the newer kind, described once by the recorder.
struct GenericType {
  std::string name;
  std::unordered_map<std::uint32_t, std::pair<std::string, std::uint32_t>> fields;  // name, type
};
GenericType ReadGenericType(std::string_view descriptor);

class RawWriter {
 public:
  RawWriter(AppendPool& pool, StringPool& strings, const RawNames& names);

  // Begins an event; its fields follow.
  void Event(const EventContext& context, Utid utid, std::string_view name);
  void Int(std::string_view key, std::int64_t value, tables::ArgType type = tables::ArgType::kInt);
  void Text(std::string_view key, std::string_view value);

  // The fields of a typed or generic event from its payload.
  void Payload(const EventContext& context, Utid utid, std::uint32_t field, std::string_view body,
               const TraceIndex& index);
  void CompactSwitch(const EventContext& context, const SchedTracker& sched,
                     std::string_view prev_comm, const load::Event& event);
  void CompactWaking(const EventContext& context, Utid waker, const load::Event& event);

  void Finish();

 private:
  std::uint32_t IndexOf(const std::vector<std::string>& sorted,
                        std::unordered_map<std::string_view, std::uint32_t>& cache,
                        std::string_view name);
  void Generic(const EventContext& context, Utid utid, std::string_view body);

  StringPool& strings_;
  std::vector<std::string> events_;  // sorted
  std::vector<std::string> keys_;    // sorted
  std::unordered_map<std::string_view, std::uint32_t> event_index_;
  std::unordered_map<std::string_view, std::uint32_t> key_index_;
  std::unordered_map<std::uint32_t, GenericType> generic_;
  TableSink<RawEventRow> event_sink_;
  TableSink<ArgRow> arg_sink_;
  RowStream<RawEventRow> event_rows_;
  RowStream<ArgRow> arg_rows_;
  std::uint32_t arg_set_ = 0;
};

}  // namespace culprit::load
