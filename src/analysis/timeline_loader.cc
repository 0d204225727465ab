#include "analysis/timeline_loader.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/victim_names_table.h"
#include "analysis/wait_classes.h"
#include "base/text.h"
#include "tables/database.h"
#include "tables/enums.h"
#include "tables/query_result.h"

namespace culprit::analysis {
namespace {

using tables::QueryResult;

// One flag decides, the one that says most about how the thread can be woken.
Activity ActivityOf(std::int64_t state) {
  using tables::SchedStateFlag;
  if (state == tables::kStateRunning) return Activity::kRunning;
  if (state == tables::kStatePreempted) return Activity::kPreempted;
  if (state == tables::kStateRunnable) return Activity::kRunnable;
  const auto has = [&](char letter) { return (state & *SchedStateFlag(letter)) != 0; };
  if (has('X') || has('Z') || has('x')) return Activity::kDead;
  if (has('T') || has('t')) return Activity::kStopped;
  if (has('I') || has('S') || has('P')) return Activity::kSleeping;  // idle kernel threads: DI
  if (has('D') || has('K')) return Activity::kBlocked;
  return Activity::kUnknown;
}

class Texts {
 public:
  std::uint32_t Intern(std::string_view text) {
    const auto [found, is_new] = ids_.try_emplace(std::string(text), texts_.size());
    if (is_new) texts_.emplace_back(text);
    return found->second;
  }
  std::vector<std::string> Take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_ = {""};
  std::unordered_map<std::string, std::uint32_t> ids_ = {{"", 0}};
};

Status ForEachRow(tables::Connection& connection, std::string_view sql,
                  const std::function<void(QueryResult&, std::size_t)>& on_row) {
  CULPRIT_ASSIGN(QueryResult result, connection.Query(sql, {}, tables::Fetch::kStreaming));
  while (true) {
    CULPRIT_ASSIGN(const bool more, result.Next());
    if (!more) return {};
    for (std::size_t row = 0; row < result.chunk_rows(); ++row) on_row(result, row);
  }
}

std::uint32_t IdOr(const QueryResult& result, std::size_t column, std::size_t row) {
  return result.IsNull(column, row) ? kNone
                                    : static_cast<std::uint32_t>(result.Integer(column, row));
}

std::int16_t SmallOr(const QueryResult& result, std::size_t column, std::size_t row) {
  return result.IsNull(column, row) ? std::int16_t{-1}
                                    : static_cast<std::int16_t>(result.Integer(column, row));
}

// The place of `id` in a vector without holes.
template <class Row>
Row& At(std::vector<Row>& rows, std::size_t id) {
  if (id >= rows.size()) rows.resize(id + 1);
  return rows[id];
}

class Loader {
 public:
  explicit Loader(tables::Connection& connection) : connection_(connection) {}

  Result<Timeline> Load() {
    CULPRIT_TRY(LoadWindow());
    CULPRIT_TRY(LoadNames());
    CULPRIT_TRY(LoadStates());
    CULPRIT_TRY(LoadRuns());
    CULPRIT_TRY(LoadIrqs());
    CULPRIT_TRY(LoadDisks());
    CULPRIT_TRY(LoadLost());
    CULPRIT_TRY(LoadThrottled());
    CULPRIT_TRY(LoadProcessNotes());
    for (std::size_t i = 0; i < rows_.threads.size(); ++i) {
      rows_.threads[i].utid = static_cast<Utid>(i);
      if (rows_.threads[i].upid != kNone) At(rows_.processes, rows_.threads[i].upid);
    }
    for (std::size_t i = 0; i < rows_.processes.size(); ++i) {
      rows_.processes[i].upid = static_cast<Upid>(i);
    }
    rows_.texts = texts_.Take();
    return Timeline(std::move(rows_));
  }

 private:
  Status LoadWindow() {
    return ForEachRow(connection_, "SELECT start_ts, end_ts FROM trace_bounds",
                      [&](QueryResult& r, std::size_t row) {
                        rows_.window = {r.Integer(0, row), r.Integer(1, row)};
                      });
  }

  Status LoadNames() {
    At(rows_.threads, kIdleThread);
    CULPRIT_TRY(ForEachRow(
        connection_, "SELECT utid, upid, tid, name, is_main_thread FROM thread ORDER BY utid",
        [&](QueryResult& r, std::size_t row) {
          Thread& thread = At(rows_.threads, static_cast<std::size_t>(r.Integer(0, row)));
          thread.upid = IdOr(r, 1, row);
          thread.tid = r.Integer(2, row);
          thread.name = r.Text(3, row);
          thread.is_main = r.Integer(4, row) != 0;
        }));
    return ForEachRow(connection_,
                      "SELECT p.upid, p.pid, p.name, p.cmdline, p.parent_upid, "
                      "p.pid = 2 OR coalesce(parent.pid = 2, false) FROM process AS p "
                      "LEFT JOIN process AS parent ON p.parent_upid = parent.upid ORDER BY p.upid",
                      [&](QueryResult& r, std::size_t row) {
                        Process& process =
                            At(rows_.processes, static_cast<std::size_t>(r.Integer(0, row)));
                        process.pid = r.Integer(1, row);
                        process.name = r.Text(2, row);
                        process.cmdline = r.Text(3, row);
                        process.parent = IdOr(r, 4, row);
                        process.is_kernel = r.Bool(5, row);
                      });
  }

  std::int64_t EndOf(std::int64_t ts, std::int64_t dur) const {
    return dur < 0 ? std::max(ts, rows_.window.end) : ts + dur;
  }

  Status LoadStates() {
    CULPRIT_ASSIGN(const WaitClasses wait_classes, WaitClasses::Load(connection_));
    return ForEachRow(
        connection_,
        "SELECT ts, dur, utid, enum_code(state)::INTEGER, cpu, target_cpu, waker_utid, "
        "irq_context, blocked_function, id FROM __intrinsic_thread_state",
        [&](QueryResult& r, std::size_t row) {
          State state;
          state.ts = r.Integer(0, row);
          const std::int64_t dur = r.Integer(1, row);
          state.end = EndOf(state.ts, dur);
          state.is_open = dur < 0;
          state.utid = static_cast<Utid>(r.Integer(2, row));
          if (!r.IsNull(3, row)) state.activity = ActivityOf(r.Integer(3, row));
          state.cpu = SmallOr(r, IsReady(state.activity) ? 5 : 4, row);
          state.waker = IdOr(r, 6, row);
          const bool is_context_known = !r.IsNull(7, row);
          state.woken_in_irq = is_context_known && r.Integer(7, row) == 1;
          // The idle thread wakes others in interrupts alone: outside of one it was somebody whose
          // switch was not recorded.
          if (state.waker == kIdleThread && is_context_known && !state.woken_in_irq) {
            state.waker = kNone;
          }
          if (!r.IsNull(8, row)) state.blocked_in = texts_.Intern(r.Text(8, row));
          if (state.activity == Activity::kBlocked) {
            state.wait_class = texts_.Intern(wait_classes.Of(r.Integer(9, row)));
          }
          At(rows_.threads, state.utid);
          if (state.waker != kNone) At(rows_.threads, state.waker);
          rows_.states.push_back(state);
        });
  }

  Status LoadRuns() {
    return ForEachRow(connection_,
                      "SELECT ts, dur, cpu, utid, priority FROM __intrinsic_sched_slice",
                      [&](QueryResult& r, std::size_t row) {
                        CpuRun run;
                        run.ts = r.Integer(0, row);
                        run.end = EndOf(run.ts, r.Integer(1, row));
                        run.utid = static_cast<Utid>(r.Integer(3, row));
                        run.priority = SmallOr(r, 4, row);
                        At(rows_.threads, run.utid);
                        const auto cpu = static_cast<std::size_t>(r.Integer(2, row));
                        At(rows_.cpu_runs, cpu).push_back(run);
                      });
  }

  Status LoadIrqs() {
    return ForEachRow(
        connection_,
        "SELECT s.ts, s.dur, t.cpu, s.name, t.type = 'cpu_softirq' FROM __intrinsic_slice AS s "
        "JOIN __intrinsic_track AS t ON s.track_id = t.id "
        "WHERE t.type IN ('cpu_irq', 'cpu_softirq') ORDER BY t.cpu, s.ts, s.dur DESC",
        [&](QueryResult& r, std::size_t row) {
          IrqRun run;
          run.ts = r.Integer(0, row);
          run.end = EndOf(run.ts, r.Integer(1, row));
          std::string_view name = r.Text(3, row);
          if (name.starts_with("IRQ (") && name.ends_with(")")) {
            name = name.substr(5, name.size() - 6);
          }
          run.name = texts_.Intern(name);
          run.is_soft = r.Bool(4, row);
          At(rows_.irq_runs, static_cast<std::size_t>(r.Integer(2, row))).push_back(run);
        });
  }

  Status LoadDisks() {
    return ForEachRow(connection_,
                      "SELECT coalesce(insert_ts, issue_ts, complete_ts) AS ts, issue_ts, "
                      "complete_ts, bytes, device, op, utid FROM __intrinsic_block_io "
                      "ORDER BY ts, id",
                      [&](QueryResult& r, std::size_t row) {
                        DiskRequest request;
                        request.begin = r.Integer(0, row);
                        request.issue = r.IsNull(1, row) ? -1 : r.Integer(1, row);
                        request.complete = r.IsNull(2, row) ? -1 : r.Integer(2, row);
                        request.bytes = static_cast<std::uint64_t>(r.Integer(3, row));
                        request.device = texts_.Intern(r.Text(4, row));
                        request.op = texts_.Intern(r.Text(5, row));
                        request.utid = IdOr(r, 6, row);
                        rows_.disk_requests.push_back(request);
                      });
  }

  Status LoadLost() {
    CULPRIT_TRY(ForEachRow(connection_,
                           "SELECT count(*) FROM metadata WHERE name = 'sched_coverage'",
                           [&](QueryResult& r, std::size_t row) {
                             rows_.has_own_threads_only = r.Integer(0, row) > 0;
                           }));
    return ForEachRow(
        connection_, "SELECT cpu, begin_ts, end_ts, events FROM lost_gap ORDER BY end_ts, cpu",
        [&](QueryResult& r, std::size_t row) {
          LostGap gap;
          gap.cpu = static_cast<std::int16_t>(r.Integer(0, row));
          gap.time = {r.IsNull(1, row) ? rows_.window.begin : r.Integer(1, row), r.Integer(2, row)};
          gap.events = r.IsNull(3, row) ? 0 : static_cast<std::uint64_t>(r.Integer(3, row));
          rows_.lost.push_back(gap);
        });
  }

  // Counters "cgroup.PATH.throttled_ns", read ten times a second.
  Status LoadThrottled() {
    return ForEachRow(
        connection_,
        "SELECT path, before, ts, (value - last)::BIGINT FROM (SELECT t.name[8:-14] AS path, "
        "c.ts, c.value, lag(c.ts) OVER w AS before, lag(c.value) OVER w AS last "
        "FROM __intrinsic_counter AS c JOIN __intrinsic_track AS t ON c.track_id = t.id "
        "WHERE t.name LIKE 'cgroup./%.throttled_ns' WINDOW w AS (PARTITION BY t.name ORDER BY "
        "c.ts, c.id)) WHERE value > last ORDER BY ts, path",
        [&](QueryResult& r, std::size_t row) {
          rows_.throttled.push_back({.cgroup = std::string(r.Text(0, row)),
                                     .time = {r.Integer(1, row), r.Integer(2, row)},
                                     .ns = r.Integer(3, row)});
        });
  }

  // What the recorder noted of processes: metadata rows (pid, text).
  Status LoadProcessNotes() {
    struct Notes {
      std::string gpu, cgroup;
      bool is_target = false;
    };
    std::unordered_map<std::int64_t, Notes> notes;
    CULPRIT_TRY(ForEachRow(
        connection_,
        "SELECT int_value, name, str_value FROM metadata WHERE name IN ('culprit_gpu_holder', "
        "'culprit_cpu_quota', 'culprit_target') ORDER BY id",
        [&](QueryResult& r, std::size_t row) {
          auto& [gpu, cgroup, is_target] = notes[r.Integer(0, row)];
          if (r.Text(1, row) == "culprit_target") {
            is_target = true;
          } else if (r.Text(1, row) == "culprit_cpu_quota") {
            cgroup = r.Text(2, row);
          } else if (gpu.find(r.Text(2, row)) == gpu.npos) {
            gpu.append(gpu.empty() ? "" : ", ").append(r.Text(2, row));
          }
        }));
    for (Process& process : rows_.processes) {
      const auto found = notes.find(process.pid);
      if (found == notes.end()) continue;
      process.gpu_devices = found->second.gpu;
      process.cgroup = found->second.cgroup;
      process.is_target = found->second.is_target;
    }
    return {};
  }

  tables::Connection& connection_;
  Timeline::Rows rows_;
  Texts texts_;
};

}  // namespace

Status LoadSlices(tables::Connection& connection, const std::string& glob, Interval window,
                  std::vector<Interval>& times, std::vector<Utid>& threads) {
  times.clear();
  CULPRIT_TRY(ForEachRow(
      connection,
      "SELECT s.ts, s.dur, t.utid, s.name FROM __intrinsic_slice AS s JOIN __intrinsic_track AS t "
      "ON s.track_id = t.id WHERE t.utid IS NOT NULL ORDER BY s.ts, s.id",
      [&](QueryResult& r, std::size_t row) {
        if (!GlobMatches(glob, r.Text(3, row))) return;
        const std::int64_t ts = r.Integer(0, row), dur = r.Integer(1, row);
        const Interval time = Intersect({ts, dur < 0 ? window.end : ts + dur}, window);
        if (time.length() == 0) return;
        const auto utid = static_cast<Utid>(r.Integer(2, row));
        if (std::ranges::find(threads, utid) == threads.end()) threads.push_back(utid);
        if (!times.empty() && time.begin <= times.back().end) {
          times.back().end = std::max(times.back().end, time.end);
        } else {
          times.push_back(time);
        }
      }));
  if (times.empty()) {
    return Error{"--slice " + SafeForTerminal(glob) + ": no thread has such a slice in that time",
                 "culprit query TRACE \"SELECT DISTINCT name FROM thread_slice\""};
  }
  return {};
}

Result<Timeline> LoadTimeline(tables::Connection& connection) { return Loader(connection).Load(); }

}  // namespace culprit::analysis
