#include "cli/record_summary.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace culprit::cli {
namespace {

constexpr std::size_t kKindsShown = 12;
constexpr std::size_t kCpusShown = 8;
constexpr std::size_t kGapsShown = 3;

DurationNs Sum(const timeval& a, const timeval& b) {
  return {(a.tv_sec + b.tv_sec) * 1'000'000'000 + (a.tv_usec + b.tv_usec) * 1000};
}

using KindCount = std::pair<std::string, std::uint64_t>;

std::vector<KindCount> KindsByCount(const capture::EncodeSummary& events) {
  std::vector<KindCount> kinds(events.events.begin(), events.events.end());
  std::ranges::stable_sort(kinds, [](const auto& a, const auto& b) { return a.second > b.second; });
  return kinds;
}

std::string EventsText(const RecordSummary& summary) {
  const auto kinds = KindsByCount(summary.file.events);
  if (kinds.empty()) return "";
  const double seconds = std::max(ToSeconds(summary.file.duration), 1e-9);
  std::string text = fmt::format("  {:<40} {:>14} {:>14}\n", "events", "count", "per second");
  for (std::size_t i = 0; i < std::min(kinds.size(), kKindsShown); ++i) {
    text += fmt::format(
        "  {:<40} {:>14} {:>14}\n", SafeForTerminal(kinds[i].first), FormatCount(kinds[i].second),
        FormatCount(
            static_cast<std::uint64_t>(static_cast<double>(kinds[i].second) / seconds + 0.5)));
  }
  if (kinds.size() > kKindsShown) {
    std::uint64_t others = 0;
    for (std::size_t i = kKindsShown; i < kinds.size(); ++i) others += kinds[i].second;
    text +=
        fmt::format("  {:<40} {:>14}\n", fmt::format("{} other kinds", kinds.size() - kKindsShown),
                    FormatCount(others));
  }
  return text;
}

// "+1.20 s to +1.35 s (12,345)" of each gap, as times since the start.
std::string GapsText(const capture::CpuEncodeSummary& cpu, TimeNs begin) {
  std::string text;
  for (std::size_t i = 0; i < std::min(cpu.gaps.size(), kGapsShown); ++i) {
    const capture::LostGap& gap = cpu.gaps[i];
    text += i == 0 ? " at " : ", ";
    text += gap.begin ? fmt::format("+{:.3f} s to ", ToSeconds(*gap.begin - begin)) : "start to ";
    text += fmt::format("+{:.3f} s", ToSeconds(gap.end - begin));
  }
  if (cpu.gaps.size() > kGapsShown) {
    text += fmt::format(" and {} more", cpu.gaps.size() - kGapsShown);
  }
  return text;
}

const capture::CpuEncodeSummary* FindCpu(const capture::EncodeSummary& events, int cpu) {
  const auto it = std::ranges::find(events.cpus, cpu, &capture::CpuEncodeSummary::cpu);
  return it == events.cpus.end() ? nullptr : &*it;
}

std::string SamplesText(const sampling::SampleSummary& samples) {
  std::string text = "  samples:";
  for (std::size_t i = 0; i < samples.events.size(); ++i) {
    text += fmt::format("{} {} of {}", i == 0 ? "" : ",", FormatCount(samples.events[i].samples),
                        SafeForTerminal(samples.events[i].name));
  }
  text += samples.lost == 0 ? "; lost: none\n"
                            : fmt::format(
                                  "; lost: {}, as the rings were full (a lower frequency, "
                                  "fewer processes)\n",
                                  FormatCount(samples.lost));
  if (samples.throttled > 0) {
    text += fmt::format(
        "  sampling was held back by the kernel {} times (kernel.perf_event_max_sample_rate)\n",
        FormatCount(samples.throttled));
  }
  for (const std::string& note : samples.notes) text += "  " + SafeForTerminal(note) + "\n";
  return text;
}

std::string LostText(const RecordSummary& summary) {
  const capture::SegmentFile& file = summary.file;
  std::uint64_t total = 0;
  for (const capture::CpuLoss& loss : file.lost) total += loss.total();
  if (total == 0) return "  lost events: none\n";
  std::string text;
  if (summary.fill_policy == capture::FillPolicy::kRing) {
    text = fmt::format("  lost events: {}; the ring kept the newest", FormatCount(total));
    // Only from where the last of the rings begins are all CPUs to be seen.
    std::optional<TimeNs> all_seen;
    for (const capture::CpuEncodeSummary& cpu : file.events.cpus) {
      const bool lost =
          std::ranges::find(file.lost, cpu.cpu, &capture::CpuLoss::cpu) != file.lost.end();
      if (lost && cpu.first) all_seen = std::max(all_seen.value_or(*cpu.first), *cpu.first);
    }
    if (all_seen && file.events.last) text += " " + FormatDuration(*file.events.last - *all_seen);
    text += " (a larger --buffer keeps more)\n";
  } else if (summary.fill_policy == capture::FillPolicy::kDiscard) {
    text = fmt::format("  lost events: {}; the full buffers took no more (--buffer)\n",
                       FormatCount(total));
  } else {
    text = fmt::format("  lost events: {}; the reader came too late (a larger --buffer helps)\n",
                       FormatCount(total));
  }
  for (std::size_t i = 0; i < std::min(file.lost.size(), kCpusShown); ++i) {
    const capture::CpuLoss& loss = file.lost[i];
    const capture::CpuEncodeSummary* cpu = FindCpu(file.events, loss.cpu);
    text += fmt::format("    CPU {}: {}{}\n", loss.cpu, FormatCount(loss.total()),
                        cpu != nullptr ? GapsText(*cpu, summary.begin) : "");
  }
  if (file.lost.size() > kCpusShown) {
    text += fmt::format("    and {} more CPUs\n", file.lost.size() - kCpusShown);
  }
  return text;
}

}  // namespace

DurationNs OwnCpuTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Sum(usage.ru_utime, usage.ru_stime);
}

std::uint64_t PeakMemoryBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::string SummaryText(const RecordSummary& summary) {
  const capture::SegmentFile& file = summary.file;
  const std::string path = SafeForTerminal(file.path);
  std::string text = fmt::format("recorded {} ({}) to {}: {}, {} events\n\n",
                                 FormatDuration(file.duration), summary.ended_by, path,
                                 FormatBytes(file.bytes), FormatCount(file.events.total_events));
  text += EventsText(summary);
  text += LostText(summary);
  if (summary.samples) text += SamplesText(*summary.samples);
  if (file.events.kernel_stacks > 0) {
    text += fmt::format("  kernel stacks: {}{}\n", FormatCount(file.events.kernel_stacks),
                        file.events.symbols_missing.empty()
                            ? ""
                            : " without names: " + SafeForTerminal(file.events.symbols_missing));
  }
  if (file.events.parse_errors > 0) {
    text += fmt::format("  undecodable: {} places in the kernel's pages\n",
                        FormatCount(file.events.parse_errors));
  }
  if (file.dropped_packets > 0) {
    text +=
        fmt::format("  polls without room on the disk: {}\n", FormatCount(file.dropped_packets));
  }
  if (!file.moved_old_to.empty()) {
    text +=
        fmt::format("  the file that was there is {} now\n", SafeForTerminal(file.moved_old_to));
  }
  const double seconds = std::max(ToSeconds(file.duration), 1e-9);
  text += fmt::format(
      "  recorder: {} CPU while recording ({:.2f} % of a core), {} in all, {} memory\n",
      FormatDuration(summary.cost.cpu_recording),
      100 * ToSeconds(summary.cost.cpu_recording) / seconds, FormatDuration(summary.cost.cpu_total),
      FormatBytes(summary.cost.peak_memory_bytes));
  text += fmt::format(
      "\nnext:\n"
      "  culprit query {0} \"SELECT name, SUM(dur) / 1e6 AS ms FROM thread_state JOIN thread USING "
      "(utid) WHERE state = 'D' GROUP BY utid ORDER BY ms DESC LIMIT 10\"\n"
      "  culprit query {0}     # SQL shell\n"
      "  culprit open {0}      # in Perfetto's UI\n",
      path);
  return text;
}

std::string SummaryJson(const RecordSummary& summary) {
  using nlohmann::ordered_json;
  const capture::SegmentFile& file = summary.file;
  ordered_json events = ordered_json::object();
  for (const auto& [kind, count] : file.events.events) events[kind] = count;
  ordered_json lost = ordered_json::array();
  for (const capture::CpuLoss& loss : file.lost) {
    ordered_json gaps = ordered_json::array();
    if (const auto* cpu = FindCpu(file.events, loss.cpu); cpu != nullptr) {
      for (const capture::LostGap& gap : cpu->gaps) {
        gaps.push_back({{"begin_ns", gap.begin ? ordered_json(gap.begin->value) : ordered_json()},
                        {"end_ns", gap.end.value},
                        {"events", gap.events ? ordered_json(*gap.events) : ordered_json()}});
      }
    }
    lost.push_back({{"cpu", loss.cpu},
                    {"overwritten", loss.overwritten},
                    {"refused", loss.refused},
                    {"nested", loss.nested},
                    {"gaps", std::move(gaps)}});
  }
  ordered_json samples;
  if (summary.samples) {
    ordered_json counts = ordered_json::object();
    for (const auto& event : summary.samples->events) counts[event.name] = event.samples;
    samples = {{"events", std::move(counts)},
               {"lost", summary.samples->lost},
               {"throttled", summary.samples->throttled},
               {"notes", summary.samples->notes}};
  }
  const ordered_json json = {
      {"file", file.path},
      {"bytes", file.bytes},
      {"begin_ns", summary.begin.value},
      {"duration_ns", file.duration.value},
      {"ended_by", summary.ended_by},
      {"total_events", file.events.total_events},
      {"events", std::move(events)},
      {"lost", std::move(lost)},
      {"kernel_stacks", file.events.kernel_stacks},
      {"parse_errors", file.events.parse_errors},
      {"dropped_polls", file.dropped_packets},
      {"cut", file.cut ? ordered_json(file.cut->ToString()) : ordered_json()},
      {"recorder",
       {{"cpu_recording_ns", summary.cost.cpu_recording.value},
        {"cpu_total_ns", summary.cost.cpu_total.value},
        {"peak_memory_bytes", summary.cost.peak_memory_bytes}}},
      {"samples", samples},
      {"notes", summary.notes},
      {"command_status",
       summary.command_status ? ordered_json(*summary.command_status) : ordered_json()}};
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace culprit::cli
