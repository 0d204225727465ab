// Counters that SysStats has no place for (network devices, throttling of cgroups), as counter
// tracks of the trace format: each is described once a file and then gives a value when it changes.
//
//   net.<device>.{rx,tx}_{bytes,packets,errors,dropped}         totals since boot
//   cgroup.<path>.{nr_periods,nr_throttled,throttled_ns}        totals of the cgroup's life
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/packet_spool.h"
#include "capture/process_notes.h"
#include "capture/record_config.h"
#include "capture/sys_stats.h"

namespace culprit::capture {

enum class CounterUnit : std::int32_t { kTimeNs = 1, kCount = 2, kBytes = 3 };

// Writes values of named counters to a spool.
class CounterTracks {
 public:
  explicit CounterTracks(TraceClock clock) : clock_(clock) {}

  // Values that did not change since the last one are left out, but for every kFullEvery-th poll.
  void Add(PacketSpool& spool, std::uint64_t now_ns, std::string_view name, CounterUnit unit,
           std::uint64_t value);
  // Call once a poll, after its values.
  void EndPoll() { ++polls_; }
  // A new file begins: everything is described and given again.
  void Restart();
  TraceClock clock() const { return clock_; }

 private:
  struct Track {
    std::uint64_t uuid = 0;
    std::uint64_t last = 0;
    bool described = false;
  };
  TraceClock clock_;
  unsigned polls_ = 0;
  std::unordered_map<std::string, Track> tracks_;
};

class NetDevReader {
 public:
  explicit NetDevReader(const std::string& root = "/");
  void Poll(CounterTracks& tracks, PacketSpool& spool, std::uint64_t now_ns);

 private:
  PolledFile file_;
  std::string text_;
  std::string name_;
};

// The cgroups of the traced processes (all processes when none is named) and those above them, as
// far as a CPU quota is set on them; v1 and v2.
class CgroupReader {
 public:
  explicit CgroupReader(std::vector<std::int32_t> pids, std::string root = "/");
  void Poll(CounterTracks& tracks, PacketSpool& spool, std::uint64_t now_ns);
  // Looks for cgroups again; Poll does it by itself, so often that it takes a two hundredth of a
  // CPU: from once a second with a few hundred processes to every kFindEvery-th time.
  void Find();

  std::vector<std::string> paths() const;
  static constexpr unsigned kFindLeast = 10;
  static constexpr unsigned kFindEvery = 300;
  static constexpr std::size_t kMost = 512;  // cgroups watched at once

 private:
  struct Hierarchy {
    bool is_v2 = false;
    std::string mount_point;
    std::string root;  // the cgroup that is mounted there
  };
  void FindHierarchies();
  // Notes a process whose cgroup, or one above it, has a quota.
  void NoteQuota(std::int32_t pid, std::string_view path,
                 const std::map<std::string, PolledFile>& found);
  void AddWithParents(const Hierarchy& hierarchy, std::string_view path,
                      std::map<std::string, PolledFile>& found);

  std::vector<std::int32_t> pids_;
  std::string root_;
  std::vector<Hierarchy> hierarchies_;
  std::map<std::string, PolledFile> watched_;  // path -> cpu.stat
  std::map<std::int32_t, std::string>
      quota_of_;                    // pid -> its cgroup, or the one above, with a quota
  std::vector<ProcessNote> notes_;  // to be written
  unsigned polls_ = 0;
  unsigned next_find_ = kFindLeast;
  std::string text_;
  std::string name_;
  std::vector<kernel::NamedValue> values_;
};

}  // namespace culprit::capture
