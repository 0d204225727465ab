// Rows of the state machines as columns of the tables.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/importer.h"
#include "load/packet_importer.h"
#include "load/row_stream.h"
#include "load/rows.h"
#include "load/string_pool.h"
#include "tables/appender.h"
#include "tables/database.h"

namespace culprit::load {

Status WriteBlock(const RowBlock<SchedRow>& block, tables::Appender& out);
Status WriteBlock(const RowBlock<ThreadStateRow>& block, const StringPool& strings,
                  tables::Appender& out);
Status WriteBlock(const RowBlock<SpuriousWakeupRow>& block, tables::Appender& out);
Status WriteBlock(const RowBlock<SliceRow>& block, const StringPool& strings,
                  tables::Appender& out);
Status WriteBlock(const RowBlock<CounterRow>& block, tables::Appender& out);
Status WriteBlock(const RowBlock<BlockIoRow>& block, const StringPool& strings,
                  tables::Appender& out);
Status WriteBlock(const RowBlock<BlockedStackRow>& block, tables::Appender& out);
Status WriteBlock(const RowBlock<PerfSampleRow>& block, const StringPool& strings,
                  tables::Appender& out);
Status WriteBlock(const RowBlock<RawEventRow>& block, tables::Appender& out);
Status WriteBlock(const RowBlock<ArgRow>& block, const StringPool& strings, tables::Appender& out);

// One row after the other, for small tables. Columns that are not named are NULL.
class RowWriter {
 public:
  static Result<RowWriter> Open(const tables::Database& database, std::string_view table,
                                std::initializer_list<std::string_view> columns);

  RowWriter& Int(std::optional<std::int64_t> value);
  RowWriter& Text(std::optional<std::string_view> text);
  RowWriter& Text(const StringPool& strings, StringId id);
  Status EndRow();
  Status Close();

 private:
  explicit RowWriter(tables::Appender appender) : appender_(std::move(appender)) {}
  tables::Appender appender_;
  std::vector<std::size_t> columns_;
  std::vector<std::size_t> others_;
  std::size_t next_ = 0;
  std::size_t row_ = 0;
};

// Everything that is written once at the end.
Status WriteSmallTables(const tables::Database& database, Importer& importer,
                        const TraceIndex& index, const PacketImporter& packets);

}  // namespace culprit::load
