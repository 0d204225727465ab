// The kernel's events that are slices or counters and nothing more: a table of them, and those that
// need a word of their own. Tracks, names and keys are Perfetto's.
#include <fmt/format.h>

#include "load/importer.h"

namespace culprit::load {
namespace {

enum EventField : std::uint32_t {
  kCpuFrequencyLimits = 12,
  kDirectReclaimBegin = 46,
  kDirectReclaimEnd = 47,
  kRssStat = 313,
  kSignalDeliver = 324,
  kSignalGenerate = 325,
  kOomScoreAdjUpdate = 326,
  kSysEnter = 329,
  kSysExit = 330,
  kGpuFrequency = 332,
  kRssStatThrottled = 359,
  kNetifReceiveSkb = 360,
  kNetDevXmit = 361,
  kTcpRetransmitSkb = 363,
  kShrinkSlabStart = 443,
  kShrinkSlabEnd = 444,
  kHrtimerExpireEntry = 553,
  kHrtimerExpireExit = 554,
  kLocalTimerEntry = 559,
  kLocalTimerExit = 560,
  kMemcgReclaimBegin = 607,
  kMemcgReclaimEnd = 608,
};

struct Argument {
  std::string_view key;
  std::uint32_t field;
  tables::ArgType type = tables::ArgType::kInt;
};

// A stretch of a thread between two events.
struct ThreadStretch {
  std::uint32_t begin;
  std::uint32_t end;
  std::string_view name;
  Argument at_begin[3];
  Argument at_end;
};

constexpr ThreadStretch kThreadStretches[] = {
    {kDirectReclaimBegin,
     kDirectReclaimEnd,
     "mm_vmscan_direct_reclaim",
     {{"direct_reclaim_order", 1},
      {"direct_reclaim_may_writepage", 2},
      {"direct_reclaim_gfp_flags", 3, tables::ArgType::kUint}},
     {"direct_reclaim_nr_reclaimed", 1, tables::ArgType::kUint}},
    {kMemcgReclaimBegin,
     kMemcgReclaimEnd,
     "mm_vmscan_memcg_reclaim",
     {{"memcg_reclaim_order", 1},
      {"memcg_reclaim_may_writepage", 2},
      {"memcg_reclaim_gfp_flags", 3, tables::ArgType::kUint}},
     {"memcg_reclaim_nr_reclaimed", 1, tables::ArgType::kUint}},
    {kShrinkSlabStart,
     kShrinkSlabEnd,
     "mm_vmscan_shrink_slab",
     {{"shrink_name", 8}, {"total_scan", 9, tables::ArgType::kUint}, {"priority", 11}},
     {"freed", 2}},
};

}  // namespace

bool Importer::Stretch(const EventContext& context, std::uint32_t field,
                       const EventFields& fields) {
  for (const ThreadStretch& stretch : kThreadStretches) {
    if (field != stretch.begin && field != stretch.end) continue;
    const Utid utid = threads_.GetThread(context.tid);
    const TrackId track = markers_.ThreadTrack(utid);
    markers_.SeenOn(utid, context.cpu);
    const std::uint32_t set = args_.New();
    if (field == stretch.begin) {
      for (const Argument& argument : stretch.at_begin) {
        if (argument.field == 8 && field == kShrinkSlabStart) {
          args_.Text(set, argument.key, strings_.Text(SymbolOrNumber(context, fields.u64(8))));
        } else {
          args_.Int(set, argument.key, fields.i64(argument.field), argument.type);
        }
      }
      slices_.Begin(context.ts, track, kNoString, strings_.Intern(stretch.name), set);
    } else {
      const SliceEnd end =
          slices_.End(context.ts, track, kNoString, strings_.Intern(stretch.name), set);
      if (end.row != kNone) {
        args_.Int(end.arg_set_id, stretch.at_end.key, fields.i64(stretch.at_end.field),
                  stretch.at_end.type);
      }
    }
    return true;
  }
  return false;
}

void Importer::NetCounter(const EventContext& context, bool is_received,
                          const EventFields& fields) {
  const StringId name = strings_.Intern(
      fmt::format("{} {} KB", fields.text(2), is_received ? "Received" : "Transmitted"));
  const TrackId track =
      tracks_.Get(TrackScope::kGlobal, kNone,
                  strings_.Intern(is_received ? "net_receive" : "net_transmit"), name, true);
  constexpr std::uint64_t kKb = 1024;
  const std::uint64_t bytes = net_bytes_[track] += fields.u32(1);
  Counter(context.ts, track, static_cast<double>(bytes / kKb));
}

void Importer::Kernel(const EventContext& context, std::uint32_t field, const EventFields& fields) {
  if (Stretch(context, field, fields)) return;
  const auto thread_instant = [&](std::int64_t tid, std::string_view name, std::int64_t signal) {
    const std::uint32_t set = args_.New();
    args_.Int(set, "signal.sig", signal);
    slices_.Instant(context.ts, markers_.ThreadTrack(threads_.GetThread(tid)), kNoString,
                    strings_.Intern(name), set);
  };
  const auto cpu_track = [&](std::string_view type, std::string_view name) {
    return tracks_.Get(TrackScope::kCpu, context.cpu, strings_.Intern(type),
                       strings_.Intern(fmt::format("{} {}", name, context.cpu)));
  };
  switch (field) {
    case kRssStat:
    case kRssStatThrottled: {
      const bool is_plain = field == kRssStat;
      const std::uint32_t current = is_plain ? 3 : 1;
      const std::uint32_t mm = is_plain ? 4 : 3;
      Widen(context.ts);
      memory_.Take(context.ts, threads_.GetThread(context.tid),
                   {.member = fields.u32(is_plain ? 1 : 2),
                    .bytes = fields.i64(is_plain ? 2 : 4),
                    .is_current = fields.Has(current) ? std::optional(fields.u64(current) != 0)
                                                      : std::nullopt,
                    .mm_id = fields.Has(mm) ? std::optional(fields.u64(mm)) : std::nullopt});
      return;
    }
    case kSysEnter:
    case kSysExit: {
      const Utid utid = threads_.GetThread(context.tid);
      const TrackId track = markers_.ThreadTrack(utid);
      markers_.SeenOn(utid, context.cpu);
      if (field == kSysEnter) {
        EventFields::Room room;
        syscalls_.Enter(context.ts, track, fields.i64(1), fields.Repeated(2, room));
      } else {
        syscalls_.Exit(context.ts, track, fields.i64(1),
                       fields.Has(2) ? std::optional(fields.i64(2)) : std::nullopt);
      }
      return;
    }
    case kSignalGenerate:
      thread_instant(fields.i32(4), "signal_generate", fields.i32(6));
      return;
    case kSignalDeliver:
      thread_instant(context.tid, "signal_deliver", fields.i32(3));
      return;
    case kOomScoreAdjUpdate:
      Widen(context.ts);
      memory_.OomScore(context.ts, threads_.GetThread(fields.i32(3)), fields.i32(2));
      return;
    case kGpuFrequency:
      Counter(context.ts,
              tracks_.Get(TrackScope::kGlobal, fields.u32(1), strings_.Intern("gpu_frequency"),
                          strings_.Intern("gpufreq"), true, strings_.Intern("kHz")),
              fields.u32(2));
      return;
    case kCpuFrequencyLimits: {
      const std::uint32_t cpu = fields.u32(3);
      CpuCounter(context.ts, cpu, strings_.Intern("cpu_max_frequency_limit"),
                 strings_.Intern(fmt::format("Cpu {} Max Freq Limit", cpu)), fields.u32(2));
      CpuCounter(context.ts, cpu, strings_.Intern("cpu_min_frequency_limit"),
                 strings_.Intern(fmt::format("Cpu {} Min Freq Limit", cpu)), fields.u32(1));
      return;
    }
    case kNetifReceiveSkb:
      NetCounter(context, true, fields);
      return;
    case kNetDevXmit:
      // Other results: the driver did not take the packet, which comes again.
      if (fields.i32(3) == 0) NetCounter(context, false, fields);
      return;
    case kTcpRetransmitSkb:
      slices_.Instant(
          context.ts,
          tracks_.Get(TrackScope::kGlobal, kNone, strings_.Intern("net_tcp_retransmit_skb"),
                      strings_.Intern("TCP Retransmit Skb")),
          strings_.Intern("tcp_event"),
          strings_.Intern(fmt::format("sport={},dport={}", fields.u32(6), fields.u32(2))));
      return;
    case kHrtimerExpireEntry:
      slices_.Begin(context.ts, cpu_track("cpu_hrtimer", "Hrtimer Cpu"), strings_.Intern("hrtimer"),
                    SymbolOrNumber(context, fields.u64(3)));
      return;
    case kHrtimerExpireExit:
      slices_.End(context.ts, cpu_track("cpu_hrtimer", "Hrtimer Cpu"), strings_.Intern("hrtimer"));
      return;
    case kLocalTimerEntry:
    case kLocalTimerExit:
      IrqSlice(context, false, field == kLocalTimerEntry, strings_.Intern("IRQ (LocalTimer)"));
      return;
    default:
      return;
  }
}

}  // namespace culprit::load
