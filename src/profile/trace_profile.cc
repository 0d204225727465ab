#include "profile/trace_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

#include "base/check.h"
#include "base/embedded_file.h"
#include "base/text.h"
#include "profile/kind_table.h"
#include "profile/names.h"
#include "tables/database.h"
#include "tables/query_result.h"

namespace culprit::profile {

extern const std::span<const EmbeddedFile> kTraceQueries;

namespace {

// A thread is idle by design when it waits in one place for more than this share of the trace.
constexpr double kIdleShare = 0.95;

std::string_view QueryText(std::string_view name) {
  const auto file = std::ranges::find(kTraceQueries, name, &EmbeddedFile::name);
  CULPRIT_CHECK(file != kTraceQueries.end());
  return file->text;
}

// Columns of a result by name, so that queries and code need not agree on their order.
class Columns {
 public:
  explicit Columns(const tables::QueryResult& result) : result_(result) {}
  std::optional<std::size_t> Find(std::string_view name) const {
    for (std::size_t i = 0; i < result_.column_count(); ++i) {
      if (result_.name(i) == name) return i;
    }
    return std::nullopt;
  }
  std::size_t At(std::string_view name) const {
    const auto found = Find(name);
    CULPRIT_CHECK(found.has_value());
    return *found;
  }

 private:
  const tables::QueryResult& result_;
};

class TraceReader {
 public:
  TraceReader(tables::Connection& connection, const TraceProfileOptions& options)
      : connection_(connection), options_(options) {
    profile_.format = "trace";
    profile_.has_threads = true;
    profile_.has_times = true;
  }

  Result<Profile> Read() {
    CULPRIT_TRY(ReadThreads());
    CULPRIT_TRY(ReadStacks());
    const std::string& type = options_.type;
    const bool wants_samples = type.empty() || type == "on-cpu" || type.starts_with("counter:");
    if (wants_samples) CULPRIT_TRY(ReadSamples());
    if (profile_.samples.empty() && (type.empty() || !wants_samples)) {
      CULPRIT_TRY(ReadWaits(type.empty() ? "off-cpu" : type));
    }
    if (profile_.samples.empty()) {
      return wants_samples ? Error{"there are no samples in this trace",
                                   "record with --sample; waits: --type off-cpu"}
                           : Error{"there is no " + type + " time in this trace",
                                   "record with the category sched, or with --off-cpu"};
    }
    CULPRIT_TRY(ReadLosses());
    return std::move(profile_);
  }

 private:
  bool HasRows(std::string_view table) {
    const auto count = connection_.QueryInteger(
        fmt::format("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT 1)", table));
    return count.ok() && *count > 0;
  }

  template <class Visit>
  Status ForEachRow(std::string_view sql, Visit visit) {
    CULPRIT_ASSIGN(auto result, connection_.Query(sql));
    const Columns columns(result);
    while (true) {
      CULPRIT_ASSIGN(const bool more, result.Next());
      if (!more) return {};
      for (std::size_t row = 0; row < result.chunk_rows(); ++row) visit(result, columns, row);
    }
  }

  Status ReadThreads() {
    return ForEachRow(QueryText("threads.sql"), [this](const tables::QueryResult& result,
                                                       const Columns& columns, std::size_t row) {
      Thread thread;
      thread.comm = profile_.strings.Intern(result.Text(columns.At("comm"), row));
      thread.process = profile_.strings.Intern(result.Text(columns.At("process"), row));
      thread.tid = static_cast<std::int32_t>(result.Integer(columns.At("tid"), row));
      const std::size_t pid = columns.At("pid");
      if (!result.IsNull(pid, row)) {
        thread.pid = static_cast<std::int32_t>(result.Integer(pid, row));
      }
      if (thread.comm == 0) {
        thread.comm = profile_.strings.Intern(fmt::format(":{}", thread.tid));
      }
      threads_[result.Integer(columns.At("utid"), row)] = profile_.AddThread(thread);
    });
  }

  Status ReadStacks() {
    std::unordered_map<std::int64_t, std::vector<FrameId>> frames;  // outermost first
    CULPRIT_TRY(ForEachRow(QueryText("frames.sql"), [&](const tables::QueryResult& result,
                                                        const Columns& columns, std::size_t row) {
      auto& of_frame = frames[result.Integer(columns.At("id"), row)];
      of_frame.insert(of_frame.begin(), FrameOf(result, columns, row));
    }));
    return ForEachRow(QueryText("callsites.sql"), [&](const tables::QueryResult& result,
                                                      const Columns& columns, std::size_t row) {
      const std::size_t parent = columns.At("parent_id");
      StackId stack = 0;
      if (!result.IsNull(parent, row)) stack = StackOf(result.Integer(parent, row));
      for (const FrameId frame : frames[result.Integer(columns.At("frame_id"), row)]) {
        stack = profile_.InternStack(stack, frame);
      }
      stacks_[result.Integer(columns.At("id"), row)] = stack;
    });
  }

  FrameId FrameOf(const tables::QueryResult& result, const Columns& columns, std::size_t row) {
    const std::string_view name = result.Text(columns.At("name"), row);
    std::string_view module = result.Text(columns.At("module"), row);
    if (name.empty()) {
      const auto offset = static_cast<std::uint64_t>(result.Integer(columns.At("rel_pc"), row));
      return profile_.InternFrame(
          UnknownName(module, offset, module.empty() ? std::nullopt : std::optional(offset),
                      options_.read.unknown),
          module, IsKernelModule(module) ? FrameKind::kKernel : FrameKind::kUnknown);
    }
    const bool inlined = result.Integer(columns.At("inlined"), row) != 0;
    return profile_.InternFrame(ShownName(name, options_.read), module,
                                inlined ? FrameKind::kInlined : KindOf(name, module));
  }

  StackId StackOf(std::int64_t callsite) const {
    const auto found = stacks_.find(callsite);
    return found == stacks_.end() ? 0 : found->second;
  }

  std::optional<ThreadId> ThreadOf(std::int64_t utid) const {
    const auto found = threads_.find(utid);
    if (found == threads_.end()) return std::nullopt;
    return found->second;
  }

  // A sample whose weight is not known counts one.
  Status ReadSamples() {
    if (!HasRows("perf_sample")) return {};
    std::int64_t incomplete = 0;
    std::string sql(QueryText("samples.sql"));
    sql.replace(sql.find("WHERE $1"), 8,
                options_.type.starts_with("counter:") ? "WHERE true" : "WHERE false");
    CULPRIT_TRY(ForEachRow(
        sql, [&](const tables::QueryResult& result, const Columns& columns, std::size_t row) {
          const std::size_t callsite = columns.At("callsite_id");
          const auto thread = ThreadOf(result.Integer(columns.At("utid"), row));
          if (!thread) return;
          if (!result.IsNull(columns.At("unwind_error"), row)) ++incomplete;
          const std::size_t period = columns.At("period");
          const std::size_t unit = columns.At("unit");
          const bool has_period = !result.IsNull(period, row);
          const bool is_time = !result.IsNull(unit, row) && result.Text(unit, row) == "ns";
          const std::size_t cpu = columns.At("cpu");
          profile_.samples.push_back(
              {.ts = result.Integer(columns.At("ts"), row),
               .weight = has_period ? std::max<std::int64_t>(1, result.Integer(period, row)) : 1,
               .stack = result.IsNull(callsite, row) ? 0 : StackOf(result.Integer(callsite, row)),
               .thread = *thread,
               .cpu = result.IsNull(cpu, row) ? -1
                                              : static_cast<std::int32_t>(result.Integer(cpu, row)),
               .metric =
                   profile_
                       .InternMetric(result.Text(columns.At("event"), row), !has_period ? "samples"
                                                                            : is_time   ? "ns"
                                                                                        : "")
                       .value_or(0)});
        }));
    if (incomplete > 0) {
      profile_.notes.push_back(
          {fmt::format("{} stacks end before their root (perf_sample.unwind_error)",
                       FormatCount(static_cast<std::uint64_t>(incomplete))),
           false});
    }
    return {};
  }

  Status ReadWaits(const std::string& type) {
    const bool has_stacks = HasRows("offcpu_sample");
    if (!has_stacks && type == "waker") {
      return Error{"there are no stacks of wakers in this trace", "record with --off-cpu --wakers"};
    }
    if (!has_stacks) {
      profile_.notes.push_back(
          {"no stacks of waits in this trace (record --off-cpu): states of threads, with the "
           "kernel's stack where a wait in D state has one",
           false});
    }
    const auto metric = profile_.InternMetric(type, "ns").value_or(0);
    profile_.metrics[metric].is_span = true;
    const std::string_view weight_column = type == "off-cpu"    ? "off_cpu"
                                           : type == "runnable" ? "runnable"
                                                                : "wait";
    CULPRIT_TRY(ForEachRow(
        QueryText(has_stacks ? "offcpu.sql" : "states.sql"),
        [&](const tables::QueryResult& result, const Columns& columns, std::size_t row) {
          const auto thread = ThreadOf(result.Integer(columns.At("utid"), row));
          const std::int64_t weight = result.Integer(columns.At(weight_column), row);
          if (!thread || weight <= 0) return;
          // Whoever waited and then stood ready did so in that order.
          const std::int64_t begin =
              result.Integer(columns.At("ts"), row) +
              (type == "runnable" ? result.Integer(columns.At("wait"), row) : 0);
          const std::size_t cpu = columns.At("cpu");
          const std::size_t callsite = columns.At(type == "waker" ? "waker" : "callsite");
          const std::string_view state = result.Text(columns.At("state"), row);
          StackId stack = result.IsNull(callsite, row) ? 0 : StackOf(result.Integer(callsite, row));
          if (stack == 0)
            stack = StateStack(type == "waker" ? "no stack of a waker" : StateName(state));
          profile_.samples.push_back(
              {.ts = begin,
               .weight = weight,
               .stack = stack,
               .thread = *thread,
               .cpu = result.IsNull(cpu, row) ? -1
                                              : static_cast<std::int32_t>(result.Integer(cpu, row)),
               .metric = metric,
               .state = state.empty() ? '\0' : state.front()});
        }));
    if (type == "wait" && !options_.all) CULPRIT_TRY(SetIdleAside());
    if (has_stacks) CULPRIT_TRY(SayWhoIsNotWatched());
    return {};
  }

  static std::string StateName(std::string_view state) {
    if (state.starts_with('R')) return "runnable";
    if (state.starts_with('S')) return "asleep";
    if (state.starts_with('D')) return "uninterruptible";
    if (state.starts_with('I')) return "idle kernel thread";
    if (state.starts_with('T') || state.starts_with('t')) return "stopped";
    return state.empty() ? "not running" : "state " + std::string(state);
  }

  StackId StateStack(std::string_view state) {
    return profile_.InternStack(
        StackId{0}, profile_.InternFrame(fmt::format("[{}]", state), "", FrameKind::kUnknown));
  }

  // Threads that wait in one place for nearly the whole trace: workers without work. They are
  // counted, not drawn.
  Status SetIdleAside() {
    CULPRIT_ASSIGN(const auto length, connection_.QueryInteger(
                                          "SELECT max(end_ts) - min(start_ts) FROM trace_bounds"));
    std::unordered_map<std::uint64_t, std::int64_t> by_place;  // (thread, stack)
    for (const Sample& sample : profile_.samples) {
      if (sample.state == 'D') continue;
      by_place[(std::uint64_t{sample.thread} << 32U) | sample.stack] += sample.weight;
    }
    std::vector<bool> idle(profile_.threads.size());
    std::size_t count = 0;
    for (const auto& [place, weight] : by_place) {
      const auto thread = static_cast<ThreadId>(place >> 32U);
      if (idle[thread] || static_cast<double>(weight) < kIdleShare * static_cast<double>(length)) {
        continue;
      }
      idle[thread] = true;
      ++count;
    }
    if (count == 0) return {};
    std::int64_t aside_ns = 0;
    for (const Sample& sample : profile_.samples) {
      if (idle[sample.thread]) aside_ns += sample.weight;
    }
    std::erase_if(profile_.samples, [&](const Sample& sample) { return idle[sample.thread]; });
    profile_.notes.push_back(
        {fmt::format("set aside: {} threads that slept in one place for {:.0f} % of the trace or "
                     "more, {} together (--all draws them)",
                     count, 100 * kIdleShare, FormatDuration({aside_ns})),
         false});
    if (profile_.samples.empty()) profile_.notes.back().text += "; nothing else waited";
    return {};
  }

  // Stacks of switches are recorded of chosen processes; the others waited, too.
  Status SayWhoIsNotWatched() {
    CULPRIT_ASSIGN(const auto others,
                   connection_.QueryInteger("SELECT count(DISTINCT utid) FROM thread_state "
                                            "WHERE utid NOT IN (SELECT utid FROM offcpu_sample)"));
    if (others > 0) {
      profile_.notes.push_back(
          {fmt::format("{} threads whose switches were not sampled are not shown",
                       FormatCount(static_cast<std::uint64_t>(others))),
           false});
    }
    return {};
  }

  // Lost data of the trace, as every view shows it.
  Status ReadLosses() {
    return ForEachRow(
        "SELECT name, sum(value)::BIGINT AS value FROM stats "
        "WHERE severity IN ('data_loss', 'error') AND value > 0 "
        "GROUP BY name ORDER BY name",
        [this](const tables::QueryResult& result, const Columns& columns, std::size_t row) {
          profile_.notes.push_back({fmt::format("{}: {}", result.Text(columns.At("name"), row),
                                                result.Integer(columns.At("value"), row)),
                                    true});
        });
  }

  tables::Connection& connection_;
  const TraceProfileOptions& options_;
  Profile profile_;
  std::unordered_map<std::int64_t, ThreadId> threads_;  // of utid
  std::unordered_map<std::int64_t, StackId> stacks_;    // of callsite
};

}  // namespace

Result<Profile> ReadTraceProfile(tables::Connection& connection,
                                 const TraceProfileOptions& options) {
  return TraceReader(connection, options).Read();
}

}  // namespace culprit::profile
