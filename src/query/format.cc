#include "query/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"

namespace culprit::query {
namespace {

using tables::ColumnKind;
using tables::QueryResult;

constexpr std::array kFormats = {
    FormatName{Format::kTable, "table", "aligned columns"},
    FormatName{Format::kCsv, "csv", "comma separated, with a header"},
    FormatName{Format::kJson, "json", "an array of objects"},
    FormatName{Format::kNdjson, "ndjson", "an object a line"},
    FormatName{Format::kMarkdown, "markdown", "a Markdown table"},
    FormatName{Format::kParquet, "parquet", "a Parquet file (needs -o)"},
};

bool IsNumeric(ColumnKind kind) {
  return kind == ColumnKind::kInteger || kind == ColumnKind::kWide || kind == ColumnKind::kNumber;
}

// Calls `row_text(row)` for every row of every chunk, and lets the output flow between.
template <class RowFunction>
Result<std::uint64_t> ForEachRow(QueryResult& result, Output& output, RowFunction row_text) {
  std::uint64_t rows = 0;
  for (;;) {
    CULPRIT_ASSIGN(const bool more, result.Next());
    if (!more) return rows;
    for (std::size_t row = 0; row < result.chunk_rows(); ++row) {
      row_text(row);
      CULPRIT_TRY(output.Continue());
    }
    rows += result.chunk_rows();
  }
}

// --- csv --------------------------------------------------------------------------------------

void AppendCsvField(std::string_view text, std::string& out) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

Result<std::uint64_t> WriteCsv(QueryResult& result, Output& output) {
  std::string& out = output.text();
  const std::size_t columns = result.column_count();
  for (std::size_t column = 0; column < columns; ++column) {
    if (column != 0) out += ',';
    AppendCsvField(result.name(column), out);
  }
  out += '\n';
  std::string field;
  return ForEachRow(result, output, [&](std::size_t row) {
    for (std::size_t column = 0; column < columns; ++column) {
      if (column != 0) out += ',';
      if (result.IsNull(column, row)) continue;
      if (IsNumeric(result.kind(column))) {
        result.AppendText(column, row, out);
      } else {
        field.clear();
        result.AppendText(column, row, field);
        AppendCsvField(field, out);
      }
    }
    out += '\n';
  });
}

// --- json -------------------------------------------------------------------------------------

// The keys of the objects with their colons: names that come twice get a number behind.
std::vector<std::string> JsonKeys(const QueryResult& result) {
  std::set<std::string> used;
  std::vector<std::string> keys;
  for (std::size_t column = 0; column < result.column_count(); ++column) {
    std::string name(result.name(column));
    for (int number = 2; !used.insert(name).second; ++number) {
      name = fmt::format("{}_{}", result.name(column), number);
    }
    std::string key;
    tables::AppendJsonString(name, key);
    keys.push_back(key + ":");
  }
  return keys;
}

void AppendJsonObject(const QueryResult& result, const std::vector<std::string>& keys,
                      std::size_t row, std::string& out) {
  out += '{';
  for (std::size_t column = 0; column < keys.size(); ++column) {
    if (column != 0) out += ',';
    out += keys[column];
    result.AppendJson(column, row, out);
  }
  out += '}';
}

Result<std::uint64_t> WriteNdjson(QueryResult& result, Output& output) {
  const auto keys = JsonKeys(result);
  return ForEachRow(result, output, [&](std::size_t row) {
    AppendJsonObject(result, keys, row, output.text());
    output.text() += '\n';
  });
}

Result<std::uint64_t> WriteJson(QueryResult& result, Output& output) {
  const auto keys = JsonKeys(result);
  bool first = true;
  output.text() += '[';
  const auto rows = ForEachRow(result, output, [&](std::size_t row) {
    output.text() += first ? "\n" : ",\n";
    first = false;
    AppendJsonObject(result, keys, row, output.text());
  });
  output.text() += first ? "]\n" : "\n]\n";
  return rows;
}

// --- markdown ---------------------------------------------------------------------------------

std::string MarkdownCell(std::string_view text) {
  std::string cell;
  for (const char c : SafeForTerminal(text)) {
    if (c == '|') cell += '\\';
    cell += c;
  }
  return cell;
}

Result<std::uint64_t> WriteMarkdown(QueryResult& result, Output& output) {
  std::string& out = output.text();
  std::string rule = "|";
  out += '|';
  for (std::size_t column = 0; column < result.column_count(); ++column) {
    out += ' ' + MarkdownCell(result.name(column)) + " |";
    rule += IsNumeric(result.kind(column)) ? "---:|" : "---|";
  }
  out += '\n' + rule + '\n';
  return ForEachRow(result, output, [&](std::size_t row) {
    out += '|';
    for (std::size_t column = 0; column < result.column_count(); ++column) {
      out += ' ' + MarkdownCell(result.ToText(column, row)) + " |";
    }
    out += '\n';
  });
}

// --- table ------------------------------------------------------------------------------------

// Rows that decide how wide the columns are; what comes later is aligned as far as it fits.
constexpr std::size_t kWidthRows = 5000;

// Columns on a terminal: one for each character, which is right for all but East Asian texts.
std::size_t DisplayWidth(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

class TableWriter {
 public:
  TableWriter(const QueryResult& result, Output& output) : output_(output) {
    for (std::size_t column = 0; column < result.column_count(); ++column) {
      right_.push_back(IsNumeric(result.kind(column)));
      header_.push_back(SafeForTerminal(result.name(column)));
      widths_.push_back(DisplayWidth(header_.back()));
    }
  }

  Status Row(const QueryResult& result, std::size_t row) {
    std::vector<std::string> cells;
    for (std::size_t column = 0; column < right_.size(); ++column) {
      cells.push_back(result.IsNull(column, row) ? "[NULL]"
                                                 : SafeForTerminal(result.ToText(column, row)));
    }
    if (is_open_) {
      Line(cells);
      return output_.Continue();
    }
    for (std::size_t column = 0; column < cells.size(); ++column) {
      widths_[column] = std::max(widths_[column], DisplayWidth(cells[column]));
    }
    held_.push_back(std::move(cells));
    return held_.size() < kWidthRows ? Status() : Open();
  }

  // Writes the header and what was held back; nothing when that is done already.
  Status Open() {
    if (is_open_) return {};
    is_open_ = true;
    Line(header_);
    std::string& out = output_.text();
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      if (column != 0) out += "  ";
      out.append(widths_[column], '-');
    }
    out += '\n';
    for (const auto& cells : held_) {
      Line(cells);
      CULPRIT_TRY(output_.Continue());
    }
    held_.clear();
    return {};
  }

 private:
  void Line(const std::vector<std::string>& cells) {
    std::string& out = output_.text();
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (column != 0) out += "  ";
      const std::size_t width = DisplayWidth(cells[column]);
      const std::size_t padding = width < widths_[column] ? widths_[column] - width : 0;
      if (right_[column]) out.append(padding, ' ');
      out += cells[column];
      if (!right_[column] && column + 1 != cells.size()) out.append(padding, ' ');
    }
    out += '\n';
  }

  Output& output_;
  std::vector<bool> right_;
  std::vector<std::string> header_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> held_;
  bool is_open_ = false;
};

Result<std::uint64_t> WriteTable(QueryResult& result, Output& output) {
  TableWriter writer(result, output);
  std::uint64_t rows = 0;
  for (;;) {
    CULPRIT_ASSIGN(const bool more, result.Next());
    if (!more) break;
    for (std::size_t row = 0; row < result.chunk_rows(); ++row) {
      CULPRIT_TRY(writer.Row(result, row));
    }
    rows += result.chunk_rows();
  }
  CULPRIT_TRY(writer.Open());
  return rows;
}

}  // namespace

std::span<const FormatName> Formats() { return kFormats; }

std::optional<Format> FormatByName(std::string_view name) {
  for (const FormatName& format : kFormats) {
    if (format.name == name) return format.format;
  }
  return std::nullopt;
}

Result<std::uint64_t> WriteRows(QueryResult& result, Format format, Output& output) {
  if (!result.has_rows()) return std::uint64_t{0};
  switch (format) {
    case Format::kTable:
      return WriteTable(result, output);
    case Format::kCsv:
      return WriteCsv(result, output);
    case Format::kJson:
      return WriteJson(result, output);
    case Format::kNdjson:
      return WriteNdjson(result, output);
    case Format::kMarkdown:
      return WriteMarkdown(result, output);
    case Format::kParquet:
      break;
  }
  CULPRIT_CHECK(!"parquet is no text");
  return std::uint64_t{0};
}

}  // namespace culprit::query
