#include "tables/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/embedded_file.h"
#include "tables/column_store.h"
#include "tables/stored_scan.h"

namespace culprit::tables {

extern const std::span<const EmbeddedFile> kSchemaFiles;
extern const std::span<const EmbeddedFile> kFillFiles;

namespace {

constexpr std::string_view kRawTables = "raw_tables.sql";
constexpr std::string_view kSchedTable = "__intrinsic_sched_slice";

Status RunFile(Connection& connection, const EmbeddedFile& file) {
  const auto status = connection.Execute(file.text);
  // Our own text: only a database that refuses writing or is out of memory gets here.
  if (!status.ok()) {
    return Error{fmt::format("make tables ({}): {}", file.name, status.error().what),
                 status.error().remedy, status.error().place};
  }
  return {};
}

Status InsertNames(Connection& connection, std::string_view kind,
                   std::span<const std::string> names) {
  CULPRIT_CHECK(std::is_sorted(names.begin(), names.end()));
  CULPRIT_ASSIGN(auto insert, connection.Prepare("INSERT INTO __raw_name VALUES (?, ?)"));
  for (const std::string& name : names) {
    const Value values[] = {kind, std::string_view(name)};
    CULPRIT_ASSIGN(const auto result, insert.Run(values));
  }
  return {};
}

}  // namespace

Status CreateSchema(Connection& connection) {
  CULPRIT_TRY(connection.Execute(
      "BEGIN; CREATE TABLE __culprit_schema (version BIGINT NOT NULL, raw_loaded BOOLEAN NOT NULL);"
      "CREATE TABLE __raw_name (kind VARCHAR NOT NULL, name VARCHAR NOT NULL);"
      "INSERT INTO __raw_name VALUES ('event', ''), ('key', '');"));
  const Value version = kSchemaVersion;
  CULPRIT_ASSIGN(const auto inserted,
                 connection.Query("INSERT INTO __culprit_schema VALUES (?, false)", {&version, 1}));
  for (const EmbeddedFile& file : kSchemaFiles) CULPRIT_TRY(RunFile(connection, file));
  return connection.Execute("COMMIT");
}

Status CreateRawTables(Connection& connection, std::span<const std::string> event_names,
                       std::span<const std::string> argument_keys) {
  CULPRIT_TRY(DropStored(connection, kRawEventTables));
  CULPRIT_TRY(connection.Execute("DELETE FROM __raw_name"));
  CULPRIT_TRY(InsertNames(connection, "event", event_names));
  CULPRIT_TRY(InsertNames(connection, "key", argument_keys));
  // A type must have a member.
  for (const char* kind : {"event", "key"}) {
    const Value value = std::string_view(kind);
    CULPRIT_ASSIGN(const auto result,
                   connection.Query("INSERT INTO __raw_name SELECT $1, '' WHERE NOT EXISTS "
                                    "(FROM __raw_name WHERE kind = $1)",
                                    {&value, 1}));
  }
  for (const EmbeddedFile& file : kSchemaFiles) {
    if (file.name == kRawTables) return RunFile(connection, file);
  }
  CULPRIT_CHECK(!"raw_tables.sql is not among the schema files");
  return {};
}

namespace {

// In place: nobody reads the table yet.
Status FillStoredUpids(Connection& connection, const StoredTable& sched,
                       std::span<const std::int64_t> utids) {
  std::vector<std::int32_t> upid_of;  // by utid; -1: not one of these
  CULPRIT_ASSIGN(auto find, connection.Prepare("SELECT upid FROM thread WHERE utid = ?"));
  for (const std::int64_t utid : utids) {
    const Value value = utid;
    CULPRIT_ASSIGN(auto result, find.Run({&value, 1}));
    CULPRIT_ASSIGN(const bool found, result.Next());
    if (!found || result.IsNull(0, 0)) continue;
    const auto index = static_cast<std::size_t>(utid);
    if (index >= upid_of.size()) upid_of.resize(index + 1, -1);
    upid_of[index] = static_cast<std::int32_t>(result.Integer(0, 0));
  }
  const std::size_t utid_column = sched.ColumnIndex("utid");
  const std::size_t upid_column = sched.ColumnIndex("upid");
  for (const auto& chunk : sched.chunks()) {
    if (chunk->validity(upid_column) == nullptr) continue;
    std::uint64_t* validity = chunk->MutableValidity(upid_column);
    auto* upids = static_cast<std::int32_t*>(chunk->mutable_data(upid_column));
    const auto of_rows = chunk->Values<std::int32_t>(utid_column);
    for (std::size_t row = 0; row < of_rows.size(); ++row) {
      const auto utid = static_cast<std::size_t>(of_rows[row]);
      if (!chunk->IsNull(upid_column, row) || utid >= upid_of.size() || upid_of[utid] < 0) continue;
      upids[row] = upid_of[utid];
      validity[row / 64] |= std::uint64_t{1} << (row % 64);
    }
  }
  return {};
}

}  // namespace

Status FillUpids(Connection& connection, std::span<const std::int64_t> utids) {
  if (utids.empty()) return {};
  if (const auto stored = connection.store()->Find(kSchedTable); stored != nullptr) {
    return FillStoredUpids(connection, *stored, utids);
  }
  CULPRIT_TRY(connection.Execute("CREATE OR REPLACE TEMP TABLE __late_utid (utid INTEGER)"));
  CULPRIT_ASSIGN(auto insert, connection.Prepare("INSERT INTO __late_utid VALUES (?)"));
  for (const std::int64_t utid : utids) {
    const Value value = utid;
    CULPRIT_ASSIGN(const auto result, insert.Run({&value, 1}));
  }
  return connection.Execute(
      "UPDATE __intrinsic_sched_slice AS s SET upid = t.upid FROM thread AS t "
      "WHERE s.utid = t.utid AND s.utid IN (SELECT utid FROM __late_utid);"
      "DROP TABLE __late_utid");
}

Status FillOffCpu(Connection& connection) {
  CULPRIT_ASSIGN(const auto sessions,
                 connection.QueryInteger("SELECT count(*) FROM perf_session "
                                         "WHERE event LIKE 'sched_sched_switch%'"));
  if (sessions == 0) return {};
  for (const EmbeddedFile& file : kFillFiles) CULPRIT_TRY(RunFile(connection, file));
  return {};
}

Status CheckSchema(Connection& connection, std::string_view path) {
  const auto version = connection.QueryInteger("SELECT max(version) FROM __culprit_schema");
  if (!version.ok()) {
    return Error{fmt::format("{}: a DuckDB database, but not a loaded trace", path),
                 "make one with culprit load TRACE -o FILE.duckdb"};
  }
  if (*version != kSchemaVersion) {
    return Error{fmt::format("{}: its tables are of version {}, this program has version {}", path,
                             *version, kSchemaVersion),
                 "load the trace again: culprit load TRACE -o FILE.duckdb"};
  }
  return {};
}

Result<bool> RawTablesLoaded(Connection& connection) {
  CULPRIT_ASSIGN(const auto loaded,
                 connection.QueryInteger("SELECT raw_loaded::INTEGER FROM __culprit_schema"));
  return loaded != 0;
}

Status SetRawTablesLoaded(Connection& connection) {
  return connection.Execute("UPDATE __culprit_schema SET raw_loaded = true");
}

}  // namespace culprit::tables
