// What the tests of `culprit record` stand on: running the program, loads whose truth is known, and
// the facts of a trace file by a reader of its own (not the program's). Asserts nothing itself.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace culprit::record_test {

// Empty where recording is possible.
std::string WhyNoRecording();
bool HasCopyTraceMarker();

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }
  std::vector<std::string> Names() const { return NamesIn(path_); }  // sorted
  static std::vector<std::string> NamesIn(const std::string& path);

 private:
  std::string path_;
};

struct Outcome {
  int status = -1;  // 128 + signal when one ended it
  std::string out;
  std::string err;
};
std::string Program();
// Runs to the end.
Outcome RunProgram(const std::vector<std::string>& words, const std::string& input = "",
                   const std::string& directory = "");
Outcome RunCulprit(std::vector<std::string> words, const std::string& input = "",
                   const std::string& directory = "");
std::string TrimmedLine(const std::string& text);

// Waits for up to half a minute on a busy machine: a limit against hanging, not a measure.
bool Eventually(const std::function<bool()>& is_so);

// A culprit that goes on beside the test; killed at the end.
class Child {
 public:
  explicit Child(pid_t pid, std::string output_path);
  Child(Child&& other) noexcept;
  ~Child();
  void Signal(int signal) const;
  int Wait();  // exit status
  std::string Output() const;
  bool HasInstance() const;
  bool WaitForInstance() const;  // until it is tracing
  pid_t Guardian() const;        // 0 when there is none

 private:
  pid_t pid_;
  int status_ = -1;
  std::string instance_;
  std::string output_path_;
};
Child StartCulprit(std::vector<std::string> words);

// Instances of recorders that this process or its children started.
std::vector<std::string> OwnInstances();

// A thread that makes system calls without a pause.
class SyscallLoad {
 public:
  SyscallLoad();
  ~SyscallLoad();
  pid_t tid() const { return tid_; }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<pid_t> tid_ = 0;
  std::thread thread_;
};

// A shell that starts one short process after the other.
pid_t StartShellLoop();
// One wait in D state: the caller of vfork, until its child exits.
void WaitInVfork();
// Writes TAG0, TAG1, ... to trace_marker for that long; returns how many.
std::uint64_t WriteMarks(const std::string& tag, std::chrono::milliseconds time);

struct TraceFacts {
  bool whole = false;  // nothing but whole packets, and every message in them well formed
  std::size_t packets = 0;
  std::size_t clock_snapshots = 0, system_infos = 0, trace_configs = 0;
  std::size_t process_trees = 0, process_stats = 0;
  std::map<std::int32_t, std::string> process_names;  // pid -> first word of its command line
  std::uint64_t switches = 0;
  std::uint64_t d_switches = 0;  // of them into D state
  std::uint64_t syscalls = 0;    // entries and exits
  std::set<std::int32_t> syscall_tids;
  std::vector<std::string> exec_names;
  std::vector<std::uint64_t> marks;  // numbers behind the tag
  std::vector<std::string> unknown_events;
  std::uint64_t overrun_at_start = 0, overrun_at_end = 0;
  std::size_t sys_stats = 0, cpu_times = 0, meminfo_values = 0, vmstat_values = 0;
  std::vector<std::string> counter_names;
};
TraceFacts ReadTrace(const std::string& path, const std::string& mark_tag = "");

}  // namespace culprit::record_test
