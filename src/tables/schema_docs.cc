// The heads of schema/*.sql as documentation.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/embedded_file.h"
#include "base/text.h"
#include "tables/schema.h"

namespace culprit::tables {

extern const std::span<const EmbeddedFile> kSchemaFiles;

namespace {

void AppendWords(std::string& text, std::string_view more) {
  if (!text.empty()) text += ' ';
  text += TrimBlanks(more);
}

// "-- NAME: summary", further lines of notes, "--   column  text" and its further lines, which are
// indented deeper than a column's name. Nothing for a file that makes nothing public.
std::optional<TableDoc> ParseHead(const EmbeddedFile& file) {
  const std::string_view stem = file.name.substr(0, file.name.find('.'));
  TableDoc doc;
  for (std::string_view line : SplitLines(file.text)) {
    if (!line.starts_with("--")) break;
    line.remove_prefix(2);
    const auto indent = std::min(line.find_first_not_of(' '), line.size());
    const auto text = TrimBlanks(line);
    if (doc.name.empty()) {
      const std::string title = std::string(stem) + ": ";
      if (!text.starts_with(title)) return std::nullopt;
      doc.name = stem;
      doc.summary = text.substr(title.size());
    } else if (indent == 1) {
      AppendWords(doc.notes, text);
    } else if (indent == 3) {
      const auto name_end = text.find(' ');
      if (name_end == std::string_view::npos) return std::nullopt;
      doc.columns.push_back({std::string(text.substr(0, name_end)), "",
                             std::string(TrimBlanks(text.substr(name_end)))});
    } else if (!doc.columns.empty()) {
      AppendWords(doc.columns.back().text, text);
    }
  }
  if (doc.name.empty()) return std::nullopt;
  return doc;
}

}  // namespace

Result<std::vector<TableDoc>> DescribeSchema(Connection& connection) {
  CULPRIT_ASSIGN(auto columns,
                 connection.Prepare("SELECT column_name, data_type FROM duckdb_columns() "
                                    "WHERE table_name = ? ORDER BY column_index"));
  std::vector<TableDoc> tables;
  for (const EmbeddedFile& file : kSchemaFiles) {
    auto doc = ParseHead(file);
    if (!doc) continue;
    const Value name = std::string_view(doc->name);
    CULPRIT_ASSIGN(auto result, columns.Run({&name, 1}));
    std::size_t count = 0;
    for (;;) {
      CULPRIT_ASSIGN(const bool more, result.Next());
      if (!more) break;
      for (std::size_t row = 0; row < result.chunk_rows(); ++row, ++count) {
        if (count >= doc->columns.size() || doc->columns[count].name != result.Text(0, row)) {
          return Error{fmt::format("schema/{}: column {} is {}, and the head documents {} there",
                                   file.name, count + 1, result.Text(0, row),
                                   count < doc->columns.size() ? doc->columns[count].name : "none"),
                       ""};
        }
        doc->columns[count].type = result.Text(1, row);
      }
    }
    if (count != doc->columns.size()) {
      return Error{fmt::format("schema/{}: the head documents {} columns, there are {}", file.name,
                               doc->columns.size(), count),
                   ""};
    }
    tables.push_back(std::move(*doc));
  }
  return tables;
}

std::string TablesMarkdown(std::span<const TableDoc> tables) {
  std::string text =
      "# Tables\n\n"
      "Generated from src/tables/schema/*.sql by `./dev bless`; do not edit.\n\n"
      "Names, columns and meanings are Perfetto's, so that queries written for it run; tables of\n"
      "culprit's own say so. Times are nanoseconds of one clock, BOOTTIME unless `clock_snapshot`\n"
      "says otherwise; durations are nanoseconds, -1 when the end was not seen. Integers are 64 "
      "bits\n"
      "wide and signed.\n\n";
  std::vector<const TableDoc*> sorted;
  for (const TableDoc& table : tables) sorted.push_back(&table);
  std::sort(sorted.begin(), sorted.end(),
            [](const TableDoc* a, const TableDoc* b) { return a->name < b->name; });
  for (const TableDoc* table : sorted) {
    text += fmt::format("- [{0}](#{0}): {1}\n", table->name, table->summary);
  }
  for (const TableDoc* table : sorted) {
    std::string summary = table->summary;
    if (!summary.empty() && summary[0] >= 'a' && summary[0] <= 'z') {
      summary[0] = static_cast<char>(summary[0] - 'a' + 'A');
    }
    text += fmt::format("\n## {}\n{}\n", table->name, summary);
    if (!table->notes.empty()) text += table->notes + "\n";
    text += "\n| column | type | meaning |\n|---|---|---|\n";
    for (const ColumnDoc& column : table->columns) {
      std::string meaning;
      for (const char c : column.text) {
        if (c == '|') meaning += '\\';
        meaning += c;
      }
      text += fmt::format("| {} | {} | {} |\n", column.name, column.type, meaning);
    }
  }
  return text;
}

}  // namespace culprit::tables
