#include "health/stack_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace culprit::health {
namespace {

constexpr StackClass kClasses[] = {
    {"NFS", "rpc_wait_bit_killable|^nfs_|^nfs4_", "a mount whose NFS server does not answer",
     "check the server and the way to it (mount.hung, mount.nfs); umount -f, then umount -l frees "
     "the "
     "mount point; NFS waits end on kill -9 since 2.6.25, unless the task is in a plain D wait"},
    {"Ceph", "^ceph_|^rbd_", "a Ceph mount or RBD device whose OSD or MDS does not answer",
     "ceph -s on an admin host; /sys/kernel/debug/ceph/*/osdc and mdsc; kill -9 does not help"},
    {"Lustre", "^ptlrpc_|^ll_|^osc_|^cl_", "a Lustre import that is not FULL",
     "lfs check servers; lctl get_param *.*.import; kill -9 does not help"},
    {"FUSE", "^fuse_", "a FUSE file system whose server stopped answering",
     "look at the server process (is it stopped, dead, stuck itself?); umount -l, or write 1 to "
     "/sys/fs/fuse/connections/MINOR/abort, which frees the waiters"},
    {"GPU driver", "nvidia|^uvm_|^nv_|^rm_|os_acquire", "the NVIDIA driver, or the GPU behind it",
     "see gpu.xid; nvidia-bug-report.sh before anything else; a reset needs every user gone; a "
     "reboot "
     "is often the only way out here"},
    {"memory reclaim", "^try_to_free_pages|^shrink_|throttle_direct_reclaim",
     "memory: the task frees pages itself before it gets one",
     "see memory.reclaim and memory.psi; lower the job's memory or raise the limit"},
    {"writeback", "balance_dirty_pages|folio_wait|wait_on_page",
     "a disk or mount that writes slower than the task dirties",
     "see disk.latency and memory.dirty; lower vm.dirty_bytes; find the slow device"},
    {"journal", "jbd2|xfs_log|xlog_", "a file system journal that waits for its disk",
     "see disk.latency of the disk under that file system"},
    {"block IO", "blk_mq_|nvme_|^submit_bio_wait", "a block device",
     "see disk.stuck and disk.errors; a request that never comes back means a dead path or device"},
    {"vfork parent", "kernel_clone|vfork|^wait_for_vfork_done|^_do_fork",
     "its own child, which has neither exec'ed nor ended",
     "look at the child (ps --ppid TID): it is what is stuck; ending it frees the parent"},
    // The functions of locks themselves are left out of /proc/PID/stack: what is seen is who wants
    // it.
    {"mmap lock",
     "=__access_remote_vm|=access_remote_vm|=vm_mmap_pgoff|=__vm_munmap|=do_mprotect_pkey|"
     "=do_madvise|=madvise_lock|=lock_mm_and_find_vma|=do_user_addr_fault|=__do_sys_brk|=m_start|"
     "=proc_pid_cmdline_read|=dup_mmap|=do_mincore",
     "the mmap lock of a process, which another thread holds; of another process when this one "
     "reads its /proc files (ps, top)",
     "look at the other findings: a thread of that process is stuck with the lock held; keep ps "
     "and top away from it"},
    {"lock", "mutex|rwsem|rwbase|percpu_down", "a kernel lock whose owner is elsewhere",
     "look at the other groups: the owner is usually among them"},
    {"unknown", "", "no frame of the table",
     "send the stack to whoever keeps the driver or file system"},
};

// Classes that are a place of many purposes: the frames above them say for whom.
constexpr std::string_view kGeneral[] = {"memory reclaim", "writeback", "journal", "block IO",
                                         "lock"};

bool IsGeneral(const StackClass& kind) {
  return std::ranges::find(kGeneral, kind.name) != std::end(kGeneral);
}

bool FrameMatches(std::string_view frame, std::string_view patterns, bool deepest) {
  for (const std::string_view pattern : Split(patterns, '|')) {
    if (pattern.empty()) continue;
    const std::string_view text = pattern.substr(1);
    const bool fits = pattern.front() == '='   ? deepest && frame == text
                      : pattern.front() == '^' ? frame.starts_with(text)
                                               : frame.find(pattern) != frame.npos;
    if (fits) return true;
  }
  return false;
}

const StackClass* ClassOfFrame(std::string_view frame, bool deepest) {
  for (const StackClass& kind : kClasses) {
    if (FrameMatches(frame, kind.patterns, deepest)) return &kind;
  }
  return nullptr;
}

}  // namespace

std::span<const StackClass> StackClasses() { return kClasses; }

const StackClass& ClassifyStack(const TaskRow& row) {
  bool deepest = true;
  for (const std::string& frame : row.stack) {
    if (const StackClass* kind = ClassOfFrame(frame, deepest)) return *kind;
    deepest = false;
  }
  if (row.stack.empty() && !row.wchan.empty()) {
    if (const StackClass* kind = ClassOfFrame(row.wchan, true)) return *kind;
  }
  return kClasses[std::size(kClasses) - 1];
}

const StackClass* OnBehalfOf(const TaskRow& row) {
  bool general = false;
  for (const std::string& frame : row.stack) {
    const StackClass* kind = ClassOfFrame(frame, &frame == &row.stack.front());
    if (kind == nullptr) continue;
    if (!IsGeneral(*kind)) return general && kind->name != "vfork parent" ? kind : nullptr;
    general = true;
  }
  return nullptr;
}

std::string StackGroup::Frames() const {
  const TaskRow& row = *rows.front();
  if (row.stack.empty()) {
    return row.wchan.empty() ? "stack not readable (" + row.stack_error + ")"
                             : "wchan " + row.wchan;
  }
  std::string text;
  for (const std::string& frame : row.stack) {
    text += (text.empty() ? "" : " < ") + frame;
    if (text.size() > 400) return text + " ...";
  }
  return text;
}

std::string StackGroup::Describe() const {
  std::map<std::string, std::size_t> comms;
  for (const TaskRow* row : rows) ++comms[row->comm];
  std::string names;
  std::size_t shown = 0;
  for (const auto& [comm, count] : comms) {
    if (++shown > 3) {
      names += ", ...";
      break;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", comm);
    if (count > 1) names += fmt::format(" x {}", count);
  }
  const TaskRow& row = *rows.front();
  const std::string where = !row.stack.empty() ? row.stack.front() : row.wchan;
  return fmt::format("{}{} ({}{})", names, where.empty() ? "" : " in " + where, kind->name,
                     behalf == nullptr ? "" : fmt::format(" for {}", behalf->name));
}

std::vector<StackGroup> GroupByStack(const std::vector<TaskRow>& rows, std::size_t most) {
  std::map<std::vector<std::string>, StackGroup> groups;
  for (const TaskRow& row : rows) {
    std::vector<std::string> key = row.stack;
    if (key.empty()) key = {"wchan " + row.wchan};
    StackGroup& group = groups[key];
    if (group.rows.empty()) group.kind = &ClassifyStack(row), group.behalf = OnBehalfOf(row);
    group.rows.push_back(&row);
    group.oldest_s = std::max(group.oldest_s, row.waited_s.value_or(0));
  }
  std::vector<StackGroup> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& group) { return group.rows.size(); });
  if (most > 0 && sorted.size() > most) sorted.resize(most);
  return sorted;
}

}  // namespace culprit::health
