// A task's files as text gives them: stat, status, schedstat, cgroup. Ids are in our words: tid is
// the kernel's pid, pid its tgid. Nothing here opens a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace culprit::kernel {

// /proc/PID/stat or /proc/PID/task/TID/stat. The comm may hold anything, ")" and newlines too.
struct TaskStat {
  std::int32_t tid = 0;
  std::string_view comm;
  char state = '?';  // R S D Z T t X I P, as the kernel prints it
  std::int32_t parent_pid = 0;
  std::int32_t process_group = 0;
  std::int32_t session = 0;
  std::uint64_t flags = 0;  // PF_*; kKernelThread tells kernel threads
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t user_ticks = 0;    // 1/100 s
  std::uint64_t system_ticks = 0;  // 1/100 s
  std::int64_t priority = 0;
  std::int64_t nice = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;  // since boot, 1/100 s; with tid it names a task for good
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_pages = 0;
  std::uint32_t cpu = 0;                     // where it ran last
  std::optional<std::uint64_t> blkio_ticks;  // time waiting for block IO; 0 with delayacct off
};
inline constexpr std::uint64_t kKernelThread = 0x00200000;

// Nothing for a torn or foreign text.
std::optional<TaskStat> ParseTaskStat(std::string_view text);

// The lines of /proc/PID/status that are of use; memory is absent for kernel threads.
struct TaskStatus {
  std::string_view name;            // escaped by the kernel: "\n" is two characters here
  std::optional<std::int32_t> pid;  // "Tgid"
  std::optional<std::int32_t> tid;  // "Pid"
  std::optional<std::int32_t> parent_pid;
  std::optional<std::int32_t> tracer_tid;
  std::optional<std::uint32_t> uid;  // effective
  std::optional<std::uint64_t> threads;
  // tid in each pid namespace, outermost first: "NSpid"; more than one is a container.
  std::vector<std::int32_t> namespace_tids;
  std::optional<std::uint64_t> peak_rss_bytes, rss_bytes, rss_anon_bytes, rss_file_bytes;
  std::optional<std::uint64_t> rss_shmem_bytes, swap_bytes, locked_bytes, virtual_bytes;
  std::optional<std::uint64_t> voluntary_switches, involuntary_switches;
  std::optional<std::uint64_t> effective_capabilities;
  std::string_view allowed_cpus;  // "0-7"
};
bool ParseTaskStatus(std::string_view text, TaskStatus& status);

// /proc/PID/schedstat: ns on a CPU, ns runnable without one, slices.
struct TaskSchedStat {
  std::uint64_t run_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t slices = 0;
};
std::optional<TaskSchedStat> ParseTaskSchedStat(std::string_view text);

// /proc/PID/cgroup: one line a hierarchy. The v2 hierarchy has number 0 and no controllers.
struct CgroupLine {
  std::uint32_t hierarchy = 0;
  std::string_view controllers;  // "cpu,cpuacct", "name=systemd", "" for v2
  std::string_view path;
};
bool ParseTaskCgroups(std::string_view text, std::vector<CgroupLine>& lines);

// /proc/PID/stack: function names, deepest first ("nfs_wait_bit_killable"), without offsets and
// modules.
void ParseTaskStack(std::string_view text, std::vector<std::string_view>& functions);

}  // namespace culprit::kernel
