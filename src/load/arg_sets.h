// ArgSets: the arguments of slices on their way to the args table, in numbered sets. Those of
// ftrace events are raw_writer.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "load/row_stream.h"
#include "load/rows.h"
#include "load/string_pool.h"
#include "tables/enums.h"

namespace culprit::load {

class ArgSets {
 public:
  // `sink` null: sets are numbered and nothing is kept (args are loaded when a query asks).
  ArgSets(StringPool& strings, BlockSink<SliceArgRow>* sink)
      : strings_(strings), is_kept_(sink != nullptr), rows_(sink) {}

  // A new set; it need not get any argument.
  std::uint32_t New() { return next_set_++; }
  std::uint32_t set_count() const { return next_set_; }
  bool is_kept() const { return is_kept_; }

  void Int(std::uint32_t set, std::string_view key, std::int64_t value,
           tables::ArgType type = tables::ArgType::kInt);
  void Real(std::uint32_t set, std::string_view key, double value);
  void Text(std::uint32_t set, std::string_view key, std::string_view value,
            tables::ArgType type = tables::ArgType::kString);
  void Null(std::uint32_t set, std::string_view key);
  void Finish() {
    if (is_kept_) rows_.Finish();
  }

 private:
  void Add(std::uint32_t set, std::string_view key, SliceArgRow row);

  StringPool& strings_;
  bool is_kept_;
  RowStream<SliceArgRow> rows_;
  std::uint32_t next_set_ = 0;
};

// "a[0].b[12]" without its indexes: "a.b".
std::string FlatKey(std::string_view key);

}  // namespace culprit::load
