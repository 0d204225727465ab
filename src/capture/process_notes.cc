#include "capture/process_notes.h"

#include <dirent.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "base/text.h"
#include "capture/trace_clock.h"
#include "kernel/open_devices.h"
#include "kernel/proc_disk.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;

std::vector<std::string> EntriesOf(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

bool IsGpu(std::string_view path) {
  return kernel::NvidiaMinor(path).has_value() || path == "/dev/kfd";
}

}  // namespace

std::string ProcessNotesPacket(TraceClock clock, const std::vector<ProcessNote>& notes) {
  std::string bytes;
  if (notes.empty()) return bytes;
  protozero::pbf_writer packet(bytes);
  WritePacketHead(packet, HeadAt(clock, NowNs(clock), fields::Sequence::kSession));
  protozero::pbf_writer ours(packet, fields::TracePacket::kCulpritData);
  for (const ProcessNote& note : notes) {
    namespace Note = fields::CulpritData::ProcessNote;
    protozero::pbf_writer message(ours, fields::CulpritData::kProcessNotes);
    message.add_string(Note::kKind, note.kind.data(), note.kind.size());
    message.add_int32(Note::kPid, note.pid);
    message.add_string(Note::kText, note.text);
  }
  return bytes;
}

std::vector<ProcessNote> FindGpuHolders(const std::string& root) {
  std::vector<ProcessNote> notes;
  const auto devices = EntriesOf(JoinPath(root, "dev"));
  if (std::ranges::none_of(devices,
                           [](const std::string& name) { return IsGpu("/dev/" + name); })) {
    return notes;
  }
  std::size_t budget = kernel::kMostDescriptors;
  for (const std::string& name : EntriesOf(JoinPath(root, "proc"))) {
    const auto pid = ParseInteger<std::int32_t>(name);
    if (!pid) continue;
    const auto held = kernel::OpenPaths(root, *pid, budget, IsGpu);
    if (!held) return notes;
    for (const std::string& device : *held) notes.push_back({kNoteGpu, *pid, device});
  }
  return notes;
}

std::vector<ProcessNote> ListBlockDevices(const std::string& root) {
  std::vector<ProcessNote> notes;
  const auto text = ReadFile(JoinPath(root, "proc/diskstats"));
  std::vector<kernel::DiskStat> disks;  // point into the text
  if (!text || !kernel::ParseDiskStats(*text, disks)) return notes;
  for (const kernel::DiskStat& disk : disks) {
    notes.push_back(
        {kNoteBlockDevice, 0, fmt::format("{}:{} {}", disk.major, disk.minor, disk.name)});
  }
  return notes;
}

}  // namespace culprit::capture
