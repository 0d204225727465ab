#include "sampling/perf_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "kernel/proc_scan.h"
#include "symbols/elf_image.h"
#include "symbols/kallsyms.h"

namespace culprit::sampling {
namespace {

constexpr std::uint32_t kFinishedRound = 68;  // of perf's own records (tools/lib/perf event.h)
// TID, TIME, CPU and IDENTIFIER of sample_id_all, all zero: a record without a time.
constexpr std::size_t kTrailerBytes = 32;
constexpr std::size_t kMostBuildId = 20;

template <class T>
void Put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutText(std::string& out, std::string_view text) {
  out += text;
  out.append(8 - text.size() % 8, '\0');  // at least one
}

void PutRecord(std::string& out, std::uint32_t type, std::uint16_t misc, std::string_view body) {
  // A record's size has 16 bits: a longer path than PATH_MAX is none.
  const std::size_t size = sizeof(perf_event_header) + body.size() + kTrailerBytes;
  if (size > 0xfff8) return;
  Put(out, perf_event_header{type, misc, static_cast<std::uint16_t>(size)});
  out += body;
  out.append(kTrailerBytes, '\0');
}

std::string BytesOfHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(ParseInteger<unsigned>(hex.substr(i, 2), 16).value_or(0));
  }
  return bytes;
}

void PutKernel(std::string& out) {
  const auto symbols = symbols::KernelSymbols::Load("/");
  if (!symbols || symbols->text_start() == 0) return;
  const std::uint64_t begin = symbols->text_start();
  std::string body;
  Put(body, std::int32_t{-1});
  Put(body, std::int32_t{0});
  Put(body, begin);
  // Modules too: kallsyms knows them all.
  Put(body, std::uint64_t{0} - begin - 4096);
  Put(body, begin);
  PutText(body, "[kernel.kallsyms]_stext");
  PutRecord(out, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, body);
}

std::vector<std::int32_t> Numbers(const std::string& folder) {
  std::vector<std::int32_t> numbers;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return numbers;
  while (const dirent* entry = readdir(directory)) {
    if (const auto number = ParseInteger<std::int32_t>(entry->d_name)) numbers.push_back(*number);
  }
  closedir(directory);
  std::ranges::sort(numbers);
  return numbers;
}

class Processes {
 public:
  explicit Processes(std::string& out) : out_(out) {}

  void Add(std::int32_t pid) {
    const std::string folder = "/proc/" + std::to_string(pid);
    for (const std::int32_t tid : Numbers(folder + "/task")) {
      const auto comm = ReadFile(folder + "/task/" + std::to_string(tid) + "/comm");
      if (!comm) continue;
      std::string body;
      Put(body, pid);
      Put(body, tid);
      PutText(body, comm->substr(0, comm->find('\n')));
      PutRecord(out_, PERF_RECORD_COMM, 0, body);
    }
    const auto maps = ReadFile(folder + "/maps");  // a kernel thread has none
    if (!maps) return;
    kernel::LineCursor lines(*maps);
    for (std::string_view line; lines.Next(line);) AddMapping(pid, line);
  }

 private:
  // "55a0c0de1000-55a0c0de5000 r-xp 00001000 fe:01 1234   /usr/bin/cat"
  void AddMapping(std::int32_t pid, std::string_view line) {
    kernel::WordCursor words(line);
    const std::string_view range = words.Word();
    const std::string_view rights = words.Word();
    const auto offset = words.Number(16);
    words.Word();
    words.Word();
    const std::string_view path = words.Rest();
    const std::size_t dash = range.find('-');
    if (dash == std::string_view::npos || !offset || rights.size() < 3 || rights[2] != 'x') return;
    const auto begin = ParseInteger<std::uint64_t>(range.substr(0, dash), 16);
    const auto end = ParseInteger<std::uint64_t>(range.substr(dash + 1), 16);
    if (!begin || !end || *end <= *begin || path == "[vsyscall]") return;
    const std::string id = path == "[vdso]" ? VdsoBuildId(pid, *begin, *end) : BuildId(path);
    std::string body;
    Put(body, pid);
    Put(body, pid);
    Put(body, *begin);
    Put(body, *end - *begin);
    Put(body, *offset);
    Put(body, static_cast<std::uint8_t>(id.size()));
    body.append(3, '\0');
    body += id;
    body.append(kMostBuildId - id.size(), '\0');
    Put(body, std::uint32_t{5});  // PROT_READ | PROT_EXEC
    Put(body, std::uint32_t{2});  // MAP_PRIVATE
    PutText(body, path.empty() ? "//anon" : path);
    const std::uint16_t misc =
        PERF_RECORD_MISC_USER | (id.empty() ? 0 : PERF_RECORD_MISC_MMAP_BUILD_ID);
    PutRecord(out_, PERF_RECORD_MMAP2, misc, body);
  }

  // Out of its memory: a process of 32 bits has another vdso than one of 64.
  static std::string VdsoBuildId(std::int32_t pid, std::uint64_t begin, std::uint64_t end) {
    constexpr std::uint64_t kMostBytes = 1U << 20U;
    const auto memory = OpenFile("/proc/" + std::to_string(pid) + "/mem", O_RDONLY);
    if (!memory || end - begin > kMostBytes) return "";
    std::vector<std::byte> bytes(end - begin);
    if (pread(memory->get(), bytes.data(), bytes.size(), static_cast<off_t>(begin)) !=
        static_cast<ssize_t>(bytes.size())) {
      return "";
    }
    const auto image = symbols::ElfImage::OfBytes(std::move(bytes), "[vdso]");
    if (!image) return "";
    std::string id = BytesOfHex(image->build_id());
    return id.size() <= kMostBuildId ? id : "";
  }

  const std::string& BuildId(std::string_view path) {
    const auto [entry, added] = build_ids_.try_emplace(std::string(path));
    if (added && path.starts_with('/') && !path.ends_with(" (deleted)")) {
      if (const auto image = symbols::ElfImage::Open(entry->first)) {
        std::string id = BytesOfHex(image->build_id());
        if (id.size() <= kMostBuildId) entry->second = std::move(id);
      }
    }
    return entry->second;
  }

  std::string& out_;
  std::map<std::string, std::string> build_ids_;  // of path, in bytes
};

}  // namespace

//   magic, sizes, sections, no features | ids of each event | attr and its ids' place, per event |
//   records
std::string PerfFileHead(std::span<const FileEvent> events, std::uint64_t data_bytes) {
  constexpr std::uint64_t kHeadBytes = 104;
  constexpr std::uint64_t kEntryBytes = sizeof(perf_event_attr) + 16;
  std::string ids;
  std::string entries;
  for (const FileEvent& event : events) {
    Put(entries, event.attributes);
    Put(entries, kHeadBytes + ids.size());
    Put(entries, std::uint64_t{8 * event.ids.size()});
    for (const std::uint64_t id : event.ids) Put(ids, id);
  }
  std::string head = "PERFILE2";
  Put(head, kHeadBytes);
  Put(head, kEntryBytes);
  Put(head, kHeadBytes + ids.size());
  Put(head, std::uint64_t{entries.size()});
  Put(head, kHeadBytes + ids.size() + entries.size());
  Put(head, data_bytes);
  head.append(kHeadBytes - head.size(), '\0');
  return head + ids + entries;
}

std::string KnownProcesses(std::span<const std::int32_t> pids) {
  std::string out;
  PutKernel(out);
  Processes processes(out);
  const std::vector<std::int32_t> all =
      pids.empty() ? Numbers("/proc") : std::vector<std::int32_t>();
  for (const std::int32_t pid : pids.empty() ? std::span<const std::int32_t>(all) : pids) {
    processes.Add(pid);
  }
  return out;
}

std::string RoundRecord() {
  std::string out;
  Put(out, perf_event_header{kFinishedRound, 0, sizeof(perf_event_header)});
  return out;
}

}  // namespace culprit::sampling
