#include "load/args_writer.h"

#include <bit>

namespace culprit::load {

using tables::ArgType;

Status WriteBlock(const RowBlock<SliceArgRow>& block, const StringPool& strings,
                  tables::Appender& out) {
  auto* ids = out.Column<std::int32_t>(out.ColumnIndex("id"));
  auto* sets = out.Column<std::int32_t>(out.ColumnIndex("arg_set_id"));
  auto* types = out.Column<std::uint8_t>(out.ColumnIndex("value_type"));
  const std::size_t integer = out.ColumnIndex("int_value");
  const std::size_t real = out.ColumnIndex("real_value");
  const std::size_t text = out.ColumnIndex("string_value");
  const std::size_t key = out.ColumnIndex("key");
  const std::size_t flat_key = out.ColumnIndex("flat_key");
  for (std::size_t i = 0; i < block.count; ++i) {
    const SliceArgRow& row = block.rows[i];
    ids[i] = static_cast<std::int32_t>(row.id);
    sets[i] = static_cast<std::int32_t>(row.arg_set_id);
    types[i] = static_cast<std::uint8_t>(row.type);
    out.SetText(key, i, strings.Text(row.key));
    out.SetText(flat_key, i, strings.Text(row.flat_key));
    const bool is_text = row.type == ArgType::kString || row.type == ArgType::kJson;
    const bool is_real = row.type == ArgType::kReal;
    if (is_text || is_real || row.type == ArgType::kNull) {
      out.SetNull(integer, i);
    } else {
      out.Column<std::int64_t>(integer)[i] = row.value;
    }
    if (is_real) {
      out.Column<double>(real)[i] = std::bit_cast<double>(row.value);
    } else {
      out.SetNull(real, i);
    }
    if (is_text) {
      out.SetText(text, i, strings.Text(row.text));
    } else {
      out.SetNull(text, i);
    }
  }
  return out.Flush(block.count);
}

}  // namespace culprit::load
