// Where the rows of a load go: into the tables of a database, or nowhere (a pass for raw events
// runs the same state machines and keeps none of their rows).
#pragma once

#include <memory>
#include <vector>

#include "load/append_pool.h"
#include "load/importer.h"
#include "load/rows.h"
#include "load/string_pool.h"
#include "load/thread_tracker.h"

namespace culprit::load {

// Fills in what is known only when a row leaves: the process of its thread. Rows that leave before
// it is known are put right at the end.
class SchedSink final : public BlockSink<SchedRow> {
 public:
  // `*threads` is set before the first row.
  SchedSink(AppendPool& pool, const ThreadTracker* const* threads);

  void Take(std::unique_ptr<RowBlock<SchedRow>> block) override;
  std::unique_ptr<RowBlock<SchedRow>> NewBlock() override { return out_.NewBlock(); }
  void Finish() { out_.Finish(); }
  // Threads of which a row left without the process that is known by now.
  std::vector<std::int64_t> StaleThreads() const;

 private:
  TableSink<SchedRow> out_;
  const ThreadTracker* const* threads_;
  std::vector<bool> left_without_;  // by utid
};

class TableSinks {
 public:
  TableSinks(AppendPool& pool, const ThreadTracker* const* threads, const StringPool& strings);

  RowSinks Refs() {
    return {&sched_,   &thread_state_, &spurious_,      &slice_,
            &counter_, &block_io_,     &blocked_stack_, &perf_sample_};
  }
  // The last segments of all tables.
  void Finish();
  const SchedSink& sched() const { return sched_; }

 private:
  SchedSink sched_;
  TableSink<ThreadStateRow> thread_state_;
  TableSink<SpuriousWakeupRow> spurious_;
  TableSink<SliceRow> slice_;
  TableSink<CounterRow> counter_;
  TableSink<BlockIoRow> block_io_;
  TableSink<BlockedStackRow> blocked_stack_;
  TableSink<PerfSampleRow> perf_sample_;
};

class NoSinks {
 public:
  RowSinks Refs() {
    return {&sched_,   &thread_state_, &spurious_,      &slice_,
            &counter_, &block_io_,     &blocked_stack_, &perf_sample_};
  }

  template <class Row>
  class Nowhere final : public BlockSink<Row> {
   public:
    void Take(std::unique_ptr<RowBlock<Row>>) override {}
  };

 private:
  Nowhere<SchedRow> sched_;
  Nowhere<ThreadStateRow> thread_state_;
  Nowhere<SpuriousWakeupRow> spurious_;
  Nowhere<SliceRow> slice_;
  Nowhere<CounterRow> counter_;
  Nowhere<BlockIoRow> block_io_;
  Nowhere<BlockedStackRow> blocked_stack_;
  Nowhere<PerfSampleRow> perf_sample_;
};

}  // namespace culprit::load
