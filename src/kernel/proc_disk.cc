#include "kernel/proc_disk.h"

#include <array>

#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::kernel {
namespace {

// In the order of the file.
constexpr std::array kDiskColumns = {&DiskStat::reads,           &DiskStat::reads_merged,
                                     &DiskStat::sectors_read,    &DiskStat::read_ms,
                                     &DiskStat::writes,          &DiskStat::writes_merged,
                                     &DiskStat::sectors_written, &DiskStat::write_ms,
                                     &DiskStat::in_flight,       &DiskStat::io_ms,
                                     &DiskStat::weighted_ms,     &DiskStat::discards,
                                     &DiskStat::discards_merged, &DiskStat::sectors_discarded,
                                     &DiskStat::discard_ms,      &DiskStat::flushes,
                                     &DiskStat::flush_ms};

// Kernel 2.6 gave partitions four columns: reads, sectors read, writes, sectors written.
constexpr std::array kOldPartitionColumns = {&DiskStat::reads, &DiskStat::sectors_read,
                                             &DiskStat::writes, &DiskStat::sectors_written};

// False when there are too few columns or one is no number. Columns of a future kernel are ignored.
bool ReadColumns(WordCursor& words, DiskStat& disk) {
  std::array<std::uint64_t, kDiskColumns.size()> values{};
  std::size_t count = 0;
  for (; count < values.size(); ++count) {
    const std::string_view word = words.Word();
    if (word.empty()) break;
    const auto value = ParseInteger<std::uint64_t>(word);
    if (!value) return false;
    values[count] = *value;
  }
  if (count == kOldPartitionColumns.size()) {
    for (std::size_t i = 0; i < count; ++i) disk.*kOldPartitionColumns[i] = values[i];
    return true;
  }
  if (count < 11) return false;
  // A torn line must not show half of a group (discards without their time).
  if (count < 15) count = 11;
  if (count == 16) count = 15;
  for (std::size_t i = 0; i < count; ++i) disk.*kDiskColumns[i] = values[i];
  return true;
}

bool ListHas(std::string_view list, std::string_view option) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == option) return true;
    list.remove_prefix(comma == list.npos ? list.size() : comma + 1);
  }
  return false;
}

}  // namespace

bool ParseDiskStatColumns(std::string_view text, DiskStat& disk) {
  disk = {};
  WordCursor words(text);
  return ReadColumns(words, disk);
}

bool ParseDiskStats(std::string_view text, std::vector<DiskStat>& disks) {
  disks.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    WordCursor words(line);
    DiskStat disk;
    const auto major = ParseInteger<std::uint32_t>(words.Word());
    const auto minor = ParseInteger<std::uint32_t>(words.Word());
    disk.name = words.Word();
    if (!major || !minor || disk.name.empty() || !ReadColumns(words, disk)) continue;
    disk.major = *major;
    disk.minor = *minor;
    disks.push_back(disk);
  }
  return !disks.empty();
}

std::string UnescapeMountText(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      if (const auto code = ParseInteger<unsigned>(text.substr(i + 1, 3), 8); code && *code < 256) {
        plain.push_back(static_cast<char>(*code));
        i += 3;
        continue;
      }
    }
    plain.push_back(text[i]);
  }
  return plain;
}

bool Mount::HasOption(std::string_view option) const { return ListHas(mount_options, option); }
bool Mount::HasSuperOption(std::string_view option) const { return ListHas(super_options, option); }

bool ParseMountInfo(std::string_view text, std::vector<Mount>& mounts) {
  mounts.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    // "36 35 98:0 /root /point rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue"
    WordCursor words(line);
    Mount mount;
    const auto id = ParseInteger<std::uint32_t>(words.Word());
    const auto parent = ParseInteger<std::uint32_t>(words.Word());
    const std::string_view device = words.Word();
    const auto colon = device.find(':');
    if (!id || !parent || colon == device.npos) continue;
    const auto major = ParseInteger<std::uint32_t>(device.substr(0, colon));
    const auto minor = ParseInteger<std::uint32_t>(device.substr(colon + 1));
    const std::string_view root = words.Word();
    const std::string_view point = words.Word();
    const std::string_view options = words.Word();
    std::string_view word = words.Word();
    while (!word.empty() && word != "-") word = words.Word();
    const std::string_view type = words.Word();
    if (!major || !minor || word != "-" || type.empty()) continue;
    // An empty source is two blanks, so the rest is split by hand: "source super".
    const std::string_view rest = words.Rest();
    const auto blank = rest.rfind(' ');
    mount.mount_id = *id;
    mount.parent_id = *parent;
    mount.major = *major;
    mount.minor = *minor;
    mount.root = UnescapeMountText(root);
    mount.mount_point = UnescapeMountText(point);
    mount.mount_options = options;
    mount.type = UnescapeMountText(type);
    if (blank != rest.npos) mount.source = UnescapeMountText(rest.substr(0, blank));
    mount.super_options = rest.substr(blank == rest.npos ? 0 : blank + 1);
    mounts.push_back(std::move(mount));
  }
  return !mounts.empty();
}

void ParseMountStats(std::string_view text, std::vector<NfsMountStat>& mounts) {
  mounts.clear();
  bool in_nfs = false;
  bool in_operations = false;
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    if (line.starts_with("device ")) {
      // "device SOURCE mounted on POINT with fstype TYPE [statvers=1.1]"; blanks are escaped.
      WordCursor words(line.substr(7));
      const std::string_view source = words.Word();
      words.Word();
      words.Word();
      const std::string_view point = words.Word();
      words.Word();
      words.Word();
      const std::string_view type = words.Word();
      in_nfs = type == "nfs" || type == "nfs4";
      in_operations = false;
      if (!in_nfs) continue;
      NfsMountStat mount;
      mount.mount_point = UnescapeMountText(point);
      mount.source = UnescapeMountText(source);
      mounts.push_back(std::move(mount));
      continue;
    }
    if (!in_nfs) continue;
    NfsMountStat& mount = mounts.back();
    WordCursor words(line);
    const std::string_view name = words.Word();
    if (name == "age:") {
      mount.age_s = words.Number().value_or(0);
    } else if (name == "per-op") {
      in_operations = true;
    } else if (in_operations && name.size() > 1 && name.ends_with(':')) {
      // ops, transmissions, timeouts, bytes sent, bytes received, queue, rtt, execute [, errors]
      std::array<std::uint64_t, 8> columns{};
      bool whole = true;
      for (auto& column : columns) {
        const auto value = words.Number();
        whole = whole && value.has_value();
        column = value.value_or(0);
      }
      if (!whole) continue;
      mount.operations += columns[0];
      mount.transmissions += columns[1];
      mount.timeouts += columns[2];
      mount.queue_ms += columns[5];
      mount.rtt_ms += columns[6];
      mount.execute_ms += columns[7];
    }
  }
}

// md6 : active raid1 sdb2[2](F) sdc[1](S) sda2[0]
//       195310144 blocks [2/1] [U_]
//       [=>....]  recovery =  8.5% (16775552/195310144) finish=17.0min speed=259783K/sec
void ParseMdStat(std::string_view text, std::vector<MdArray>& arrays) {
  arrays.clear();
  bool in_array = false;
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    WordCursor words(line);
    if (!line.empty() && line.front() != ' ' && line.front() != '\t') {
      const std::string_view name = words.Word();
      in_array = name.starts_with("md") && words.Word() == ":";
      if (!in_array) continue;
      MdArray& array = arrays.emplace_back();
      array.name = name;
      array.active = words.Word() == "active";
      for (std::string_view word = words.Word(); !word.empty(); word = words.Word()) {
        if (word.ends_with("](F)")) array.faulty.push_back(word.substr(0, word.find('[')));
      }
      continue;
    }
    if (!in_array) continue;
    MdArray& array = arrays.back();
    array.container = array.container || line.find("super external:") != line.npos;
    for (std::string_view word = words.Word(); !word.empty(); word = words.Word()) {
      const auto slash = word.find('/');
      if (word.front() == '[' && word.back() == ']' && slash != word.npos) {
        const auto wanted = ParseInteger<std::uint64_t>(word.substr(1, slash - 1));
        const auto working =
            ParseInteger<std::uint64_t>(word.substr(slash + 1, word.size() - slash - 2));
        if (wanted && working) array.disks_wanted = wanted, array.disks_working = working;
      }
      for (const std::string_view action : {"recovery", "resync", "reshape", "check"}) {
        if (!word.starts_with(action)) continue;
        const auto at = static_cast<std::size_t>(word.data() - line.data());
        const auto end = line.find('%', at);
        array.action = end == line.npos ? word : line.substr(at, end + 1 - at);
      }
    }
  }
}

}  // namespace culprit::kernel
