#include "load/track_args.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"

namespace culprit::load {
namespace {

// Types whose name holds a key: what stands behind the prefix.
struct NameKey {
  std::string_view type;
  std::string_view key;
  std::string_view prefix;
};
constexpr NameKey kNameKeys[] = {
    {"cpustat", "cpustat_key", "cpu.times."},
    {"meminfo", "meminfo_key", ""},
    {"proc_stat_runtime", "proc_stat_runtime_key", "runtime."},
    {"process_memory", "process_memory_key", "mem."},
    {"process_memory_thread_fallback", "process_memory_key", "mem."},
    {"psi", "psi_resource", "psi."},
    {"vmstat", "vmstat_key", ""},
};

const NameKey* FindNameKey(std::string_view type) {
  const auto found = std::ranges::find(kNameKeys, type, &NameKey::type);
  return found == std::end(kNameKeys) ? nullptr : &*found;
}

// "diskstat.[vda].read_amount"
bool SplitDisk(std::string_view name, std::string_view& device, std::string_view& counter) {
  const std::size_t open = name.find('[');
  const std::size_t close = name.rfind("].");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return false;
  }
  device = name.substr(open + 1, close - open - 1);
  counter = name.substr(close + 2);
  return true;
}

}  // namespace

bool HasTrackArgs(const Track& track, const StringPool& strings) {
  if (track.scope != TrackScope::kGlobal) return true;
  const std::string_view type = strings.Text(track.type);
  return FindNameKey(type) != nullptr || type == "diskstat" || type == "num_irq" ||
         type == "num_softirq";
}

std::uint32_t AddTrackArgs(const TrackTable& tracks, const StringPool& strings, ArgSets& args) {
  const std::uint32_t first = args.set_count();
  for (const Track& track : tracks.tracks()) {
    const std::uint32_t set = args.New();
    if (!args.is_kept()) continue;
    constexpr std::string_view kOwners[] = {"", "cpu", "utid", "upid"};
    if (track.scope != TrackScope::kGlobal) {
      args.Int(set, kOwners[static_cast<std::size_t>(track.scope)], track.owner);
    }
    if (track.perf_session != kNone) args.Int(set, "perf_session_id", track.perf_session);
    const std::string_view type = strings.Text(track.type);
    const std::string_view name =
        track.name == kNoString ? std::string_view() : strings.Text(track.name);
    if (const NameKey* key = FindNameKey(type); key != nullptr) {
      args.Text(set, key->key,
                name.starts_with(key->prefix) ? name.substr(key->prefix.size()) : name);
    } else if (type == "diskstat") {
      std::string_view device;
      std::string_view counter;
      if (!SplitDisk(name, device, counter)) continue;
      args.Text(set, "device_name", device);
      args.Text(set, "counter_name", counter);
    } else if (type == "num_irq" || type == "num_softirq") {
      const std::size_t at = name.rfind(' ');  // "num_irq (id: 24)"
      const auto irq = ParseInteger<std::int64_t>(
          name.substr(at + 1, name.size() - std::min(name.size(), at + 2)));
      if (irq.has_value()) args.Int(set, "irq", *irq);
    }
  }
  return first;
}

}  // namespace culprit::load
