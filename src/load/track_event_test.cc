#include <gtest/gtest.h>

#include "load/testing_database.h"
#include "load/testing_trace.h"

namespace culprit::load {
namespace {

namespace TracePacket = tracefile::TracePacket;

// Field numbers of TrackEvent and TrackDescriptor, as the public protos have them.
M Event(std::int64_t type, std::int64_t track) { return M().Int(9, type).Int(11, track); }
M Begin(std::int64_t track, std::string_view name) { return Event(1, track).Text(23, name); }
M End(std::int64_t track) { return Event(2, track); }
M Descriptor(std::int64_t uuid) { return M().Int(1, uuid); }
M Thread(std::int64_t uuid, std::int64_t pid, std::int64_t tid, std::string_view name) {
  return Descriptor(uuid).Message(4, M().Int(1, pid).Int(2, tid).Text(5, name));
}
M Process(std::int64_t uuid, std::int64_t pid, std::string_view name) {
  return Descriptor(uuid).Message(3, M().Int(1, pid).Text(6, name));
}

TEST(TrackEvents, SlicesOnTracksOfThreadsProcessesAndTheirChildren) {
  TestTrace trace;
  trace.Packet(1, TracePacket::kTrackDescriptor, Process(10, 100, "trainer"));
  trace.Packet(1, TracePacket::kTrackDescriptor, Thread(11, 100, 101, "loader"));
  trace.Packet(1, TracePacket::kTrackDescriptor, Descriptor(12).Int(5, 10).Text(2, "queue"));
  trace.Packet(1, TracePacket::kTrackDescriptor, Descriptor(13).Text(2, "whole machine"));
  trace.Packet(10, TracePacket::kTrackEvent, Begin(11, "outer").Text(22, "a").Text(22, "b"));
  trace.Packet(12, TracePacket::kTrackEvent, Begin(11, "inner"));
  trace.Packet(13, TracePacket::kTrackEvent, Event(3, 11).Text(23, "now"));
  trace.Packet(15, TracePacket::kTrackEvent, End(11));
  trace.Packet(20, TracePacket::kTrackEvent, End(11));
  trace.Packet(30, TracePacket::kTrackEvent, Begin(12, "job"));
  trace.Packet(35, TracePacket::kTrackEvent, End(12));
  trace.Packet(40, TracePacket::kTrackEvent, Begin(10, "of the process"));
  trace.Packet(50, TracePacket::kTrackEvent, Begin(13, "global"));
  trace.Packet(60, TracePacket::kTrackEvent, Begin(99, "nobody described it"));
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.name, s.category, s.depth, k.type, k.name FROM "
                        "slice s JOIN track k ON s.track_id = k.id ORDER BY s.ts"),
            "10|10|outer|a,b|0|thread_execution|NULL\n12|3|inner|NULL|1|thread_execution|NULL\n"
            "13|0|now|NULL|2|thread_execution|NULL\n30|5|job|NULL|0|process_track_event|queue\n"
            "40|-1|of the process|NULL|0|process_track_event|NULL\n"
            "50|-1|global|NULL|0|global_track_event|whole machine\n");
  EXPECT_EQ(loaded.Rows("SELECT t.name, p.name, p.pid FROM thread t JOIN process p USING (upid) "
                        "WHERE t.tid = 101"),
            "loader|trainer|100\n");
  // The queue's track belongs to the process's.
  EXPECT_EQ(loaded.Rows("SELECT b.type FROM track a JOIN track b ON a.parent_id = b.id WHERE "
                        "a.name = 'queue'"),
            "process_track_event\n");
  EXPECT_EQ(loaded.Rows("SELECT value FROM stats WHERE name = 'track_events_skipped'"), "1\n");
}

TEST(TrackEvents, InternedNamesDefaultsAndArguments) {
  TestTrace trace;
  trace.Packet(1, TracePacket::kTrackDescriptor, Thread(11, 100, 101, "loader"));
  const M interned = M().Message(1, M().Int(1, 1).Text(2, "io"))
                         .Message(2, M().Int(1, 1).Text(2, "read"))
                         .Message(3, M().Int(1, 1).Text(2, "size"))
                         .Message(29, M().Int(1, 4).Text(2, "interned text"));
  const M annotations =
      M().Int(9, 1)
          .Int(3, 1)
          .Int(10, 1)
          .Message(4, M().Int(1, 1).Int(4, -5))
          .Message(4, M().Text(10, "text").Int(17, 4))
          .Message(4, M().Text(10, "d").Message(11, M().Text(10, "k").Int(2, 1)))
          .Message(4, M().Text(10, "l").Message(12, M().Int(3, 7)).Message(12, M().Text(6, "x")));
  // A packet with interned data and defaults (track 11) and no name of a track in the event.
  trace.Raw(M().Int(TracePacket::kTimestamp, 10)
                .Int(TracePacket::kTrustedPacketSequenceId, 1)
                .Int(TracePacket::kSequenceFlags, 1)
                .Message(TracePacket::kInternedData, interned)
                .Message(TracePacket::kTracePacketDefaults, M().Message(11, M().Int(11, 11)))
                .Message(TracePacket::kTrackEvent, annotations));
  trace.Packet(15, TracePacket::kTrackEvent,
               M().Int(9, 2).Message(4, M().Text(10, "result").Int(4, 3)));
  LoadedTrace loaded(trace.bytes(), kCore | kRaw);
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.name, s.category, t.tid FROM slice s JOIN "
                        "thread_track k ON s.track_id = k.id JOIN thread t USING (utid)"),
            "10|5|read|io|101\n");
  EXPECT_EQ(loaded.Rows("SELECT a.key, a.flat_key, a.value_type, a.display_value FROM slice s JOIN "
                        "args a USING (arg_set_id) ORDER BY a.key"),
            "debug.d.k|debug.d.k|bool|true\ndebug.l[0]|debug.l|uint|7\n"
            "debug.l[1]|debug.l|string|x\ndebug.result|debug.result|int|3\n"
            "debug.size|debug.size|int|-5\ndebug.text|debug.text|string|interned text\n");
}

TEST(TrackEvents, FlowsAndCounters) {
  TestTrace trace;
  trace.Packet(1, TracePacket::kTrackDescriptor, Thread(11, 100, 101, "a"));
  trace.Packet(1, TracePacket::kTrackDescriptor, Thread(12, 100, 102, "b"));
  trace.Packet(1, TracePacket::kTrackDescriptor,
               Descriptor(13).Int(5, 11).Text(2, "bytes").Message(8, M().Int(3, 3).Int(5, 1)));
  trace.Packet(10, TracePacket::kTrackEvent, Begin(11, "from").Int(36, 7));
  trace.Packet(11, TracePacket::kTrackEvent, Begin(12, "to").Int(42, 7));
  trace.Packet(20, TracePacket::kTrackEvent, Event(4, 13).Int(30, 5));
  trace.Packet(21, TracePacket::kTrackEvent, Event(4, 13).Int(30, 6));
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT a.name, b.name, f.trace_id FROM flow f JOIN slice a ON f.slice_out "
                        "= a.id JOIN slice b ON f.slice_in = b.id"),
            "from|to|7\n");
  EXPECT_EQ(loaded.Rows("SELECT t.type, t.name, t.unit, h.tid, c.ts, c.value FROM counter c JOIN "
                        "thread_counter_track t ON c.track_id = t.id JOIN thread h USING (utid) "
                        "ORDER BY c.ts"),
            "thread_counter_track_event|bytes|bytes|101|20|5.0\n"
            "thread_counter_track_event|bytes|bytes|101|21|11.0\n");
}

TEST(TrackEvents, EventsOfChromesOldMacros) {
  TestTrace trace;
  trace.Packet(1, TracePacket::kTrackDescriptor, Thread(11, 100, 101, "a"));
  const auto legacy = [](char phase) { return M().Int(2, phase); };
  trace.Packet(10, TracePacket::kTrackEvent,
               M().Int(11, 11).Text(23, "x").Message(6, legacy('X').Int(3, 2)));
  trace.Packet(20, TracePacket::kTrackEvent,
               M().Int(11, 11).Text(23, "async").Message(6, legacy('b').Int(6, 5)));
  trace.Packet(30, TracePacket::kTrackEvent,
               M().Int(11, 11).Text(23, "async").Message(6, legacy('e').Int(6, 5)));
  LoadedTrace loaded(trace.bytes());
  EXPECT_EQ(loaded.Rows("SELECT s.ts, s.dur, s.name, k.type FROM slice s JOIN track k ON "
                        "s.track_id = k.id ORDER BY s.ts"),
            "10|2000|x|thread_execution\n20|10|async|legacy_async_process_slice\n");
}

}  // namespace
}  // namespace culprit::load
