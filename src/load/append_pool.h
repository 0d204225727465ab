// AppendPool: worker threads that append rows to tables. Work comes in segments; those of a table
// are committed in the order in which they came, so that rows lie in order of their ids.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "load/row_stream.h"
#include "tables/appender.h"
#include "tables/column_store.h"
#include "tables/database.h"

namespace culprit::load {

class AppendPool {
 public:
  AppendPool(const tables::Database& database, unsigned threads);
  ~AppendPool();
  AppendPool(const AppendPool&) = delete;
  AppendPool& operator=(const AppendPool&) = delete;

  using Fill = std::function<Status(tables::Appender&)>;
  // Waits while too many segments are under way: that bounds memory.
  void Submit(const std::string& table, std::size_t rows, Fill fill);
  // Waits until all is committed; the first Error of any segment.
  Status Finish();
  bool has_failed() const;
  // How many blocks make a segment. In memory it is a chunk of a stored table. In a file it is two
  // of DuckDB's row groups: of more than one it writes the full ones at once, compressed, and holds
  // them neither in memory nor in its log.
  std::size_t segment_blocks() const {
    return (database_.is_file() ? 2 : 1) * tables::kStoredChunkRows / kBlockRows;
  }

 private:
  struct Segment {
    std::string table;
    std::uint64_t number;  // within its table
    std::size_t rows;      // at most
    Fill fill;
  };
  void Work();
  Status Append(Segment& segment);

  const tables::Database& database_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Segment> waiting_;
  std::map<std::string, std::uint64_t> submitted_;  // segments of a table
  std::map<std::string, std::uint64_t> committed_;
  std::size_t under_way_ = 0;
  std::size_t most_waiting_;
  bool is_done_ = false;
  std::optional<Error> error_;
  std::vector<std::thread> threads_;
};

// Collects the blocks of one table into segments.
template <class Row>
class TableSink final : public BlockSink<Row> {
 public:
  using Block = RowBlock<Row>;
  using Convert = std::function<Status(const Block&, tables::Appender&)>;

  TableSink(AppendPool& pool, std::string table, Convert convert)
      : pool_(pool), table_(std::move(table)), convert_(std::move(convert)) {}

  void Take(std::unique_ptr<Block> block) override {
    if (block->count == 0) return;
    blocks_.push_back(std::move(block));
    if (blocks_.size() == pool_.segment_blocks()) Submit();
  }
  std::unique_ptr<Block> NewBlock() override {
    const std::lock_guard lock(spare_->mutex);
    if (spare_->blocks.empty()) return BlockSink<Row>::NewBlock();
    auto block = std::move(spare_->blocks.back());
    spare_->blocks.pop_back();
    block->count = 0;
    return block;
  }
  // The last segment; to be called once the stream is finished.
  void Finish() {
    if (!blocks_.empty()) Submit();
  }

 private:
  void Submit() {
    auto blocks = std::make_shared<std::vector<std::unique_ptr<Block>>>(std::move(blocks_));
    blocks_.clear();
    pool_.Submit(
        table_, blocks->size() * kBlockRows,
        [blocks, convert = convert_, spare = spare_](tables::Appender& appender) -> Status {
          for (std::unique_ptr<Block>& block : *blocks) {
            CULPRIT_TRY(convert(*block, appender));
            const std::lock_guard lock(spare->mutex);
            spare->blocks.push_back(std::move(block));
          }
          return {};
        });
  }

  struct Spare {
    std::mutex mutex;
    std::vector<std::unique_ptr<Block>> blocks;
  };

  AppendPool& pool_;
  std::string table_;
  Convert convert_;
  std::shared_ptr<Spare> spare_ = std::make_shared<Spare>();
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace culprit::load
