#include "base/stack_class.h"

#include <algorithm>

#include "base/text.h"

namespace culprit {
namespace {

constexpr std::string_view kPageCache = "page cache";

constexpr StackClass kClasses[] = {
    {"NFS", "rpc_wait_bit_killable|^nfs_|^nfs4_", "a mount whose NFS server does not answer",
     "check the server and the way to it (mount.hung, mount.nfs); umount -f, then umount -l frees "
     "the "
     "mount point; NFS waits end on kill -9 since 2.6.25, unless the task is in a plain D wait"},
    {"Ceph", "^ceph_|^rbd_", "a Ceph mount or RBD device whose OSD or MDS does not answer",
     "ceph -s on an admin host; /sys/kernel/debug/ceph/*/osdc and mdsc; kill -9 does not help"},
    {"Lustre", "^ptlrpc_|^ll_|^osc_|^cl_", "a Lustre import that is not FULL",
     "lfs check servers; lctl get_param *.*.import; kill -9 does not help"},
    {"FUSE", "^fuse_|^__fuse_|^request_wait_answer",
     "a FUSE file system whose server stopped answering",
     "look at the server process (is it stopped, dead, stuck itself?); umount -l, or write 1 to "
     "/sys/fs/fuse/connections/MINOR/abort, which frees the waiters"},
    {"GPU driver", "nvidia|^uvm_|^nv_|^rm_|os_acquire", "the NVIDIA driver, or the GPU behind it",
     "see gpu.xid; nvidia-bug-report.sh before anything else; a reset needs every user gone; a "
     "reboot "
     "is often the only way out here"},
    {"memory reclaim",
     "^try_to_free_|^shrink_|throttle_direct_reclaim|^reclaim_throttle|^mem_cgroup_handle_over_"
     "high|"
     "^do_try_to_free_pages|^compact_zone|^try_to_compact_pages",
     "memory: the task frees pages itself before it gets one",
     "see memory.reclaim and memory.psi; lower the job's memory or raise the limit"},
    {"swap in", "^do_swap_page|^swap_read|^swap_cluster_readahead|^swapin_|^read_swap_cache",
     "memory that was swapped out and is needed again",
     "see memory.swap; lower the job's memory, raise its limit, or take away the swap"},
    {"page fault from file",
     "^filemap_fault|^__do_fault|^do_read_fault|^ext4_filemap_fault|"
     "^xfs_filemap_fault|^iomap_page_mkwrite|^ext4_page_mkwrite",
     "a page of a mapped file that must be read first",
     "read the file ahead (madvise, vmtouch) or keep it in memory; see memory.reclaim"},
    {"disk read",
     "^filemap_read|^filemap_get_pages|^filemap_update_page|^generic_file_buffered_read|"
     "^page_cache_ra_|^read_pages|^force_page_cache_|^mpage_readahead|^ext4_read_bh|^ext4_bread|"
     "^__bread|^ext4_sb_bread|^xfs_buf_read|^xfs_buf_iowait|^squashfs_|^isofs_bread",
     "data of a file that must be read first",
     "read ahead or cache it; see disk.latency and disk.saturated"},
    {"writeback",
     "balance_dirty_pages|folio_wait_writeback|wait_on_page_writeback|^writeback_|^file_write_and_"
     "wait|"
     "^__filemap_fdatawait|^filemap_fdatawait|^rq_qos_wait|^wbt_wait|^sync_inodes",
     "a disk or mount that writes slower than the task dirties",
     "see disk.latency and memory.dirty; lower vm.dirty_bytes; find the slow device"},
    {"journal", "jbd2|xfs_log|xlog_", "a file system journal that waits for its disk",
     "see disk.latency of the disk under that file system"},
    {"block IO",
     "blk_mq_|nvme_|^submit_bio_wait|^__wait_on_buffer|^__sync_dirty_buffer|^__iomap_dio_rw|"
     "^__blockdev_direct_IO|^blkdev_issue_flush",
     "a block device",
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
    // Tried when nothing else fits: whoever waits for a page is told by the frames above.
    {kPageCache, "folio_wait|wait_on_page|folio_lock|__lock_page",
     "a page of the page cache: read or written back by a disk",
     "see disk.latency of the disk under that file system"},
    {"unknown", "", "no frame of the table",
     "send the stack to whoever keeps the driver or file system"},
};

// Classes that are a place of many purposes: the frames above them say for whom.
constexpr std::string_view kGeneral[] = {
    "memory reclaim",       "writeback", "journal", "block IO", "lock", "disk read",
    "page fault from file", kPageCache};

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

const StackClass& ClassifyFrames(std::span<const std::string> frames) {
  const StackClass* last_resort = &kClasses[std::size(kClasses) - 1];
  bool deepest = true;
  for (const std::string& frame : frames) {
    if (const StackClass* kind = ClassOfFrame(frame, deepest)) {
      if (kind->name != kPageCache) return *kind;
      last_resort = kind;
    }
    deepest = false;
  }
  return *last_resort;
}

const StackClass* OnBehalfOfFrames(std::span<const std::string> frames) {
  bool general = false;
  for (const std::string& frame : frames) {
    const StackClass* kind = ClassOfFrame(frame, &frame == &frames.front());
    if (kind == nullptr) continue;
    if (!IsGeneral(*kind)) return general && kind->name != "vfork parent" ? kind : nullptr;
    general = true;
  }
  return nullptr;
}

std::string WaitClass(std::span<const std::string> frames) {
  // A disk is waited for on behalf of whatever the first frame above it says that is no disk.
  std::size_t first = 0;
  const StackClass* kind = &ClassifyFrames(frames);
  for (; kind->name == "block IO" && first < frames.size(); ++first) {
    const StackClass& above = ClassifyFrames(frames.subspan(first + 1));
    if (above.name == "unknown" || above.name == kPageCache || above.name == "vfork parent") break;
    kind = &above;
  }
  const StackClass* behalf = OnBehalfOfFrames(frames.subspan(first));
  if (kind->name == "unknown") return "";
  if (behalf == nullptr || behalf == kind || behalf->name == "mmap lock") {
    return std::string(kind->name);
  }
  return kind->name == "lock" ? "lock for " + std::string(behalf->name) : std::string(behalf->name);
}

}  // namespace culprit
