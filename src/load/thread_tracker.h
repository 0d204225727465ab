// ThreadTracker: which thread and process a tid or pid meant at each moment. Numbers of threads
// (utid) and processes (upid) are never reused, although tids are. Keeps rows in memory (there are
// few), writes no table and knows no event.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "load/string_pool.h"

namespace culprit::load {

using Utid = std::uint32_t;
using Upid = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

// Where a name came from; a name is replaced by one from an equal or better source only.
enum class NameSource : std::uint8_t { kOther, kFtrace, kProcessTree, kTrackDescriptor, kConstant };

struct Thread {
  std::int64_t tid = 0;
  StringId name = kNoString;
  NameSource name_source = NameSource::kOther;
  std::optional<std::int64_t> start_ts;
  std::optional<std::int64_t> end_ts;
  Upid upid = kNone;
  std::optional<bool> is_main_thread;  // nothing while the process is unknown
  bool is_idle = false;
};

struct Process {
  std::int64_t pid = 0;
  StringId name = kNoString;
  std::optional<std::int64_t> start_ts;
  std::optional<std::int64_t> end_ts;
  Upid parent_upid = kNone;
  std::optional<std::int64_t> uid;
  StringId cmdline = kNoString;
  std::optional<bool> is_kthread;
  bool is_guess = false;
  bool is_void = false;  // a wrong guess: no row
};

// The life of a tid, as this class sees it:
//
//   first seen (any event) --> thread without process --> ProcessTree, marker or fork names it
//   fork, new thread       --> a new utid, whatever had that tid before is over
//   free                   --> end_ts; the tid means nobody until it is seen again (exit is not the
//                              end: an exiting thread still switches away)
class ThreadTracker {
 public:
  explicit ThreadTracker(StringPool& strings);

  // tid 0 is utid 0, "swapper", of upid 0: called once a trace of the kernel's scheduler is seen.
  void UseIdleThread();

  Utid GetThread(std::int64_t tid) {
    if (tid >= 0 && tid < static_cast<std::int64_t>(live_.size())) {
      const Utid utid = live_[static_cast<std::size_t>(tid)];
      if (utid != kNone) return utid;
    }
    return StartThread(std::nullopt, tid);
  }
  Utid FindThread(std::int64_t tid) const;  // kNone: not alive
  bool IsAlive(Utid utid) const;
  Upid GetProcess(std::int64_t pid);
  // The thread `tid` of process `pid`, both made when they are new.
  Utid ThreadOfProcess(std::int64_t tid, std::int64_t pid);

  Utid StartThread(std::optional<std::int64_t> ts, std::int64_t tid);
  // A thread made by `creator`: of the same process, known or not yet known.
  Utid CloneThread(std::int64_t ts, Utid creator, std::int64_t tid, StringId name);
  // A process made by `creator`, with its main thread. Whoever had that pid before is over.
  // With `is_guess` nothing says whether it is a process or a thread of the creator's: it counts as
  // a process until something names the process of that tid.
  Upid ForkProcess(std::int64_t ts, Utid creator, std::int64_t pid, StringId name,
                   bool is_guess = false);
  // At the end of the trace: parents of guessed processes that nothing has named count as the main
  // threads of processes of their own.
  void Settle();
  void EndThread(std::int64_t ts, std::int64_t tid);

  void NameThread(Utid utid, StringId name, NameSource source);
  // A rename by the kernel: names the process too when the thread is its main one.
  void RenameThread(Utid utid, StringId name);
  void NameProcess(Upid upid, StringId name);
  void SetParent(Upid upid, Upid parent);  // the first parent stays

  const std::vector<Thread>& threads() const { return threads_; }
  const std::vector<Process>& processes() const { return processes_; }
  Thread& thread(Utid utid) { return threads_[utid]; }
  Process& process(Upid upid) { return processes_[upid]; }
  Upid upid_of(Utid utid) const { return threads_[utid].upid; }

  std::uint64_t reparented() const { return reparented_; }
  std::uint64_t conflicts() const { return conflicts_; }

 private:
  Utid FindInProcess(std::int64_t tid, std::int64_t pid) const;
  void SetLive(std::int64_t tid, Utid utid);
  void ForgetTid(std::int64_t tid);
  void RefreshLive(std::int64_t tid);
  void RefreshThreadsOf(Upid upid);
  void JoinProcess(Utid utid, Upid upid, bool is_main);
  void Associate(Utid a, Utid b);
  void ResolvePending(Utid utid, Upid upid);
  Utid AddToProcess(std::int64_t tid, Upid upid, bool is_main);

  StringPool& strings_;
  std::vector<Thread> threads_;
  std::vector<Process> processes_;
  // tid -> the thread it means now; tids beyond the kernel's largest go to the map.
  std::vector<Utid> live_;
  std::unordered_map<std::int64_t, Utid> live_other_;
  // All threads of a tid that are not ended, oldest first.
  std::unordered_map<std::int64_t, std::vector<Utid>> by_tid_;
  std::unordered_map<std::int64_t, Upid> by_pid_;
  std::unordered_map<Upid, std::vector<Utid>> threads_of_;
  // Pairs of threads known to share a process that is not known yet, and processes whose parent is
  // the process, not known yet, of a thread.
  std::vector<std::pair<Utid, Utid>> pending_;
  std::vector<std::pair<Utid, Upid>> pending_parents_;
  std::uint64_t reparented_ = 0;
  std::uint64_t conflicts_ = 0;
};

}  // namespace culprit::load
