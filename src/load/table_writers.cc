#include "load/table_writers.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace culprit::load {
namespace {

using tables::Appender;

// A column from a member of each row.
template <class T, class Row, class Get>
void Column(const RowBlock<Row>& block, Appender& out, std::size_t column, Get get) {
  T* values = out.Column<T>(column);
  for (std::size_t i = 0; i < block.count; ++i) values[i] = static_cast<T>(get(block.rows[i]));
}

// The same with NULL where the member has the value that says "none".
template <class T, class Row, class Get, class None>
void NullableColumn(const RowBlock<Row>& block, Appender& out, std::size_t column, Get get,
                    None none) {
  T* values = out.Column<T>(column);
  for (std::size_t begin = 0; begin < block.count; begin += 64) {
    const std::size_t count = std::min<std::size_t>(64, block.count - begin);
    std::uint64_t nulls = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = get(block.rows[begin + i]);
      values[begin + i] = static_cast<T>(value);
      nulls |= static_cast<std::uint64_t>(value == none) << i;
    }
    out.SetNulls(column, begin, nulls);
  }
}

template <class Row, class Get>
void TextColumn(const RowBlock<Row>& block, const StringPool& strings, Appender& out,
                std::size_t column, Get get) {
  for (std::size_t i = 0; i < block.count; ++i) {
    const StringId id = get(block.rows[i]);
    if (id == kNoString) {
      out.SetNull(column, i);
    } else {
      out.SetText(column, i, strings.Text(id));
    }
  }
}

}  // namespace

Status WriteBlock(const RowBlock<SchedRow>& block, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  Column<std::int64_t>(block, out, out.ColumnIndex("dur"), [](const auto& row) { return row.dur; });
  Column<std::int16_t>(block, out, out.ColumnIndex("cpu"), [](const auto& row) { return row.cpu; });
  Column<std::int32_t>(block, out, out.ColumnIndex("utid"),
                       [](const auto& row) { return row.utid; });
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("upid"), [](const auto& row) { return row.upid; }, kNone);
  Column<std::int16_t>(block, out, out.ColumnIndex("priority"),
                       [](const auto& row) { return row.priority; });
  NullableColumn<std::uint16_t>(
      block, out, out.ColumnIndex("end_state"), [](const auto& row) { return row.end_state; },
      kNoState);
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<ThreadStateRow>& block, const StringPool& strings, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  Column<std::int64_t>(block, out, out.ColumnIndex("dur"), [](const auto& row) { return row.dur; });
  NullableColumn<std::int16_t>(
      block, out, out.ColumnIndex("cpu"), [](const auto& row) { return row.cpu; }, kNone);
  Column<std::int32_t>(block, out, out.ColumnIndex("utid"),
                       [](const auto& row) { return row.utid; });
  NullableColumn<std::uint16_t>(
      block, out, out.ColumnIndex("state"), [](const auto& row) { return row.state; }, kNoState);
  NullableColumn<std::int8_t>(
      block, out, out.ColumnIndex("io_wait"), [](const auto& row) { return row.io_wait; }, -1);
  NullableColumn<std::int8_t>(
      block, out, out.ColumnIndex("irq_context"), [](const auto& row) { return row.irq_context; },
      Irq::kUnknown);
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("waker_utid"), [](const auto& row) { return row.waker_utid; },
      kNone);
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("waker_id"), [](const auto& row) { return row.waker_id; }, kNone);
  NullableColumn<std::int16_t>(
      block, out, out.ColumnIndex("target_cpu"), [](const auto& row) { return row.target_cpu; },
      kNone);
  TextColumn(block, strings, out, out.ColumnIndex("blocked_function"),
             [](const auto& row) { return row.blocked_function; });
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<SpuriousWakeupRow>& block, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("thread_state_id"),
      [](const auto& row) { return row.thread_state_id; }, kNone);
  NullableColumn<std::int8_t>(
      block, out, out.ColumnIndex("irq_context"), [](const auto& row) { return row.irq_context; },
      Irq::kUnknown);
  Column<std::int32_t>(block, out, out.ColumnIndex("utid"),
                       [](const auto& row) { return row.utid; });
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("waker_utid"), [](const auto& row) { return row.waker_utid; },
      kNone);
  NullableColumn<std::int16_t>(
      block, out, out.ColumnIndex("target_cpu"), [](const auto& row) { return row.target_cpu; },
      kNone);
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<SliceRow>& block, const StringPool& strings, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  Column<std::int64_t>(block, out, out.ColumnIndex("dur"), [](const auto& row) { return row.dur; });
  Column<std::int32_t>(block, out, out.ColumnIndex("track_id"),
                       [](const auto& row) { return row.track_id; });
  Column<std::int32_t>(block, out, out.ColumnIndex("depth"),
                       [](const auto& row) { return row.depth; });
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("parent_id"), [](const auto& row) { return row.parent_id; },
      kNone);
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("arg_set_id"), [](const auto& row) { return row.arg_set_id; },
      kNone);
  TextColumn(block, strings, out, out.ColumnIndex("category"),
             [](const auto& row) { return row.category; });
  TextColumn(block, strings, out, out.ColumnIndex("name"),
             [](const auto& row) { return row.name; });
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<CounterRow>& block, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  Column<std::int32_t>(block, out, out.ColumnIndex("track_id"),
                       [](const auto& row) { return row.track_id; });
  Column<double>(block, out, out.ColumnIndex("value"), [](const auto& row) { return row.value; });
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("arg_set_id"), [](const auto&) { return kNone; }, kNone);
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<BlockIoRow>& block, const StringPool& strings, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("dev"), [](const auto& row) { return row.dev; });
  Column<std::int64_t>(block, out, out.ColumnIndex("sector"),
                       [](const auto& row) { return row.sector; });
  Column<std::int64_t>(block, out, out.ColumnIndex("bytes"),
                       [](const auto& row) { return row.bytes; });
  NullableColumn<std::int64_t>(
      block, out, out.ColumnIndex("insert_ts"), [](const auto& row) { return row.insert_ts; }, -1);
  NullableColumn<std::int64_t>(
      block, out, out.ColumnIndex("issue_ts"), [](const auto& row) { return row.issue_ts; }, -1);
  NullableColumn<std::int64_t>(
      block, out, out.ColumnIndex("complete_ts"), [](const auto& row) { return row.complete_ts; },
      -1);
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("utid"), [](const auto& row) { return row.utid; }, kNone);
  NullableColumn<std::int16_t>(
      block, out, out.ColumnIndex("cpu"), [](const auto& row) { return row.cpu; }, kNone);
  const std::size_t error = out.ColumnIndex("error");
  Column<std::int32_t>(block, out, error, [](const auto& row) { return row.error; });
  Column<std::int32_t>(block, out, out.ColumnIndex("requeues"),
                       [](const auto& row) { return row.requeues; });
  Column<std::int32_t>(block, out, out.ColumnIndex("merged_bios"),
                       [](const auto& row) { return row.merges; });
  const std::size_t device = out.ColumnIndex("device");
  const std::size_t op = out.ColumnIndex("op");
  for (std::size_t i = 0; i < block.count; ++i) {
    const BlockIoRow& row = block.rows[i];
    if (row.complete_ts < 0) out.SetNull(error, i);
    if (row.device != kNoString) {
      out.SetText(device, i, strings.Text(row.device));
    } else {
      // As in stat(2): the recorder has translated the kernel's own numbering.
      out.SetText(device, i,
                  fmt::format("{}:{}", row.dev >> 8 & 0xFFF,
                              (row.dev & 0xFF) | (row.dev >> 12 & 0xFFFFF00)));
    }
    out.SetText(op, i, row.op == kNoString ? std::string_view() : strings.Text(row.op));
  }
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<BlockedStackRow>& block, Appender& out) {
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  Column<std::int64_t>(block, out, out.ColumnIndex("utid"),
                       [](const auto& row) { return row.utid; });
  NullableColumn<std::int64_t>(
      block, out, out.ColumnIndex("thread_state_id"),
      [](const auto& row) { return row.thread_state_id; }, kNone);
  Column<std::int64_t>(block, out, out.ColumnIndex("callsite_id"),
                       [](const auto& row) { return row.callsite_id; });
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<PerfSampleRow>& block, const StringPool& strings, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  Column<std::int32_t>(block, out, out.ColumnIndex("utid"),
                       [](const auto& row) { return row.utid; });
  NullableColumn<std::int16_t>(
      block, out, out.ColumnIndex("cpu"), [](const auto& row) { return row.cpu; }, kNone);
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("callsite_id"), [](const auto& row) { return row.callsite; },
      kNoCallsite);
  Column<std::int32_t>(block, out, out.ColumnIndex("perf_session_id"),
                       [](const auto& row) { return row.session; });
  NullableColumn<std::int64_t>(
      block, out, out.ColumnIndex("period"), [](const auto& row) { return row.period; }, -1);
  TextColumn(block, strings, out, out.ColumnIndex("cpu_mode"),
             [](const auto& row) { return row.cpu_mode; });
  TextColumn(block, strings, out, out.ColumnIndex("unwind_error"),
             [](const auto& row) { return row.unwind_error; });
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<RawEventRow>& block, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int64_t>(block, out, out.ColumnIndex("ts"), [](const auto& row) { return row.ts; });
  const std::size_t name = out.ColumnIndex("name");
  for (std::size_t i = 0; i < block.count; ++i) out.SetEnum(name, i, block.rows[i].name);
  Column<std::int16_t>(block, out, out.ColumnIndex("cpu"), [](const auto& row) { return row.cpu; });
  NullableColumn<std::int32_t>(
      block, out, out.ColumnIndex("utid"), [](const auto& row) { return row.utid; }, kNone);
  Column<std::int32_t>(block, out, out.ColumnIndex("arg_set_id"),
                       [](const auto& row) { return row.arg_set_id; });
  NullableColumn<std::int16_t>(
      block, out, out.ColumnIndex("common_flags"), [](const auto& row) { return row.common_flags; },
      kNone);
  return out.Flush(block.count);
}

Status WriteBlock(const RowBlock<ArgRow>& block, const StringPool& strings, Appender& out) {
  Column<std::int32_t>(block, out, out.ColumnIndex("id"), [](const auto& row) { return row.id; });
  Column<std::int32_t>(block, out, out.ColumnIndex("arg_set_id"),
                       [](const auto& row) { return row.arg_set_id; });
  const std::size_t value = out.ColumnIndex("int_value");
  Column<std::int64_t>(block, out, value, [](const auto& row) { return row.value; });
  Column<std::uint8_t>(block, out, out.ColumnIndex("value_type"),
                       [](const auto& row) { return row.type; });
  const std::size_t key = out.ColumnIndex("key");
  for (std::size_t i = 0; i < block.count; ++i) {
    out.SetEnum(key, i, block.rows[i].key);
    if (block.rows[i].text != kNoString) out.SetNull(value, i);
  }
  TextColumn(block, strings, out, out.ColumnIndex("string_value"),
             [](const auto& row) { return row.text; });
  return out.Flush(block.count);
}

Result<RowWriter> RowWriter::Open(const tables::Database& database, std::string_view table,
                                  std::initializer_list<std::string_view> columns) {
  CULPRIT_ASSIGN(Appender appender, Appender::Open(database, table));
  RowWriter writer(std::move(appender));
  std::vector<bool> is_named(writer.appender_.column_count());
  for (const std::string_view name : columns) {
    writer.columns_.push_back(writer.appender_.ColumnIndex(name));
    is_named[writer.columns_.back()] = true;
  }
  for (std::size_t i = 0; i < is_named.size(); ++i) {
    if (!is_named[i]) writer.others_.push_back(i);
  }
  return writer;
}

RowWriter& RowWriter::Int(std::optional<std::int64_t> value) {
  const std::size_t column = columns_[next_++];
  appender_.Column<std::int64_t>(column)[row_] = value.value_or(0);
  if (!value.has_value()) appender_.SetNull(column, row_);
  return *this;
}

RowWriter& RowWriter::Text(std::optional<std::string_view> text) {
  const std::size_t column = columns_[next_++];
  if (text.has_value()) {
    appender_.SetText(column, row_, *text);
  } else {
    appender_.SetNull(column, row_);
  }
  return *this;
}

RowWriter& RowWriter::Text(const StringPool& strings, StringId id) {
  return id == kNoString ? Text(std::nullopt) : Text(strings.Text(id));
}

Status RowWriter::EndRow() {
  for (const std::size_t column : others_) appender_.SetNull(column, row_);
  next_ = 0;
  if (++row_ < Appender::kChunkRows) return {};
  row_ = 0;
  return appender_.Flush(Appender::kChunkRows);
}

Status RowWriter::Close() {
  CULPRIT_TRY(appender_.Flush(row_));
  return appender_.Close();
}

}  // namespace culprit::load
