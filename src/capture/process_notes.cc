#include "capture/process_notes.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "capture/trace_clock.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace fields = culprit::tracefile;

// A bound on what a look at every open file may cost.
constexpr std::size_t kMostDescriptors = 50'000;

std::vector<std::string> EntriesOf(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

// "/dev/nvidia3", "/dev/kfd", "/dev/dri/renderD128"; nvidiactl and nvidia-uvm are of no one GPU.
bool IsGpu(std::string_view path) {
  constexpr std::string_view kNvidia = "/dev/nvidia";
  if (path.starts_with(kNvidia)) {
    return ParseInteger<std::uint32_t>(path.substr(kNvidia.size())).has_value();
  }
  return path == "/dev/kfd";
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
  const std::string proc = JoinPath(root, "proc");
  std::size_t looked_at = 0;
  for (const std::string& name : EntriesOf(proc)) {
    const auto pid = ParseInteger<std::int32_t>(name);
    if (!pid) continue;
    std::string folder = proc;
    folder.append("/").append(name).append("/fd/");
    std::set<std::string> held;
    for (const std::string& fd : EntriesOf(folder)) {
      if (++looked_at > kMostDescriptors) return notes;
      char target[256];
      const ssize_t size = readlink((folder + fd).c_str(), target, sizeof(target));
      if (size <= 0) continue;
      const std::string_view path(target, static_cast<std::size_t>(size));
      if (IsGpu(path)) held.emplace(path);
    }
    for (const std::string& device : held) notes.push_back({kNoteGpu, *pid, device});
  }
  return notes;
}

}  // namespace culprit::capture
