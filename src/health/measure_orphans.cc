// Processes that outlived the launcher of their job.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "health/measures.h"

namespace culprit::health {

namespace {

// These are meant to outlive who started them.
constexpr std::string_view kSupervisors[] = {"containerd-shim", "conmon", "docker-proxy", "dockerd",
                                             "systemd",         "tmux",   "screen"};

bool IsSupervisor(std::string_view comm) {
  return std::ranges::any_of(kSupervisors, [&](auto name) { return comm.starts_with(name); });
}

void TellOrphans(Readings& out, std::string subject, std::string summary,
                 const std::vector<const TaskRow*>& rows, std::string advice) {
  Reading& reading = out.Value(std::move(subject), static_cast<double>(rows.size()));
  reading.worst = FindingStatus::kWarning;
  reading.summary = std::move(summary);
  std::string pids;
  for (std::size_t i = 0; i < std::min<std::size_t>(8, rows.size()); ++i)
    pids += fmt::format("{}{} ({})", i == 0 ? "" : ", ", rows[i]->comm, rows[i]->tid);
  reading.evidence.push_back(pids);
  reading.advice = std::move(advice);
}

// Ranks of one session whose leader, the launcher, is gone.
void OrphansOfSessions(const TaskScan& tasks, Readings& out) {
  std::map<std::int32_t, std::vector<const TaskRow*>> by_session;
  for (const TaskRow& row : tasks.orphans) {
    if (row.session > 0 && !tasks.names.contains(row.session) && !IsSupervisor(row.comm))
      by_session[row.session].push_back(&row);
  }
  for (const auto& [session, rows] : by_session) {
    // Daemons fork twice too; ranks are many of one name.
    std::map<std::string_view, std::size_t> names;
    for (const TaskRow* row : rows) ++names[row->comm];
    if (std::ranges::none_of(names, [](const auto& name) { return name.second >= 2; })) continue;
    TellOrphans(
        out, fmt::format("session {}", session),
        fmt::format("{} processes outlived the leader of their session ({})", rows.size(), session),
        rows, fmt::format("if the job is over, end them: pkill -s {}", session));
  }
}

// Launchers that give each rank a session of its own (torchrun does): then they have a cgroup in
// common, a name, and the time at which they were started. A service is left to its manager, and
// the root cgroup says nothing.
void OrphansOfCgroups(const TaskScan& tasks, Readings& out) {
  constexpr std::uint64_t kTogetherTicks = 60 * 100;  // USER_HZ is 100 everywhere
  std::map<std::pair<std::string_view, std::string_view>, std::vector<const TaskRow*>> groups;
  for (const TaskRow& row : tasks.orphans) {
    if (row.session != row.pid || row.cgroup.size() < 2 || IsSupervisor(row.comm)) continue;
    if (row.cgroup.ends_with(".service")) continue;
    groups[{row.cgroup, row.comm}].push_back(&row);
  }
  for (auto& [key, rows] : groups) {
    std::ranges::sort(rows, {}, &TaskRow::tid);
    const auto [first, last] = std::ranges::minmax(rows, {}, &TaskRow::start_ticks);
    if (rows.size() < 2 || last->start_ticks - first->start_ticks > kTogetherTicks) continue;
    std::string pids;
    for (const TaskRow* row : rows) pids += fmt::format(" {}", row->tid);
    TellOrphans(out, fmt::format("cgroup {}", key.first),
                fmt::format("{} processes {} of cgroup {} have lost who started them", rows.size(),
                            key.second, key.first),
                rows, "if the job is over, end them: kill" + pids.substr(0, 200));
  }
}

}  // namespace

void MeasureOrphans(const Context& context, Readings& out) {
  if (!context.after.tasks.whole) return static_cast<void>(out.Unknown(context.after.tasks.error));
  OrphansOfSessions(context.after.tasks, out);
  // In a container process 1 may be the launcher itself.
  if (context.node.container.empty()) OrphansOfCgroups(context.after.tasks, out);
  if (out.rows().empty()) out.Value("", 0).summary = "no orphans of a dead launcher";
}

}  // namespace culprit::health
