#include "load/sinks.h"

#include "load/table_writers.h"

namespace culprit::load {

SchedSink::SchedSink(AppendPool& pool, const ThreadTracker* const* threads)
    : out_(pool, "__intrinsic_sched_slice",
           [](const auto& block, auto& out) { return WriteBlock(block, out); }),
      threads_(threads) {}

void SchedSink::Take(std::unique_ptr<RowBlock<SchedRow>> block) {
  for (std::size_t i = 0; i < block->count; ++i) {
    SchedRow& row = block->rows[i];
    row.upid = (*threads_)->upid_of(row.utid);
    if (row.upid != kNone) continue;
    if (row.utid >= left_without_.size()) left_without_.resize(row.utid + 1);
    left_without_[row.utid] = true;
  }
  out_.Take(std::move(block));
}

std::vector<std::int64_t> SchedSink::StaleThreads() const {
  std::vector<std::int64_t> stale;
  for (Utid utid = 0; utid < left_without_.size(); ++utid) {
    if (left_without_[utid] && (*threads_)->upid_of(utid) != kNone) stale.push_back(utid);
  }
  return stale;
}

TableSinks::TableSinks(AppendPool& pool, const ThreadTracker* const* threads,
                       const StringPool& strings)
    : sched_(pool, threads),
      thread_state_(
          pool, "__intrinsic_thread_state",
          [&strings](const auto& block, auto& out) { return WriteBlock(block, strings, out); }),
      spurious_(pool, "__intrinsic_spurious_sched_wakeup",
                [](const auto& block, auto& out) { return WriteBlock(block, out); }),
      slice_(pool, "__intrinsic_slice",
             [&strings](const auto& block, auto& out) { return WriteBlock(block, strings, out); }),
      counter_(pool, "__intrinsic_counter",
               [](const auto& block, auto& out) { return WriteBlock(block, out); }),
      block_io_(
          pool, "__intrinsic_block_io",
          [&strings](const auto& block, auto& out) { return WriteBlock(block, strings, out); }),
      blocked_stack_(pool, "blocked_stack",
                     [](const auto& block, auto& out) { return WriteBlock(block, out); }),
      perf_sample_(pool, "__intrinsic_perf_sample", [&strings](const auto& block, auto& out) {
        return WriteBlock(block, strings, out);
      }) {}

void TableSinks::Finish() {
  sched_.Finish();
  thread_state_.Finish();
  spurious_.Finish();
  slice_.Finish();
  counter_.Finish();
  block_io_.Finish();
  blocked_stack_.Finish();
  perf_sample_.Finish();
}

}  // namespace culprit::load
