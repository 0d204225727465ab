// A loaded trace in other programs' formats: database, Parquet, Chrome's JSON, ftrace's text.
// Results of queries are written by query/format.
#pragma once

#include <string>

#include "base/result.h"
#include "load/load.h"
#include "query/output.h"
#include "query/session.h"

namespace culprit::query {

// Whether the file is a DuckDB database.
bool IsDatabaseFile(const std::string& path);

// Loads `trace` into a new database at `path`, which appears when it is whole.
[[nodiscard]] Result<load::LoadSummary> ExportDatabase(const std::string& trace,
                                                       const std::string& path,
                                                       const load::LoadOptions& options);

// Copies a database of `culprit load` to `path`, which appears when it is whole.
Status CopyDatabase(const std::string& database, const std::string& path);

// Every table as DIR/TABLE.parquet; the folder, new or empty, appears when all are there. Tables
// that only are another's second name are left out.
Status ExportParquet(Session& session, const std::string& directory);

// Chrome's JSON trace format, for chrome://tracing and what else reads it: markers of threads and
// processes, counters, interrupts, and what ran on each CPU.
Status ExportChromeJson(Session& session, Output& output);

// The text of /sys/kernel/tracing/trace, which trace-cmd, systrace and Perfetto read: one event a
// line, with the kernel's own wording for common events and key=value for others.
Status ExportFtraceText(Session& session, Output& output);

}  // namespace culprit::query
