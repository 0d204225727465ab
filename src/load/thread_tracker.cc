#include "load/thread_tracker.h"

#include <algorithm>

namespace culprit::load {
namespace {
constexpr std::int64_t kLargestTid = 1 << 22;  // PID_MAX_LIMIT of a 64-bit kernel
}

ThreadTracker::ThreadTracker(StringPool& strings) : strings_(strings) {
  // utid 0 and upid 0 belong to the idle threads, whether the trace has them or not.
  processes_.emplace_back();
  Thread idle;
  idle.upid = 0;
  idle.is_main_thread = true;
  idle.is_idle = true;
  threads_.push_back(idle);
}

void ThreadTracker::UseIdleThread() {
  SetLive(0, 0);
  by_tid_[0] = {0};
  by_pid_[0] = 0;
  NameThread(0, strings_.Intern("swapper"), NameSource::kConstant);
}

bool ThreadTracker::IsAlive(Utid utid) const {
  const Thread& thread = threads_[utid];
  if (thread.end_ts.has_value()) return false;
  if (thread.upid == kNone) return true;
  const Process& process = processes_[thread.upid];
  if (process.end_ts.has_value()) return false;
  const auto current = by_pid_.find(process.pid);
  return current == by_pid_.end() || current->second == thread.upid;
}

void ThreadTracker::SetLive(std::int64_t tid, Utid utid) {
  if (tid < 0 || tid > kLargestTid) {
    live_other_[tid] = utid;
    return;
  }
  const auto index = static_cast<std::size_t>(tid);
  if (index >= live_.size()) live_.resize(std::max(index + 1, live_.size() * 2), kNone);
  live_[index] = utid;
}

Utid ThreadTracker::FindThread(std::int64_t tid) const {
  if (tid >= 0 && tid < static_cast<std::int64_t>(live_.size())) {
    return live_[static_cast<std::size_t>(tid)];
  }
  const auto found = live_other_.find(tid);
  return found == live_other_.end() ? kNone : found->second;
}

void ThreadTracker::ForgetTid(std::int64_t tid) {
  by_tid_.erase(tid);
  if (FindThread(tid) != kNone) SetLive(tid, kNone);
}

void ThreadTracker::RefreshLive(std::int64_t tid) {
  const auto found = by_tid_.find(tid);
  if (found != by_tid_.end()) {
    for (auto utid = found->second.rbegin(); utid != found->second.rend(); ++utid) {
      if (IsAlive(*utid)) return SetLive(tid, *utid);
    }
  }
  if (FindThread(tid) != kNone) SetLive(tid, kNone);
}

void ThreadTracker::RefreshThreadsOf(Upid upid) {
  const auto found = threads_of_.find(upid);
  if (found == threads_of_.end()) return;
  for (const Utid utid : found->second) RefreshLive(threads_[utid].tid);
}

Utid ThreadTracker::StartThread(std::optional<std::int64_t> ts, std::int64_t tid) {
  // A tid that is outside the table may be alive all the same.
  if (!ts.has_value()) {
    const Utid living = FindThread(tid);
    if (living != kNone) return living;
  }
  const auto utid = static_cast<Utid>(threads_.size());
  Thread thread;
  thread.tid = tid;
  thread.start_ts = ts;
  threads_.push_back(thread);
  by_tid_[tid].push_back(utid);
  SetLive(tid, utid);
  return utid;
}

Utid ThreadTracker::FindInProcess(std::int64_t tid, std::int64_t pid) const {
  const auto found = by_tid_.find(tid);
  if (found == by_tid_.end()) return kNone;
  for (auto utid = found->second.rbegin(); utid != found->second.rend(); ++utid) {
    if (!IsAlive(*utid)) continue;
    const Upid upid = threads_[*utid].upid;
    if (upid == kNone || processes_[upid].pid == pid || processes_[upid].is_guess) return *utid;
  }
  return kNone;
}

void ThreadTracker::JoinProcess(Utid utid, Upid upid, bool is_main) {
  threads_[utid].upid = upid;
  threads_[utid].is_main_thread = is_main;
  threads_of_[upid].push_back(utid);
}

Utid ThreadTracker::AddToProcess(std::int64_t tid, Upid upid, bool is_main) {
  Utid utid = FindInProcess(tid, processes_[upid].pid);
  if (utid == kNone) {
    utid = static_cast<Utid>(threads_.size());
    Thread thread;
    thread.tid = tid;
    threads_.push_back(thread);
    by_tid_[tid].push_back(utid);
  } else {
    // Named again: the newest of those that had this tid.
    std::vector<Utid>& all = by_tid_[tid];
    if (all.back() != utid) {
      all.erase(std::remove(all.begin(), all.end(), utid), all.end());
      all.push_back(utid);
    }
  }
  SetLive(tid, utid);
  if (const Upid guess = threads_[utid].upid;
      guess != kNone && guess != upid && processes_[guess].is_guess) {
    processes_[guess].is_void = true;
    by_pid_.erase(processes_[guess].pid);
    threads_of_.erase(guess);
    threads_[utid].upid = kNone;
  }
  if (threads_[utid].upid == kNone) JoinProcess(utid, upid, is_main);
  ResolvePending(utid, threads_[utid].upid);
  return utid;
}

Utid ThreadTracker::ThreadOfProcess(std::int64_t tid, std::int64_t pid) {
  const Upid upid = GetProcess(pid);
  return AddToProcess(tid, upid, tid == pid);
}

Upid ThreadTracker::GetProcess(std::int64_t pid) {
  const auto found = by_pid_.find(pid);
  if (found != by_pid_.end()) return found->second;
  const auto upid = static_cast<Upid>(processes_.size());
  by_pid_[pid] = upid;
  Process process;
  process.pid = pid;
  processes_.push_back(process);
  AddToProcess(pid, upid, true);
  return upid;
}

Utid ThreadTracker::CloneThread(std::int64_t ts, Utid creator, std::int64_t tid, StringId name) {
  const Utid utid = StartThread(ts, tid);
  NameThread(utid, name, NameSource::kFtrace);
  Associate(creator, utid);
  return utid;
}

Upid ThreadTracker::ForkProcess(std::int64_t ts, Utid creator, std::int64_t pid, StringId name,
                                bool is_guess) {
  Upid replaced = kNone;
  if (const auto found = by_pid_.find(pid); found != by_pid_.end()) replaced = found->second;
  by_pid_.erase(pid);
  ForgetTid(pid);
  const Utid main_thread = StartThread(ts, pid);
  NameThread(main_thread, name, NameSource::kFtrace);
  const Upid upid = GetProcess(pid);
  processes_[upid].start_ts = ts;
  processes_[upid].is_guess = is_guess;
  NameProcess(upid, name);
  if (replaced != kNone) RefreshThreadsOf(replaced);
  if (threads_[creator].upid != kNone) {
    processes_[upid].parent_upid = threads_[creator].upid;
  } else {
    pending_parents_.emplace_back(creator, upid);
  }
  return upid;
}

void ThreadTracker::EndThread(std::int64_t ts, std::int64_t tid) {
  const Utid utid = FindThread(tid);
  if (utid == kNone || utid == 0) return;
  Thread& thread = threads_[utid];
  thread.end_ts = ts;
  std::vector<Utid>& all = by_tid_[tid];
  all.erase(std::remove(all.begin(), all.end(), utid), all.end());
  RefreshLive(tid);
  // The kernel keeps the main thread until the last other one is gone: its end is the process's.
  if (thread.upid == kNone || processes_[thread.upid].pid != tid) return;
  processes_[thread.upid].end_ts = ts;
  by_pid_.erase(tid);
  RefreshThreadsOf(thread.upid);
}

void ThreadTracker::Settle() {
  const auto pending = pending_parents_;
  for (const auto& [creator, child] : pending) {
    if (!processes_[child].is_guess || processes_[child].is_void) continue;
    if (threads_[creator].upid == kNone) {
      const auto upid = static_cast<Upid>(processes_.size());
      Process process;
      process.pid = threads_[creator].tid;
      process.name = threads_[creator].name;
      process.end_ts = threads_[creator].end_ts;
      processes_.push_back(process);
      JoinProcess(creator, upid, true);
    }
    ResolvePending(creator, threads_[creator].upid);
  }
}

void ThreadTracker::NameThread(Utid utid, StringId name, NameSource source) {
  if (name == kNoString) return;
  Thread& thread = threads_[utid];
  if (source < thread.name_source) return;
  thread.name = name;
  thread.name_source = source;
}

void ThreadTracker::RenameThread(Utid utid, StringId name) {
  NameThread(utid, name, NameSource::kFtrace);
  const Thread& thread = threads_[utid];
  if (thread.upid != kNone && processes_[thread.upid].pid == thread.tid) {
    NameProcess(thread.upid, name);
  }
}

void ThreadTracker::NameProcess(Upid upid, StringId name) {
  if (name != kNoString) processes_[upid].name = name;
}

void ThreadTracker::SetParent(Upid upid, Upid parent) {
  Upid& current = processes_[upid].parent_upid;
  if (current == kNone) {
    current = parent;
  } else if (current != parent) {
    ++reparented_;
  }
}

void ThreadTracker::Associate(Utid a, Utid b) {
  if (threads_[a].upid == kNone && threads_[b].upid == kNone) {
    pending_.emplace_back(a, b);
    return;
  }
  if (threads_[a].upid == kNone) std::swap(a, b);
  const Upid upid = threads_[a].upid;
  if (threads_[b].upid == kNone) {
    JoinProcess(b, upid, threads_[b].tid == processes_[upid].pid);
    ResolvePending(b, upid);
  } else if (threads_[b].upid != upid) {
    ++conflicts_;
  }
}

void ThreadTracker::ResolvePending(Utid utid, Upid upid) {
  if (pending_.empty() && pending_parents_.empty()) return;
  std::vector<Utid> resolved = {utid};
  while (!resolved.empty()) {
    const Utid known = resolved.back();
    resolved.pop_back();
    std::erase_if(pending_parents_, [&](const std::pair<Utid, Upid>& pair) {
      if (pair.first != known) return false;
      if (processes_[pair.second].parent_upid == kNone) processes_[pair.second].parent_upid = upid;
      return true;
    });
    std::erase_if(pending_, [&](const std::pair<Utid, Utid>& pair) {
      if (pair.first != known && pair.second != known) return false;
      const Utid other = pair.first == known ? pair.second : pair.first;
      if (threads_[other].upid == kNone) {
        JoinProcess(other, upid, threads_[other].tid == processes_[upid].pid);
        resolved.push_back(other);
      }
      return true;
    });
  }
}

}  // namespace culprit::load
