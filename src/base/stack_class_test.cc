#include "base/stack_class.h"

#include <gtest/gtest.h>

#include <vector>

namespace culprit {
namespace {

using Frames = std::vector<std::string>;

TEST(WaitClass, NamesWhatIsWaitedForAndForWhom) {
  const struct {
    Frames frames;  // deepest first
    std::string_view expected;
  } kCases[] = {
      {{"folio_wait_bit_common", "filemap_update_page", "filemap_read"}, "disk read"},
      {{"folio_wait_bit_common", "filemap_read", "nfs_file_read", "vfs_read"}, "NFS"},
      {{"folio_wait_bit_common", "filemap_fault", "__do_fault"}, "page fault from file"},
      {{"folio_wait_bit_common", "do_swap_page", "handle_mm_fault"}, "swap in"},
      {{"submit_bio_wait", "swap_read_folio", "do_swap_page"}, "swap in"},
      {{"submit_bio_wait", "swap_writepage", "shrink_folio_list", "try_to_free_pages"},
       "memory reclaim"},
      {{"folio_wait_writeback", "__filemap_fdatawait_range", "ext4_sync_file"}, "writeback"},
      {{"jbd2_log_wait_commit", "ext4_fsync_journal"}, "journal"},
      {{"request_wait_answer", "__fuse_request_send"}, "FUSE"},
      {{"rwsem_down_read_slowpath", "nvidia_ioctl"}, "lock for GPU driver"},
      {{"rwsem_down_write_slowpath", "ext4_setattr"}, "lock"},
      {{"wait_for_completion", "kernel_clone", "__do_sys_vfork"}, "vfork parent"},
      {{"submit_bio_wait", "dm_something"}, "block IO"},
      {{"submit_bio_wait", "unknown_thing", "kernel_clone"}, "block IO"},
      {{"do_something_else"}, ""},
      {{}, ""},
  };
  for (const auto& [frames, expected] : kCases) {
    EXPECT_EQ(WaitClass(frames), expected) << (frames.empty() ? "no frames" : frames.front());
  }
}

}  // namespace
}  // namespace culprit
