// Explanation: what culprit explain found in a recording, as plain data: victims with their time,
// findings, chains, and how good the evidence is. views/explain/ prints it; nothing here formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution.h"
#include "analysis/timeline.h"

namespace culprit::analysis {

enum class Level : std::uint8_t { kOk, kInfo, kWarning, kCritical };

// "ok", "info", "warn", "crit".
constexpr std::string_view LevelName(Level level) {
  constexpr std::string_view kNames[] = {"ok", "info", "warn", "crit"};
  return kNames[static_cast<int>(level)];
}

// A thread as it is printed.
struct TaskName {
  Utid utid = kNone;
  std::int64_t tid = 0;
  std::int64_t pid = 0;
  std::string thread = {};   // comm
  std::string process = {};  // the process's name
};

enum class PartyType : std::uint8_t {
  kThread,
  kProcess,
  kDevice,
  kIrq,
  kCgroup,
  kKernel,     // a kernel function, a kernel thread's work
  kScheduler,  // a CPU was free, and the thread was not put there
  kSelf,       // the victims among themselves
};

constexpr std::string_view PartyTypeName(PartyType type) {
  constexpr std::string_view kNames[] = {"thread", "process", "device",    "irq",
                                         "cgroup", "kernel",  "scheduler", "self"};
  return kNames[static_cast<int>(type)];
}

struct Party {
  PartyType type = PartyType::kThread;
  std::string name = {};                      // what to print for it
  std::optional<TaskName> task = {};          // of a thread or process: the thread with most of it
  std::string device = {};                    // "vda"
  std::string cgroup = {};                    // path
  std::optional<std::int64_t> priority = {};  // the kernel's: below 100 real time, 120 is nice 0
};

struct VictimShare {
  TaskName victim;
  Amount waited;
  double share = 0;  // of the time of the window that the victim existed
};

struct ThreadShare {
  TaskName thread;
  std::int64_t wait_ns = 0;
};

struct Remedy {
  std::string text = {};     // a sentence
  std::string command = {};  // to be typed as it stands; empty: there is none
  std::int64_t wins_at_most_ns = 0;
};

struct ExplainFinding {
  std::string id;    // the rule: "cpu.neighbour"
  std::string kind;  // "cpu", "lock", "disk" ...
  Level level = Level::kInfo;
  Party culprit;
  std::vector<VictimShare> victims;       // never empty; [0] is the one that the numbers are of
  std::vector<ThreadShare> threads = {};  // of the culprit, most first, at most kMostThreads
  std::vector<TaskName> via = {};  // whom the victim waited for while this happened; empty: itself
  double confidence = 1;
  std::string confidence_why = {};
  std::string summary = {};  // one line
  std::vector<std::string> evidence = {};
  Remedy remedy = {};
  std::string sql = {};  // gives column wait_ns

  std::int64_t wait_ns() const { return victims.front().waited.ns; }
  double share() const { return victims.front().share; }
};
inline constexpr std::size_t kMostThreads = 5;

struct BudgetRow {
  std::string name;  // "running", "irq", "preempted", "disk_wait:vda", "sleep:timer" ...
  std::int64_t ns = 0;
};

enum class VictimRole : std::uint8_t { kMain, kWorker, kThread };
constexpr std::string_view RoleName(VictimRole role) {
  constexpr std::string_view kNames[] = {"main", "worker", "thread"};
  return kNames[static_cast<int>(role)];
}

struct ExplainVictim {
  TaskName name;
  VictimRole role = VictimRole::kThread;
  std::string why = {};  // "holds /dev/nvidia0", "named pt_data_worker", "chosen by --pid"
  std::vector<BudgetRow> budget = {};  // adds up to the window, to the nanosecond
};

// What one part of a chain's time went to.
struct ChainCause {
  std::string kind;  // "running", "cpu_taken" ...
  std::string text;  // "ready, logcollector (pid 991) on its CPU"
  Amount amount;
};

struct ChainTree {
  TaskName thread;
  Amount waited;
  bool is_blocked = false;  // waited for in D
  std::vector<ChainCause> causes = {};
  std::vector<ChainTree> children = {};
};

struct Chain {
  TaskName victim;
  bool is_total = true;  // over the whole window; else of one wait
  Interval time;
  ChainTree tree;
};

enum class SegmentKind : std::uint8_t {
  kRunning,
  kReady,
  kBlocked,
  kSleeping,
  kStopped,
  kUnknown,
  kOther,    // on a CPU: a thread that is not the victim
  kRequest,  // of a disk
};

struct PictureSegment {
  Interval time;
  SegmentKind kind = SegmentKind::kUnknown;
  std::string label = {};
  bool is_culprit = false;
};

struct PictureLane {
  std::string name = {};
  std::string role = {};  // "victim", "culprit", "waited for", "cpu", "disk"
  std::vector<PictureSegment> segments = {};
};

// What happened around the worst wait of a finding.
struct Picture {
  std::size_t finding = 0;  // its index
  Interval time;            // that is shown
  Interval wait;            // the wait within it
  std::vector<PictureLane> lanes = {};
};

struct Evidence {
  std::uint64_t lost_events = 0;
  std::vector<LostGap> lost = {};
  std::int64_t unknown_ns = 0;  // of all victims' time
  double unknown_share = 0;
  std::int64_t cut_waits = 0;  // waits of victims at the edges of the window
  std::int64_t blocked_waits = 0;
  std::int64_t blocked_waits_with_stack = 0;
  bool has_irqs = false;
  bool has_disk = false;
  std::vector<std::string> notes = {};
};

struct Explanation {
  Interval trace;
  Interval window;               // from the first to the last moment that was examined
  std::int64_t examined_ns = 0;  // of it; less than its length with --slice
  std::string selected_by = "auto";
  std::string selection = {};
  std::string selection_reason = {};
  Level level = Level::kOk;
  // False: nothing was found, and so much of the victims' time is unknown that this means nothing.
  bool is_conclusive = true;
  std::string verdict = {};
  std::vector<ExplainVictim> victims = {};
  std::vector<ExplainFinding> findings = {};  // worst first
  std::vector<Chain> chains = {};
  std::vector<Picture> pictures = {};
  std::vector<std::string> examined = {};
  Evidence evidence = {};
};

// "unknown" where nothing can be told, else the level's name.
constexpr std::string_view VerdictName(const Explanation& made) {
  return made.is_conclusive ? LevelName(made.level) : "unknown";
}

}  // namespace culprit::analysis
