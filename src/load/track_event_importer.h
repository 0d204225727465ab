// TrackEventImporter: events that programs wrote with Perfetto's SDK (TrackEvent packets): slices,
// instants, counters, their arguments and flows, on tracks that TrackDescriptor packets describe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "load/importer.h"
#include "load/trace_index.h"

namespace culprit::load {

class TrackEventImporter {
 public:
  TrackEventImporter(const TraceIndex& index, Importer& importer)
      : index_(index), importer_(importer) {}

  void Take(const PacketRef& packet);

 private:
  struct Resolved {
    TrackId track = kNone;
    std::optional<Utid> utid;
    std::optional<Upid> upid;
  };
  struct Event;

  // The track of a descriptor, made at its first event; kNone: it was not described.
  Resolved Resolve(std::uint64_t uuid, int depth = 0);
  void Counter(std::int64_t ts, std::uint64_t uuid, double value);
  void Slice(std::int64_t ts, const Event& event, const PacketRef& packet);
  void Legacy(std::int64_t ts, const Event& event, const PacketRef& packet);
  void Flows(const Event& event, TrackId track);
  Event Read(const PacketRef& packet) const;
  StringId NameOf(const Event& event, const Interned& interned);
  StringId CategoryOf(const Event& event, const Interned& interned);
  void AddArgs(std::uint32_t set, const Event& event, const PacketRef& packet);
  void AddAnnotation(std::uint32_t set, std::string_view body, std::string key, bool is_named,
                     const Interned& interned, int depth);
  void Skipped() { importer_.stats().Add("track_events_skipped"); }

  const TraceIndex& index_;
  Importer& importer_;
  std::unordered_map<std::uint64_t, Resolved> tracks_;
  std::unordered_map<std::uint64_t, double> incremental_;
};

}  // namespace culprit::load
