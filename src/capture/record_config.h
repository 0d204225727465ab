// RecordConfig: everything one recording needs to know, whether flags or a TraceConfig text said
// it. Plain data: nothing is looked up in a kernel here, nothing is opened, and the defaults are
// those of an empty command line before its categories are applied (category_table.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace culprit::capture {

// What happens to events once the rings are full.
enum class FillPolicy {
  kDrain,    // all are kept: a reader moves the rings' pages to a spool before they fill up
  kRing,     // the newest are kept: nobody reads until the end
  kDiscard,  // the oldest are kept: the kernel drops (and counts) what no longer fits
};

// The clock of the kernel's events, of the polls and of the trace.
enum class TraceClock {
  kBoottime,      // trace_clock "boot"; suspend is counted
  kMonotonic,     // "mono"
  kMonotonicRaw,  // "mono_raw"; not slewed by NTP
};

// One event or a family of them, by the names of this kernel's events/ folder.
struct EventRequest {
  // "sched/sched_switch", "block/*", "ext4/ext4_da_*", or a bare "sched_switch" of whatever group.
  std::string pattern;
  // Named by the user: that this kernel lacks it is worth a message. False for the events of a
  // category, of which each kernel has only some.
  bool required = true;
  // Who asked, for that message: "category disk", "events.pbtxt:12", empty for the command line.
  std::string origin;
};

// How often each /proc and /sys source is read; 0 is never.
struct PollPeriods {
  DurationNs stat;      // /proc/stat: time by CPU, interrupts, forks
  DurationNs meminfo;   // /proc/meminfo
  DurationNs vmstat;    // /proc/vmstat
  DurationNs psi;       // /proc/pressure/{cpu,io,memory}
  DurationNs diskstat;  // /proc/diskstats
  DurationNs netdev;    // /proc/net/dev
  DurationNs cpufreq;   // /sys/devices/system/cpu/cpu*/cpufreq
  DurationNs cgroup;    // cpu.stat of the traced processes' cgroups

  friend bool operator==(const PollPeriods&, const PollPeriods&) = default;
};

// Which counters of a source are wanted, by the numbers that Perfetto's SysStatsConfig gives them
// (MEMINFO_MEM_TOTAL is 1, ...); none means all that are known.
struct PollCounters {
  std::vector<std::uint32_t> meminfo;
  std::vector<std::uint32_t> vmstat;
  std::vector<std::uint32_t>
      stat;  // STAT_CPU_TIMES 1, IRQ_COUNTS 2, SOFTIRQ_COUNTS 3, FORK_COUNT 4
};

struct ProcessScan {
  bool at_start = true;      // read all of /proc before the first event
  bool at_stop = true;       // and again after the last one
  bool thread_names = true;  // every thread, not only the processes
  DurationNs poll_period;    // RSS, fault counts and the like of every process; 0 is never
};

struct RecordConfig {
  // Kernel events. No event at all is a recording of polls alone.
  std::vector<EventRequest> events;
  // The kernel's stack of each switch into D state, by a trigger on sched_switch.
  bool d_state_stacks = false;
  // What programs write to trace_marker (event ftrace/print).
  bool markers = false;
  // Read them from the top-level buffer even where the kernel can copy them: for tests.
  bool markers_from_top_level = false;
  // Record only these processes with all their threads and later children; none is all.
  std::vector<std::int32_t> pids;
  // Without root: the states of these processes, and of a command, by what any user may see of his
  // own (own_threads.h); no kernel events.
  bool own_threads = false;
  // Switches and wakings in columns (CompactSched): a third of the file size.
  bool compact_sched = true;
  // Names for the addresses in kernel stacks and events.
  bool kernel_symbols = true;

  TraceClock clock = TraceClock::kBoottime;

  // Rings. The size of one CPU's ring is the largest of ring_bytes / CPUs, ring_bytes_per_cpu and
  // the least that a session uses.
  std::uint64_t ring_bytes = std::uint64_t{64} << 20;
  std::uint64_t ring_bytes_per_cpu = 0;  // 0: not said
  FillPolicy fill_policy = FillPolicy::kDrain;
  bool stop_when_full = false;  // with kDiscard: end the recording at the first full ring
  DurationNs drain_period;      // with kDrain: look at the rings this often; 0: when part full

  DurationNs duration;               // 0: until it is stopped
  std::uint64_t max_file_bytes = 0;  // end when what is recorded reaches this; 0: no limit
  std::string output_path;           // of the config; the command line's -o comes first

  PollPeriods poll;
  PollCounters counters;
  ProcessScan processes;

  // The TraceConfig message in binary, to be kept in the trace (TracePacket.trace_config); empty
  // when the recording was described by flags.
  std::string trace_config;
};

}  // namespace culprit::capture
