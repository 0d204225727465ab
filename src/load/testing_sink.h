// CollectingSink: the rows of a stream in a vector, for tests. Not part of the program.
#pragma once

#include <memory>
#include <vector>

#include "load/row_stream.h"

namespace culprit::load {

template <class Row>
class CollectingSink final : public BlockSink<Row> {
 public:
  void Take(std::unique_ptr<RowBlock<Row>> block) override {
    rows.insert(rows.end(), block->rows.begin(),
                block->rows.begin() + static_cast<std::ptrdiff_t>(block->count));
  }
  std::vector<Row> rows;
};

}  // namespace culprit::load
