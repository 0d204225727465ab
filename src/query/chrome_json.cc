// ExportChromeJson. The format: "Trace Event Format", the object form with "traceEvents".
#include <fmt/format.h>

#include "query/export.h"
#include "tables/database.h"

namespace culprit::query {
namespace {

using tables::QueryResult;

// A process of our own for what belongs to CPUs: no kernel gives so high a pid (PID_MAX_LIMIT is
// 2^22). Its threads are the CPUs, and behind kIrqThreads their interrupts.
constexpr std::int64_t kCpuPid = 1'000'000'000;
constexpr std::int64_t kIrqThreads = 100'000;
constexpr std::int64_t kSoftirqThreads = 200'000;

// Columns of every query below, in this order.
enum Column : std::size_t { kPhase, kPid, kTid, kTs, kDur, kName, kCategory, kArgs };

// Names of processes and threads. Args are JSON objects made by DuckDB.
constexpr const char* kQueries[] = {
    // The names come first, so that a viewer knows them when it meets the rest.
    "SELECT 'M', pid, 0, NULL, NULL, 'process_name', NULL, json_object('name', name) "
    "FROM process WHERE name IS NOT NULL ORDER BY upid",
    "SELECT 'M', coalesce(p.pid, t.tid), t.tid, NULL, NULL, 'thread_name', NULL, "
    "json_object('name', t.name) FROM thread AS t LEFT JOIN process AS p ON t.upid = p.upid "
    "WHERE t.name IS NOT NULL AND t.utid <> 0 ORDER BY t.utid",
    "SELECT 'M', 1000000000, 0, NULL, NULL, 'process_name', NULL, json_object('name', 'CPUs')",
    "SELECT 'M', 1000000000, offset_ + cpu, NULL, NULL, 'thread_name', NULL, "
    "json_object('name', label || cpu) FROM cpu, (VALUES (0, 'CPU '), (100000, 'IRQ CPU '), "
    "(200000, 'softirq CPU ')) AS kinds(offset_, label) ORDER BY cpu, offset_",
    // What ran on each CPU, without the idle threads.
    "SELECT 'X', 1000000000, s.cpu, s.ts, s.dur, coalesce(t.name, 'tid ' || t.tid), 'sched', "
    "json_object('tid', t.tid, 'pid', p.pid, 'process', p.name, 'priority', s.priority, "
    "'end_state', s.end_state) FROM sched AS s JOIN thread AS t ON s.utid = t.utid "
    "LEFT JOIN process AS p ON t.upid = p.upid WHERE s.utid <> 0 ORDER BY s.ts, s.id",
    // What threads did: a phase of Perfetto's, which other viewers pass over.
    "SELECT 'T', coalesce(p.pid, t.tid), t.tid, s.ts, s.dur, s.state, 'thread_state', json_object("
    "'cpu', s.cpu, 'io_wait', s.io_wait, 'blocked_function', s.blocked_function) "
    "FROM thread_state AS s JOIN thread AS t ON s.utid = t.utid "
    "LEFT JOIN process AS p ON t.upid = p.upid WHERE s.state IS NOT NULL ORDER BY s.ts, s.id",
    // Markers of threads; instants have no duration.
    "SELECT CASE WHEN s.dur = 0 THEN 'i' ELSE 'X' END, coalesce(p.pid, t.tid), t.tid, s.ts, s.dur, "
    "s.name, s.category, NULL FROM slice AS s JOIN thread_track AS k ON s.track_id = k.id "
    "JOIN thread AS t ON k.utid = t.utid LEFT JOIN process AS p ON t.upid = p.upid "
    "ORDER BY s.ts, s.id",
    // Those of processes overlap: a pair of events each.
    "SELECT phase, p.pid, p.pid, CASE WHEN phase = 'b' THEN s.ts ELSE s.ts + s.dur END AS moment, "
    "s.id, "
    "s.name, coalesce(s.category, 'process'), NULL FROM slice AS s JOIN process_track AS k "
    "ON s.track_id = k.id JOIN process AS p ON k.upid = p.upid, (VALUES ('b'), ('e')) AS "
    "phases(phase) WHERE phase = 'b' OR s.dur >= 0 ORDER BY moment, s.id, phase",
    // Interrupts.
    "SELECT 'X', 1000000000, cpu + 100000, ts, dur, name, 'irq', NULL FROM irq_slice "
    "ORDER BY ts, id",
    "SELECT 'X', 1000000000, cpu + 200000, ts, dur, name, 'softirq', NULL FROM softirq_slice "
    "ORDER BY ts, id",
    // Counters; those of CPUs say which in their name.
    "SELECT 'C', coalesce(p.pid, 1000000000), 0, c.ts, NULL, coalesce(t.name, t.type) || "
    "coalesce(' cpu ' || k.cpu, ''), NULL, json_object('value', c.value) FROM counter AS c "
    "JOIN counter_track AS t ON c.track_id = t.id LEFT JOIN cpu_counter_track AS k ON k.id = t.id "
    "LEFT JOIN process_counter_track AS q ON q.id = t.id LEFT JOIN process AS p ON q.upid = p.upid "
    "ORDER BY c.ts, c.id",
};
static_assert(kCpuPid == 1'000'000'000 && kIrqThreads == 100'000 && kSoftirqThreads == 200'000);

// Microseconds with the nanoseconds as decimals, exactly.
void AppendMicroseconds(std::int64_t ns, std::string& out) {
  const std::int64_t whole = ns / 1000;
  const std::int64_t rest = ns % 1000;
  fmt::format_to(std::back_inserter(out), "{}{}.{:03}", ns < 0 && whole == 0 ? "-" : "", whole,
                 rest < 0 ? -rest : rest);
}

void AppendEvent(const QueryResult& rows, std::size_t row, std::string& out) {
  std::string_view phase = rows.Text(kPhase, row);
  const bool is_slice = phase == "X";
  const bool is_open = is_slice && rows.Integer(kDur, row) < 0;
  if (is_open) phase = "B";  // its end was not seen
  fmt::format_to(std::back_inserter(out), R"({{"ph":"{}","pid":{},"tid":{},"name":)", phase,
                 rows.Integer(kPid, row), rows.Integer(kTid, row));
  tables::AppendJsonString(rows.IsNull(kName, row) ? "" : rows.Text(kName, row), out);
  if (!rows.IsNull(kTs, row)) {
    out += ",\"ts\":";
    AppendMicroseconds(rows.Integer(kTs, row), out);
  }
  if ((is_slice && !is_open) || phase == "T") {
    out += ",\"dur\":";
    AppendMicroseconds(rows.Integer(kDur, row), out);
  }
  if (!rows.IsNull(kCategory, row)) {
    out += ",\"cat\":";
    tables::AppendJsonString(rows.Text(kCategory, row), out);
  }
  if (phase == "b" || phase == "e") {
    fmt::format_to(std::back_inserter(out), ",\"id\":{}", rows.Integer(kDur, row));
  }
  if (phase == "i") out += ",\"s\":\"t\"";
  if (!rows.IsNull(kArgs, row)) {
    out += ",\"args\":";
    out += rows.Text(kArgs, row);
  }
  out += '}';
}

}  // namespace

Status ExportChromeJson(Session& session, Output& output) {
  output.text() += "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool first = true;
  for (const char* sql : kQueries) {
    CULPRIT_ASSIGN(auto rows, session.connection().Query(sql, {}, tables::Fetch::kStreaming));
    for (;;) {
      CULPRIT_ASSIGN(const bool more, rows.Next());
      if (!more) break;
      for (std::size_t row = 0; row < rows.chunk_rows(); ++row) {
        output.text() += first ? "\n" : ",\n";
        first = false;
        AppendEvent(rows, row, output.text());
        CULPRIT_TRY(output.Continue());
      }
    }
  }
  output.text() += "\n]}\n";
  return output.Finish();
}

}  // namespace culprit::query
