#include "health/cgroups.h"

#include <sys/stat.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "health/texts.h"
#include "kernel/proc_cpu.h"
#include "kernel/proc_scan.h"

namespace culprit::health {
namespace {

using kernel::FindValue;
using kernel::NamedValue;

// v1 limits are near 2^63 when there is none.
constexpr std::uint64_t kNoLimitV1 = std::uint64_t{1} << 60;

class Walker {
 public:
  Walker(const std::string& root, std::vector<CgroupRow>& rows) : root_(root), rows_(rows) {}

  void Walk(const std::string& hierarchy, const std::string& controller, const std::string& path,
            int depth) {
    if (rows_.size() >= kMostCgroups || depth > 32) return;
    folder_ = hierarchy + path;
    CgroupRow row;
    row.path = path.empty() ? "/" : path;
    row.controller = controller;
    const bool all = controller == "unified";
    if (all || controller == "cpu") ReadCpu(row, all);
    if (all) ReadMemoryV2(row);
    if (controller == "memory") ReadMemoryV1(row);
    if (all || controller == "pids") {
      row.tasks = One("pids.current");
      row.task_limit = One("pids.max");
    }
    rows_.push_back(std::move(row));
    const std::string folder = hierarchy + path;
    for (const std::string& name : ListFolder(root_ + folder)) {
      // Control files all have a dot or are few and known; what is left is asked for its kind.
      if (name.find('.') != name.npos && IsControlFile(name)) continue;
      struct stat info {};
      if (stat((root_ + folder + "/" + name).c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
        Walk(hierarchy, controller, path + "/" + name, depth + 1);
      }
    }
  }

 private:
  static bool IsControlFile(std::string_view name) {
    constexpr std::string_view kPrefixes[] = {
        "cgroup.", "cpu.",     "cpuset.", "cpuacct.", "memory.",  "pids.",    "io.",
        "blkio.",  "hugetlb.", "rdma.",   "misc.",    "net_cls.", "freezer.", "irq."};
    return std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
  }
  std::string Read(std::string_view file) {
    return ReadText(root_, folder_ + "/" + std::string(file)).text;
  }
  std::optional<std::uint64_t> One(std::string_view file) {
    return kernel::ParseSingle(Read(file));
  }

  void ReadCpu(CgroupRow& row, bool v2) {
    const std::string text = Read("cpu.stat");
    kernel::ParseNamedValues(text, values_);
    row.usage_us = FindValue(values_, "usage_usec");
    row.periods = FindValue(values_, "nr_periods");
    row.throttled_periods = FindValue(values_, "nr_throttled");
    row.throttled_us = FindValue(values_, "throttled_usec");
    if (const auto ns = FindValue(values_, "throttled_time"); ns && !v2)
      row.throttled_us = *ns / 1000;
    if (v2) {
      // "max 100000" or "50000 100000"
      const std::string limit = Read("cpu.max");
      kernel::WordCursor words(limit);
      row.quota_us = words.Number();
      row.period_us = words.Number();
    } else {
      row.quota_us = One("cpu.cfs_quota_us");
      row.period_us = One("cpu.cfs_period_us");
      if (const auto ns = One("cpuacct.usage")) row.usage_us = *ns / 1000;
    }
  }

  void ReadMemoryV2(CgroupRow& row) {
    const std::string text = Read("memory.events");
    kernel::ParseNamedValues(text, values_);
    row.oom_kills = FindValue(values_, "oom_kill");
    row.oom_events = FindValue(values_, "oom");
    row.high_events = FindValue(values_, "high");
    row.max_events = FindValue(values_, "max");
    if (values_.empty()) return;  // no memory controller here
    row.memory_bytes = One("memory.current");
    row.memory_limit_bytes = One("memory.max");
  }

  void ReadMemoryV1(CgroupRow& row) {
    const std::string text = Read("memory.oom_control");
    kernel::ParseNamedValues(text, values_);
    row.oom_kills = FindValue(values_, "oom_kill");
    row.memory_bytes = One("memory.usage_in_bytes");
    row.memory_limit_bytes = One("memory.limit_in_bytes");
    if (row.memory_limit_bytes.value_or(0) >= kNoLimitV1) row.memory_limit_bytes.reset();
    row.max_events = One("memory.failcnt");
  }

  const std::string& root_;
  std::vector<CgroupRow>& rows_;
  std::string folder_;
  std::vector<NamedValue> values_;
};

constexpr std::string_view kBase = "/sys/fs/cgroup";

bool IsUnified(const std::string& root) {
  return ReadText(root, std::string(kBase) + "/cgroup.controllers").error_number == 0;
}

// The order that FindCgroup searches by.
auto KeyOf(const CgroupRow& row) { return std::tie(row.controller, row.path); }

void ReadHierarchies(const std::string& root, std::vector<CgroupRow>& rows) {
  Walker walker(root, rows);
  const std::string base(kBase);
  if (IsUnified(root)) return walker.Walk(base, "unified", "", 0);
  const auto names = ListFolder(root + base);
  for (const std::string& name : names) {
    // "cpu,cpuacct" is one hierarchy; "cpu" is often a link to it, and then read once.
    if (name == "cpu,cpuacct" && std::ranges::count(names, "cpu") > 0) continue;
    if (name == "unified") walker.Walk(base + "/" + name, "unified", "", 0);
    if (name == "cpu" || name == "cpu,cpuacct") walker.Walk(base + "/" + name, "cpu", "", 0);
    if (name == "memory" || name == "pids") walker.Walk(base + "/" + name, name, "", 0);
  }
}

}  // namespace

std::vector<CgroupRow> ReadCgroups(const std::string& root) {
  std::vector<CgroupRow> rows;
  ReadHierarchies(root, rows);
  std::ranges::stable_sort(rows, {}, KeyOf);
  return rows;
}

std::vector<CgroupPressure> PressureOfCgroups(const std::string& root,
                                              const std::vector<CgroupRow>& rows,
                                              std::string_view resource) {
  const std::string hierarchy = std::string(kBase) + (IsUnified(root) ? "" : "/unified");
  std::vector<CgroupPressure> found;
  for (const CgroupRow& row : rows) {
    if (row.controller != "unified" || row.path == "/") continue;
    const Text text =
        ReadText(root, hierarchy + row.path + "/" + std::string(resource) + ".pressure");
    kernel::Pressure pressure;
    if (!kernel::ParsePressure(text.text, pressure)) continue;
    const auto& line = resource == "io" ? pressure.full : pressure.some;
    if (line && line->avg10_pct >= 1) found.push_back({row.path, line->avg10_pct});
  }
  double most = 0;
  for (const CgroupPressure& row : found) most = std::max(most, row.avg10_pct);
  std::erase_if(found, [&](const CgroupPressure& row) { return row.avg10_pct < 0.5 * most; });
  std::ranges::stable_sort(found, std::greater<>(), [&](const CgroupPressure& row) {
    return std::pair(row.avg10_pct >= 0.9 * most, std::ranges::count(row.path, '/'));
  });
  if (found.size() > 3) found.resize(3);
  return found;
}

const CgroupRow* FindCgroup(const std::vector<CgroupRow>& rows, const CgroupRow& like) {
  const auto at = std::ranges::lower_bound(rows, KeyOf(like), {}, KeyOf);
  return at != rows.end() && KeyOf(*at) == KeyOf(like) ? &*at : nullptr;
}

}  // namespace culprit::health
