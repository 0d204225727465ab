#include "kernel/proc_task.h"

#include <array>

#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::kernel {
namespace {

template <class T>
bool Take(WordCursor& words, T& value) {
  const auto parsed = ParseInteger<T>(words.Word());
  if (parsed) value = *parsed;
  return parsed.has_value();
}

void Skip(WordCursor& words, int count) {
  while (count-- > 0) words.Word();
}

struct StatusMemory {
  std::string_view name;
  std::optional<std::uint64_t> TaskStatus::*slot;
};
constexpr StatusMemory kStatusMemory[] = {
    {"VmHWM", &TaskStatus::peak_rss_bytes},     {"VmRSS", &TaskStatus::rss_bytes},
    {"RssAnon", &TaskStatus::rss_anon_bytes},   {"RssFile", &TaskStatus::rss_file_bytes},
    {"RssShmem", &TaskStatus::rss_shmem_bytes}, {"VmSwap", &TaskStatus::swap_bytes},
    {"VmLck", &TaskStatus::locked_bytes},       {"VmSize", &TaskStatus::virtual_bytes}};

}  // namespace

std::optional<TaskStat> ParseTaskStat(std::string_view text) {
  // Only the comm can hold a parenthesis: from the first "(" to the last ")", whatever is inside.
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;
  TaskStat stat;
  const auto tid = ParseInteger<std::int32_t>(TrimBlanks(text.substr(0, open)));
  stat.comm = text.substr(open + 1, close - open - 1);
  WordCursor words(text.substr(close + 1));
  const std::string_view state = words.Word();
  if (!tid || state.size() != 1) return std::nullopt;
  stat.tid = *tid;
  stat.state = state.front();
  bool ok =
      Take(words, stat.parent_pid) && Take(words, stat.process_group) && Take(words, stat.session);
  Skip(words, 2);  // tty, its foreground group
  ok = ok && Take(words, stat.flags) && Take(words, stat.minor_faults);
  Skip(words, 1);
  ok = ok && Take(words, stat.major_faults);
  Skip(words, 1);
  ok = ok && Take(words, stat.user_ticks) && Take(words, stat.system_ticks);
  Skip(words, 2);  // of its children
  ok = ok && Take(words, stat.priority) && Take(words, stat.nice) && Take(words, stat.threads);
  Skip(words, 1);
  ok = ok && Take(words, stat.start_ticks) && Take(words, stat.virtual_bytes) &&
       Take(words, stat.resident_pages);
  if (!ok) return std::nullopt;
  Skip(words, 14);  // fields 25 to 38
  Take(words, stat.cpu);
  Skip(words, 2);
  stat.blkio_ticks = words.Number();
  return stat;
}

bool ParseTaskStatus(std::string_view text, TaskStatus& status) {
  auto tids = std::move(status.namespace_tids);
  tids.clear();
  status = {};
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    const auto colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view name = line.substr(0, colon);
    WordCursor words(line.substr(colon + 1));
    if (name == "Name") {
      status.name = line.substr(colon + 1);
      if (status.name.starts_with('\t')) status.name.remove_prefix(1);
    } else if (name == "Tgid") {
      status.pid = ParseInteger<std::int32_t>(words.Word());
    } else if (name == "Pid") {
      status.tid = ParseInteger<std::int32_t>(words.Word());
    } else if (name == "PPid") {
      status.parent_pid = ParseInteger<std::int32_t>(words.Word());
    } else if (name == "TracerPid") {
      status.tracer_tid = ParseInteger<std::int32_t>(words.Word());
    } else if (name == "Uid") {
      words.Word();
      status.uid = ParseInteger<std::uint32_t>(words.Word());
    } else if (name == "Threads") {
      status.threads = words.Number();
    } else if (name == "NSpid") {
      for (auto tid = ParseInteger<std::int32_t>(words.Word()); tid;
           tid = ParseInteger<std::int32_t>(words.Word())) {
        tids.push_back(*tid);
      }
    } else if (name == "CapEff") {
      status.effective_capabilities = words.Number(16);
    } else if (name == "Cpus_allowed_list") {
      status.allowed_cpus = words.Word();
    } else if (name == "voluntary_ctxt_switches") {
      status.voluntary_switches = words.Number();
    } else if (name == "nonvoluntary_ctxt_switches") {
      status.involuntary_switches = words.Number();
    } else if (name.starts_with("Vm") || name.starts_with("Rss")) {
      for (const StatusMemory& memory : kStatusMemory) {
        if (memory.name != name) continue;
        const auto kb = words.Number();
        if (kb && *kb <= ~std::uint64_t{0} / 1024) status.*memory.slot = *kb * 1024;
      }
    }
  }
  status.namespace_tids = std::move(tids);
  return status.tid.has_value();
}

std::optional<TaskSchedStat> ParseTaskSchedStat(std::string_view text) {
  WordCursor words(text);
  const auto run = words.Number();
  const auto wait = words.Number();
  const auto slices = words.Number();
  if (!run || !wait || !slices) return std::nullopt;
  return TaskSchedStat{*run, *wait, *slices};
}

bool ParseTaskCgroups(std::string_view text, std::vector<CgroupLine>& cgroups) {
  cgroups.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    // "4:memory:/a:b": the path may hold colons.
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto hierarchy = ParseInteger<std::uint32_t>(line.substr(0, first));
    if (!hierarchy) continue;
    cgroups.push_back(
        {*hierarchy, line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return !cgroups.empty();
}

void ParseTaskStack(std::string_view text, std::vector<std::string_view>& functions) {
  functions.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    // "[<0>] nfs_wait_bit_killable+0x1d/0x90 [nfs]"; old kernels end with "[<0>]
    // 0xffffffffffffffff".
    WordCursor words(line);
    if (!words.Word().starts_with("[<")) continue;
    std::string_view function = words.Word();
    function = function.substr(0, function.find('+'));
    if (!function.empty() && !function.starts_with("0x")) functions.push_back(function);
  }
}

}  // namespace culprit::kernel
