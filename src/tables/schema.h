// The tables and views that every loaded trace has: made from schema/*.sql, documented there.
// Knows nothing of how they are filled (load/) or asked (query/).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tables/database.h"

namespace culprit::tables {

// Raised with every change of the tables, their columns or their meaning.
inline constexpr std::int64_t kSchemaVersion = 3;

// The tables that grow with the number of events, under the names that hold their rows.
inline constexpr std::array<std::string_view, 8> kBigTables = {
    "__intrinsic_sched_slice", "__intrinsic_thread_state", "__intrinsic_spurious_sched_wakeup",
    "__intrinsic_slice",       "__intrinsic_counter",      "__intrinsic_block_io",
    "blocked_stack",           "__intrinsic_perf_sample"};
// Those of raw events.
inline constexpr std::array<std::string_view, 2> kRawEventTables = {"__intrinsic_ftrace_event",
                                                                    "__intrinsic_ftrace_args"};

// Makes every table and view, empty.
Status CreateSchema(Connection& connection);

// Makes the tables of raw events (ftrace_event and their args) anew, empty, with types for these
// names, which are sorted and differ: a name's number is its index here (Appender::SetEnum).
Status CreateRawTables(Connection& connection, std::span<const std::string> event_names,
                       std::span<const std::string> argument_keys);

// Sets sched.upid from table thread in the rows of these threads: for those whose process became
// known after rows of theirs were appended. Before anything else reads the table.
Status FillUpids(Connection& connection, std::span<const std::int64_t> utids);

// Fills offcpu_sample from the samples of switches, when there are any; once all else is there.
Status FillOffCpu(Connection& connection);

// An Error when the database was not made by this program or by one of another schema version.
Status CheckSchema(Connection& connection, std::string_view path);

// Whether the tables of raw events hold the trace's events; false after CreateSchema.
Result<bool> RawTablesLoaded(Connection& connection);
Status SetRawTablesLoaded(Connection& connection);

// What is made under a public name; __names are the program's own.
struct ColumnDoc {
  std::string name;
  std::string type;  // "BIGINT", "VARCHAR", "DOUBLE"
  std::string text;
};
struct TableDoc {
  std::string name;
  std::string summary;
  std::string notes;  // further sentences, often empty
  std::vector<ColumnDoc> columns;
};

// The documentation in the heads of the schema files, joined with the types that the columns have;
// an Error names a column that is not documented or does not exist. In the order of the files.
Result<std::vector<TableDoc>> DescribeSchema(Connection& connection);

// docs/tables.md.
std::string TablesMarkdown(std::span<const TableDoc> tables);

}  // namespace culprit::tables
