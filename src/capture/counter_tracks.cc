#include "capture/counter_tracks.h"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/text.h"
#include "capture/trace_clock.h"
#include "kernel/proc_disk.h"
#include "kernel/proc_net.h"
#include "kernel/proc_task.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;

// The same name has the same track in every file of a rotation. FNV-1a.
std::uint64_t TrackUuid(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash | 1;  // 0 is the root track
}

}  // namespace

void CounterTracks::Add(PacketSpool& spool, std::uint64_t now_ns, std::string_view name,
                        CounterUnit unit, std::uint64_t value) {
  Track& track = tracks_[std::string(name)];
  const bool full = polls_ % SysStatsReader::kFullEvery == 0;
  if (track.described && !full && track.last == value) return;
  std::string bytes;
  if (!track.described) {
    track.uuid = TrackUuid(name);
    protozero::pbf_writer packet(bytes);
    auto head = HeadAt(clock_, now_ns, fields::Sequence::kSession);
    WritePacketHead(packet, head);
    {
      protozero::pbf_writer descriptor(packet, fields::TracePacket::kTrackDescriptor);
      descriptor.add_uint64(fields::TrackDescriptor::kUuid, track.uuid);
      descriptor.add_string(fields::TrackDescriptor::kName, name.data(), name.size());
      protozero::pbf_writer counter(descriptor, fields::TrackDescriptor::kCounter);
      counter.add_enum(fields::CounterDescriptor::kUnit, static_cast<std::int32_t>(unit));
    }
    spool.AppendLasting(bytes);
    bytes.clear();
    track.described = true;
  }
  track.last = value;
  protozero::pbf_writer packet(bytes);
  WritePacketHead(packet, HeadAt(clock_, now_ns, fields::Sequence::kSession));
  {
    protozero::pbf_writer event(packet, fields::TracePacket::kTrackEvent);
    event.add_enum(fields::TrackEvent::kType, fields::TrackEvent::Type::kCounter);
    event.add_uint64(fields::TrackEvent::kTrackUuid, track.uuid);
    event.add_int64(fields::TrackEvent::kCounterValue, static_cast<std::int64_t>(value));
  }
  spool.Append(bytes);
}

void CounterTracks::Restart() {
  polls_ = 0;
  for (auto& [name, track] : tracks_) track.described = false;
}

NetDevReader::NetDevReader(const std::string& root) : file_(JoinPath(root, "proc/net/dev")) {}

void NetDevReader::Poll(CounterTracks& tracks, PacketSpool& spool, std::uint64_t now_ns) {
  if (!file_.Read(text_)) return;
  std::vector<kernel::NetDevStat> devices;
  if (!kernel::ParseNetDev(text_, devices)) return;
  for (const kernel::NetDevStat& device : devices) {
    if (device.rx.packets == 0 && device.tx.packets == 0) continue;  // hundreds of idle veths
    const auto add = [&](std::string_view metric, CounterUnit unit, std::uint64_t value) {
      name_.assign("net.").append(device.name).append(".").append(metric);
      tracks.Add(spool, now_ns, name_, unit, value);
    };
    add("rx_bytes", CounterUnit::kBytes, device.rx.bytes);
    add("rx_packets", CounterUnit::kCount, device.rx.packets);
    add("rx_errors", CounterUnit::kCount, device.rx.errors);
    add("rx_dropped", CounterUnit::kCount, device.rx.drops);
    add("tx_bytes", CounterUnit::kBytes, device.tx.bytes);
    add("tx_packets", CounterUnit::kCount, device.tx.packets);
    add("tx_errors", CounterUnit::kCount, device.tx.errors);
    add("tx_dropped", CounterUnit::kCount, device.tx.drops);
  }
}

CgroupReader::CgroupReader(std::vector<std::int32_t> pids, std::string root)
    : pids_(std::move(pids)), root_(std::move(root)) {
  FindHierarchies();
  Find();
}

void CgroupReader::FindHierarchies() {
  const auto text = ReadFile(JoinPath(root_, "proc/self/mountinfo"));
  std::vector<kernel::Mount> mounts;
  if (!text || !kernel::ParseMountInfo(*text, mounts)) return;
  for (const kernel::Mount& mount : mounts) {
    const bool is_v2 = mount.type == "cgroup2";
    if (!is_v2 && !(mount.type == "cgroup" && mount.HasSuperOption("cpu"))) continue;
    hierarchies_.push_back({is_v2, JoinPath(root_, mount.mount_point), mount.root});
  }
}

void CgroupReader::Find() {
  std::vector<std::int32_t> pids = pids_;
  if (pids.empty()) {
    const std::string proc = JoinPath(root_, "proc");
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(proc.c_str()), closedir);
    while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
      if (const auto pid = ParseInteger<std::int32_t>(entry->d_name)) pids.push_back(*pid);
    }
  }
  std::set<std::pair<bool, std::string>> seen;  // v2?, path
  std::map<std::string, PolledFile> found;
  for (const std::int32_t pid : pids) {
    const auto text = ReadFile(JoinPath(root_, "proc/" + std::to_string(pid) + "/cgroup"));
    std::vector<kernel::CgroupLine> lines;
    if (!text || !kernel::ParseTaskCgroups(*text, lines)) continue;
    for (const kernel::CgroupLine& line : lines) {
      const bool is_v2 = line.hierarchy == 0 && line.controllers.empty();
      const auto controllers = Split(line.controllers, ',');
      if (!is_v2 && std::ranges::find(controllers, "cpu") == controllers.end()) continue;
      if (seen.emplace(is_v2, line.path).second) {
        for (const Hierarchy& hierarchy : hierarchies_) {
          if (hierarchy.is_v2 == is_v2) AddWithParents(hierarchy, line.path, found);
        }
      }
      NoteQuota(pid, line.path, found);
    }
  }
  watched_ = std::move(found);
}

void CgroupReader::NoteQuota(std::int32_t pid, std::string_view path,
                             const std::map<std::string, PolledFile>& found) {
  for (std::string_view up = path; up.size() > 1; up = up.substr(0, up.rfind('/'))) {
    if (!found.contains(std::string(up))) continue;
    std::string& known = quota_of_[pid];
    if (known == path) return;
    known = path;
    notes_.push_back({kNoteQuota, pid, known});
    return;
  }
}

void CgroupReader::AddWithParents(const Hierarchy& hierarchy, std::string_view path,
                                  std::map<std::string, PolledFile>& found) {
  for (; path.size() > 1 && found.size() < kMost; path = path.substr(0, path.rfind('/'))) {
    if (found.contains(std::string(path))) return;
    if (hierarchy.root != "/" && !path.starts_with(hierarchy.root)) return;
    const std::string_view below =
        hierarchy.root == "/" ? path : path.substr(hierarchy.root.size());
    const std::string folder = JoinPath(hierarchy.mount_point, below);
    // A quota of none: "max 100000" in v2, -1 in v1, and no file for the root.
    const auto quota = ReadFile(JoinPath(folder, hierarchy.is_v2 ? "cpu.max" : "cpu.cfs_quota_us"));
    if (!quota || quota->starts_with("max") || quota->starts_with("-")) continue;
    PolledFile stat(JoinPath(folder, "cpu.stat"));
    if (stat.valid()) found.emplace(std::string(path), std::move(stat));
  }
}

void CgroupReader::Poll(CounterTracks& tracks, PacketSpool& spool, std::uint64_t now_ns) {
  if (++polls_ >= next_find_) {
    const TimeNs begin = NowBoottime();
    Find();
    // A poll is a tenth of a second.
    const auto pause = static_cast<unsigned>((NowBoottime() - begin).value / 500'000);
    next_find_ = polls_ + std::clamp(pause, kFindLeast, kFindEvery);
  }
  if (!notes_.empty()) {
    spool.AppendLasting(ProcessNotesPacket(tracks.clock(), notes_));
    notes_.clear();
  }
  for (auto& watched : watched_) {
    const std::string& path = watched.first;
    if (!watched.second.Read(text_)) continue;
    values_.clear();
    kernel::ParseNamedValues(text_, values_);
    const auto add = [&](std::string_view metric, CounterUnit unit, std::string_view key,
                         std::uint64_t factor) {
      const auto value = kernel::FindValue(values_, key);
      if (!value) return;
      name_.assign("cgroup.").append(path).append(".").append(metric);
      tracks.Add(spool, now_ns, name_, unit, *value * factor);
    };
    add("nr_periods", CounterUnit::kCount, "nr_periods", 1);
    add("nr_throttled", CounterUnit::kCount, "nr_throttled", 1);
    add("throttled_ns", CounterUnit::kTimeNs, "throttled_usec", 1000);  // v2
    add("throttled_ns", CounterUnit::kTimeNs, "throttled_time", 1);     // v1
  }
}

std::vector<std::string> CgroupReader::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, file] : watched_) paths.push_back(path);
  return paths;
}

}  // namespace culprit::capture
