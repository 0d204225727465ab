// RowStream: the rows of one table on their way out. Rows get ids in order and may change while
// they are open; blocks of rows that no longer change go to a BlockSink. Memory stays bounded: a
// row that is open for longer than the window is set aside and leaves late.
//
//   Append -> [block][block]...[block being filled] -> sink, in order, as soon as closed
//                ^ oldest; when the window is full its open rows move to `late_`
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "load/rows.h"

namespace culprit::load {

inline constexpr std::size_t kBlockRows = 2048;  // DuckDB's vector size

template <class Row>
struct RowBlock {
  std::size_t count = 0;
  std::array<Row, kBlockRows> rows;
};

// Where full blocks go. Two implementations: the tables (append_pool.h), and vectors in tests.
template <class Row>
class BlockSink {
 public:
  virtual ~BlockSink() = default;
  virtual void Take(std::unique_ptr<RowBlock<Row>> block) = 0;
  // An empty block, used before where that is possible: fresh memory costs a page fault a page.
  virtual std::unique_ptr<RowBlock<Row>> NewBlock() {
    auto block = std::make_unique_for_overwrite<RowBlock<Row>>();
    block->count = 0;
    return block;
  }
};

template <class Row>
class RowStream {
 public:
  // About a million rows: what is open for longer leaves late.
  static constexpr std::size_t kWindowBlocks = 512;

  explicit RowStream(BlockSink<Row>* sink, std::size_t window_blocks = kWindowBlocks)
      : sink_(sink), window_blocks_(window_blocks) {}

  RowId next_id() const { return next_id_; }

  // A row that will not change.
  RowId Append(Row row) {
    Push(row);
    return next_id_++;
  }

  // A row that may change until it is closed.
  RowId Open(Row row) {
    Push(row);
    window_.back().SetOpen(next_id_ % kBlockRows);
    return next_id_++;
  }

  // An open row; the pointer is valid until the next Append or Open.
  Row* Find(RowId id) {
    if (id >= first_id_) return &InWindow(id);
    const auto late = late_.find(id);
    return late == late_.end() ? nullptr : &late->second;
  }

  // Closing a closed row does nothing.
  void Close(RowId id) {
    if (id >= first_id_) {
      window_[(id - first_id_) / kBlockRows].SetClosed(id % kBlockRows);
      return;
    }
    const auto late = late_.find(id);
    if (late == late_.end()) return;
    PushLate(late->second);
    late_.erase(late);
  }

  // Everything leaves, open rows as they are.
  void Finish() {
    while (!window_.empty()) LetGoOfOldest();
    // In order of id, so that the same trace gives the same table.
    std::vector<RowId> ids;
    for (const auto& [id, row] : late_) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    for (const RowId id : ids) PushLate(late_.at(id));
    late_.clear();
    if (late_block_ != nullptr) sink_->Take(std::move(late_block_));
  }

 private:
  struct Slot {
    std::unique_ptr<RowBlock<Row>> block;
    std::array<std::uint64_t, kBlockRows / 64> is_open{};
    std::uint32_t open_count = 0;

    bool IsOpen(std::size_t row) const { return (is_open[row / 64] >> (row % 64) & 1) != 0; }
    void SetOpen(std::size_t row) {
      is_open[row / 64] |= std::uint64_t{1} << (row % 64);
      ++open_count;
    }
    void SetClosed(std::size_t row) {
      if (!IsOpen(row)) return;
      is_open[row / 64] &= ~(std::uint64_t{1} << (row % 64));
      --open_count;
    }
  };

  Row& InWindow(RowId id) {
    return window_[(id - first_id_) / kBlockRows].block->rows[id % kBlockRows];
  }

  void Push(Row& row) {
    row.id = next_id_;
    if (window_.empty() || window_.back().block->count == kBlockRows) {
      Drain();
      window_.emplace_back();
      window_.back().block = sink_->NewBlock();
    }
    RowBlock<Row>& block = *window_.back().block;
    block.rows[block.count++] = row;
  }

  // Lets go of the oldest blocks: those without an open row, and those beyond the window.
  void Drain() {
    while (!window_.empty()) {
      if (window_.front().open_count > 0) {
        if (window_.size() < window_blocks_) return;
        SetAsideOpenRows(window_.front());
      }
      LetGoOfOldest();
    }
  }

  void LetGoOfOldest() {
    first_id_ += kBlockRows;
    sink_->Take(std::move(window_.front().block));
    window_.pop_front();
  }

  void SetAsideOpenRows(Slot& slot) {
    RowBlock<Row>& block = *slot.block;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < block.count; ++i) {
      if (slot.IsOpen(i)) {
        late_.emplace(block.rows[i].id, block.rows[i]);
      } else {
        block.rows[kept++] = block.rows[i];
      }
    }
    block.count = kept;
  }

  void PushLate(const Row& row) {
    if (late_block_ == nullptr) late_block_ = sink_->NewBlock();
    late_block_->rows[late_block_->count++] = row;
    if (late_block_->count == kBlockRows) sink_->Take(std::move(late_block_));
  }

  BlockSink<Row>* sink_;
  std::size_t window_blocks_;
  std::deque<Slot> window_;
  RowId first_id_ = 0;  // of the oldest block; a multiple of kBlockRows
  RowId next_id_ = 0;
  std::unordered_map<RowId, Row> late_;
  std::unique_ptr<RowBlock<Row>> late_block_;
};

}  // namespace culprit::load
