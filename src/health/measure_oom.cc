// OOM kills: counters tell those of the sample, the kernel log those before it and their victims.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "health/measures.h"
#include "health/oom_log.h"

namespace culprit::health {
namespace {

constexpr double kWindowSeconds = 1800;  // netdata's: a kill stays news for half an hour
constexpr std::string_view kKmsg = "/dev/kmsg";

struct Place {
  double counted = 0;  // during the sample
  std::vector<OomKill> logged;
  std::optional<std::uint64_t> limit_bytes;
};

constexpr std::string_view kNode = "";
constexpr std::string_view kSomeCgroup = "?";  // the log does not say which

void Tell(const Context& context, Readings& out, const std::string& name, const Place& place) {
  const bool node = name == kNode;
  const auto kills = std::max(place.counted, static_cast<double>(place.logged.size()));
  Reading& reading = out.Value(node                  ? "node"
                               : name == kSomeCgroup ? "a cgroup"
                                                     : "cgroup " + name,
                               kills);
  const std::string when =
      place.logged.empty() ? fmt::format("in {:.1f} s", context.seconds) : "in the last 30 min";
  reading.summary = fmt::format("{:.0f} OOM kill{} {}, {}", kills, kills == 1 ? "" : "s", when,
                                node ? "for want of memory of the whole node"
                                     : "at a cgroup's own limit: no fault of the node");
  std::size_t shown = 0;
  for (auto kill = place.logged.rbegin(); kill != place.logged.rend() && shown < 3; ++kill, ++shown)
    reading.evidence.push_back(
        fmt::format("killed {} (pid {}) {:.0f} s ago{}{}", kill->comm, kill->pid,
                    std::max(0.0, context.after.uptime_s.value_or(0) - kill->time_s),
                    kill->sizes.empty() ? "" : ": ", kill->sizes.substr(0, 120)));
  if (place.logged.size() > shown)
    reading.evidence.push_back(fmt::format("and {} more", place.logged.size() - shown));
  if (place.limit_bytes)
    reading.evidence.push_back("memory limit " + FormatBytes(*place.limit_bytes));
  if (!node) reading.advice = "raise the limit of this cgroup, or find the leak in it";
}

using Places = std::map<std::string, Place, std::less<>>;

// Kills of the sample by the cgroups' own counters. memory.events of a parent counts those of its
// children as well: what is left of its own is its own.
Places CountedInCgroups(const Context& context) {
  std::vector<std::pair<std::string, Place>> rows;
  for (const CgroupRow& row : context.after.cgroups) {
    const CgroupRow* before = FindCgroup(context.before.cgroups, row);
    if (!row.oom_kills || before == nullptr) continue;
    const double kills = Delta(before->oom_kills, row.oom_kills).value_or(0);
    if (kills > 0) rows.emplace_back(row.path, Place{}).second.counted = kills;
  }
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const auto& row) { return row.first.size(); });
  Places places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [path, place] = rows[i];
    if (place.counted <= 0) continue;
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const std::string& parent = rows[j].first;
      if (parent == "/" || path.starts_with(parent + "/")) rows[j].second.counted -= place.counted;
    }
    places[path] = place;
  }
  return places;
}

// Adds the kills of the last half an hour that the log has; returns how many are of the sample.
double AddLogged(const Context& context, Places& places) {
  double of_sample = 0;
  for (OomKill& kill : FindOomKills(context.after.kernel_log)) {
    const double age_s = *context.after.uptime_s - kill.time_s;
    if (age_s > kWindowSeconds) continue;
    // The log's clock and the uptime may be a little apart.
    if (age_s <= context.seconds + 0.1) ++of_sample;
    const std::string_view name = !kill.in_cgroup       ? kNode
                                  : kill.cgroup.empty() ? kSomeCgroup
                                                        : std::string_view(kill.cgroup);
    places[std::string(name)].logged.push_back(std::move(kill));
  }
  return of_sample;
}

}  // namespace

void MeasureOom(const Context& context, Readings& out) {
  const auto since_boot = kernel::FindValue(context.after.vmstat, "oom_kill");
  const bool log = context.after.texts.Has(kKmsg) && context.after.uptime_s.has_value();
  const double total = context.two ? VmstatDelta(context, "oom_kill").value_or(0) : 0;
  const Places counted = context.two ? CountedInCgroups(context) : Places();
  double in_cgroups = 0;
  for (const auto& [path, place] : counted) in_cgroups += place.counted;
  Places places;
  const double logged = log ? AddLogged(context, places) : 0;
  // The log names the cgroup whose limit it was, the counters that of the victim: one of them.
  if (logged < in_cgroups) {
    for (const auto& [path, place] : counted) places[path].counted = place.counted;
  } else if (logged < total && total > in_cgroups) {
    places[std::string(kNode)].counted = total;
  }
  for (auto& [name, place] : places) {
    for (const CgroupRow& row : context.after.cgroups) {
      if (row.path == name && row.memory_limit_bytes) place.limit_bytes = row.memory_limit_bytes;
    }
    Tell(context, out, name, place);
  }
  if (!out.rows().empty()) return;
  const bool cgroups_count = std::ranges::any_of(
      context.after.cgroups, [](const CgroupRow& row) { return row.oom_kills.has_value(); });
  if (!since_boot && !log && !cgroups_count) {
    out.NotApplicable("this kernel does not count OOM kills (before 4.13)");
    return;
  }
  Reading& reading = out.Value("", 0);
  reading.summary = log ? "no OOM kill in the last 30 min" : "no OOM kill during the sample";
  if (since_boot) reading.summary += fmt::format("; {} since boot", *since_boot);
  if (!log && context.after.texts.Find(kKmsg) != nullptr)
    reading.evidence.push_back("those before it are in the kernel log: " +
                               context.after.texts.Reason(kKmsg));
}

}  // namespace culprit::health
