#include "health/oom_log.h"

#include "base/text.h"

namespace culprit::health {
namespace {

constexpr std::size_t kMostCommBytes = 15;

// What the lines before a kill say of its victim.
struct Announced {
  std::int32_t pid = 0;
  bool in_cgroup = false;
  std::string cgroup;
};

std::int32_t LeadingNumber(std::string_view text) {
  return ParseInteger<std::int32_t>(text.substr(0, text.find_first_not_of("0123456789")))
      .value_or(0);
}

// "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,
// task_memcg=/a/b,task=python,pid=77,uid=0". A path and a comm may have commas: the names around
// them bound them.
Announced ParseConstraint(std::string_view text) {
  Announced announced;
  announced.in_cgroup = text.starts_with("CONSTRAINT_MEMCG");
  if (const auto at = text.rfind(",pid="); at != text.npos)
    announced.pid = LeadingNumber(text.substr(at + 5));
  constexpr std::string_view kGroup = ",oom_memcg=";
  const auto begin = text.find(kGroup);
  if (begin == text.npos) return announced;
  const std::string_view group = text.substr(begin + kGroup.size());
  announced.cgroup = group.substr(0, group.find(",task_memcg="));
  return announced;
}

// "77 (my (app)) total-vm:1kB, anon-rss:..." or, between 4.20 and 5.3, "77 (app), UID 0, total-vm".
// A comm is what it likes: of the ")" that end one, the last that still can.
bool ParseVictim(std::string_view text, OomKill& kill) {
  kill.pid = LeadingNumber(text);
  const auto open = text.find(" (");
  if (kill.pid <= 0 || open == text.npos) return false;
  const std::string_view rest = text.substr(open + 2);
  auto end = rest.npos;
  for (std::size_t at = 0; at < rest.size() && at <= kMostCommBytes; ++at) {
    const std::string_view behind = rest.substr(at);
    if (behind.starts_with(") total-vm:") || behind.starts_with("), UID ") ||
        behind.starts_with(") score "))
      end = at;
  }
  if (end == rest.npos) return false;
  kill.comm = rest.substr(0, end);
  if (const auto at = rest.find("total-vm:", end); at != rest.npos) kill.sizes = rest.substr(at);
  return true;
}

}  // namespace

std::vector<OomKill> FindOomKills(const std::vector<KmsgRecord>& records) {
  constexpr std::string_view kConstraint = "oom-kill:constraint=", kKilled = "Killed process ",
                             kKill = "out of memory: Kill process ",
                             kMemoryCgroup = "Memory cgroup out of memory: ";
  std::vector<OomKill> kills;
  Announced announced;
  for (const KmsgRecord& record : records) {
    const std::string_view message = record.message;
    // At the start of a line only: a process can write its own words into the middle of others.
    if (message.starts_with(kConstraint)) {
      announced = ParseConstraint(message.substr(kConstraint.size()));
      continue;
    }
    const bool of_cgroup = message.starts_with(kMemoryCgroup);
    if (const auto at = message.find(kKill); of_cgroup && at != message.npos) {
      announced = {LeadingNumber(message.substr(at + kKill.size())), true, ""};
      continue;
    }
    const auto at = message.find(kKilled);
    if (at == message.npos || !(at == 0 || of_cgroup || message.starts_with("Out of memory")))
      continue;
    OomKill kill;
    kill.time_s = record.time_s;
    if (!ParseVictim(message.substr(at + kKilled.size()), kill)) continue;
    kill.in_cgroup = of_cgroup;
    if (announced.pid == kill.pid) {
      kill.in_cgroup = kill.in_cgroup || announced.in_cgroup;
      kill.cgroup = announced.in_cgroup ? announced.cgroup : "";
    }
    announced = {};
    kills.push_back(std::move(kill));
  }
  return kills;
}

}  // namespace culprit::health
