// Network file systems: NFS round trips, Lustre imports, requests of Ceph.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "health/measures.h"

namespace culprit::health {

void MeasureNfs(const Context& context, Readings& out) {
  std::vector<kernel::NfsMountStat> before, after;
  kernel::ParseMountStats(context.before.texts.Get("/proc/self/mountstats"), before);
  kernel::ParseMountStats(context.after.texts.Get("/proc/self/mountstats"), after);
  if (after.empty()) {
    out.NotApplicable("no NFS mount");
    return;
  }
  if (!context.NeedTwo(out)) return;
  for (const auto& now : after) {
    const auto old = std::ranges::find(before, now.mount_point, &kernel::NfsMountStat::mount_point);
    if (old == before.end()) continue;
    const auto operations = Delta(old->operations, now.operations);
    const auto sent = Delta(old->transmissions, now.transmissions);
    const auto rtt = Delta(old->rtt_ms, now.rtt_ms);
    if (!operations || !sent || !rtt) continue;
    if (*operations == 0) {
      out.Value(now.mount_point, 0).evidence.push_back("idle");
      continue;
    }
    const double rtt_ms = *rtt / *operations;
    Reading& reading =
        out.Value(now.mount_point, 100 * std::max(0.0, *sent - *operations) / *operations);
    reading.evidence.push_back(fmt::format("{:.0f} operations/s, round trip {:.1f} ms, server {}",
                                           *operations / context.seconds, rtt_ms, now.source));
    if (*operations < 10) reading.worst = FindingStatus::kOk;
    if (rtt_ms >= 50 && *operations >= 10) {
      reading.status = FindingStatus::kWarning;
      reading.summary = fmt::format("the NFS server of {} answers in {:.0f} ms on average",
                                    now.mount_point, rtt_ms);
    }
  }
}

namespace {

// What an import file says of itself ("    state: FULL"; newer ones quote some values).
struct LustreImport {
  std::string state, target, connection;
  bool deactivated = false;
};
LustreImport ParseImport(std::string_view text) {
  LustreImport import;
  const auto unquoted = [](std::string_view word) {
    if (word.size() >= 2 && word.front() == '"' && word.back() == '"')
      word = word.substr(1, word.size() - 2);
    return std::string(word);
  };
  for (const std::string_view line : SplitLines(text)) {
    kernel::WordCursor words(line);
    const std::string_view name = words.Word();
    if (name == "state:") import.state = unquoted(words.Word());
    if (name == "target:") import.target = unquoted(words.Word());
    if (name == "current_connection:") import.connection = unquoted(words.Word());
    if (name == "import_flags:") import.deactivated = line.find("deactive") != line.npos;
  }
  return import;
}

// IDLE is a connection that was let go for want of use.
bool IsUp(std::string_view state) { return state == "FULL" || state == "IDLE"; }

void LustreImports(const Context& context, Readings& out, std::string_view prefix) {
  context.after.texts.Under(prefix, [&](auto path, auto text) {
    if (!path.ends_with("/import")) return;
    const LustreImport now = ParseImport(text);
    if (now.state.empty()) return;
    const auto folder = path.substr(0, path.rfind('/'));
    const std::string name(folder.substr(folder.rfind('/') + 1));
    Reading& reading = out.Value(name, IsUp(now.state) || now.deactivated ? 0 : 1);
    reading.summary =
        fmt::format("Lustre import of {} is {}", now.target.empty() ? name : now.target, now.state);
    if (!now.connection.empty()) reading.evidence.push_back("server " + now.connection);
    if (now.deactivated) reading.evidence.push_back("deactivated by an administrator");
    if (IsUp(now.state) || now.deactivated) return;
    const LustreImport before = ParseImport(context.before.texts.Get(path));
    // One that is reconnecting at this moment may be through in the next.
    const bool lasting = !context.two || !IsUp(before.state);
    reading.status = lasting ? FindingStatus::kCritical : FindingStatus::kWarning;
    if (!lasting) reading.evidence.push_back("it was " + before.state + " a sample ago");
  });
}

// Ids of the requests under way in an osdc or mdsc file: their lines begin with a number. Behind
// them come watches ("LINGER REQUESTS"), which stay for as long as a device is mapped.
std::set<std::string_view> RequestIds(std::string_view text) {
  std::set<std::string_view> ids;
  for (const std::string_view line : SplitLines(text)) {
    if (line.starts_with("LINGER REQUESTS")) break;
    const std::string_view id = kernel::WordCursor(line).Word();
    if (ParseInteger<std::uint64_t>(id)) ids.insert(id);
  }
  return ids;
}

// The line of a request: "12\tosd3\t1.a7b3c2d1...": whom it waits for.
std::string RequestLine(std::string_view text, std::string_view id) {
  for (const std::string_view line : SplitLines(text)) {
    if (kernel::WordCursor(line).Word() != id) continue;
    std::string words(line.substr(0, 120));
    std::ranges::replace(words, '\t', ' ');
    return words;
  }
  return "";
}

void CephRequests(const Context& context, Readings& out) {
  constexpr std::string_view kFolder = "/sys/kernel/debug/ceph/";
  context.after.texts.Under(kFolder, [&](auto path, auto text) {
    const std::string name(path.substr(kFolder.size()));
    const auto before = RequestIds(context.before.texts.Get(path));
    const auto now = RequestIds(text);
    std::string_view first;
    std::size_t same = 0;
    for (const std::string_view id : now) {
      if (!context.two || !before.contains(id)) continue;
      if (same++ == 0) first = id;
    }
    const double age_s = context.HeldFor("ceph " + name, same > 0);
    Reading& reading = out.Value(name, static_cast<double>(same));
    reading.summary = fmt::format(
        "{} requests to the Ceph servers are the same as a sample ago, "
        "of {} under way",
        same, now.size());
    if (same == 0) return;
    reading.age_s = age_s;
    reading.evidence.push_back("for example " + RequestLine(text, first));
    if (age_s >= 30) reading.status = FindingStatus::kCritical;
  });
}

}  // namespace

void MeasureLustreCeph(const Context& context, Readings& out) {
  LustreImports(context, out, "/proc/fs/lustre/");
  LustreImports(context, out, "/sys/kernel/debug/lustre/");
  CephRequests(context, out);
  if (!out.rows().empty()) return;
  std::vector<kernel::Mount> mounts;
  kernel::ParseMountInfo(context.after.texts.Get("/proc/self/mountinfo"), mounts);
  const auto client = std::ranges::find_if(mounts, [](const kernel::Mount& mount) {
    return mount.type == "lustre" || mount.type == "ceph";
  });
  if (client == mounts.end()) {
    out.NotApplicable("no Lustre or Ceph mount");
  } else {
    out.Unknown(fmt::format("{} is a {} mount, and debugfs tells nothing of its servers",
                            client->mount_point, client->type),
                !context.node.is_root);
  }
}

}  // namespace culprit::health
