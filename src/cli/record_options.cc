#include "cli/record_options.h"

#include <unistd.h>
#include <ctime>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "capture/category_table.h"
#include "capture/config_pbtxt.h"
#include "capture/trace_clock.h"

namespace culprit::cli {
namespace {

constexpr const char* kDefaultOutput = "trace.pftrace";
constexpr std::size_t kDefaultKeep = 20;

Result<std::string> ReadStdin() {
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError("read", "standard input", errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

std::string Absolute(const std::string& path) {
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.lexically_normal().string();
}

Status CheckCombination(const RecordOptions& options) {
  struct Clash {
    bool present;
    const char* what;
    const char* remedy;
  };
  const bool rotates = !options.rotate.empty();
  const Clash clashes[] = {
      {options.ring && options.stop_when_full,
       "--ring keeps the newest events, --stop-when-full "
       "the oldest",
       "give one of them"},
      {rotates && (options.ring || options.stop_when_full),
       "--rotate keeps every event: --ring and --stop-when-full do not go with it", "leave it out"},
      {rotates && !options.output.empty(), "--rotate names its files itself",
       "give --dir DIR instead of -o"},
      {!rotates && (options.keep || !options.directory.empty() || !options.max_disk.empty()),
       "--keep, --dir and --max-disk belong to a rotation", "add --rotate TIME"},
      {options.keep && *options.keep == 0, "--keep 0 would keep no file", "give 1 or more"},
  };
  for (const Clash& clash : clashes) {
    if (clash.present) return Error{clash.what, clash.remedy};
  }
  return {};
}

Status ApplyConfigFile(const RecordOptions& options, RecordPlan& plan) {
  const bool from_stdin = options.config_path == "-";
  CULPRIT_ASSIGN(const std::string text, from_stdin ? ReadStdin() : ReadFile(options.config_path));
  const std::string name = from_stdin ? "standard input" : options.config_path;
  CULPRIT_ASSIGN(capture::ParsedConfig parsed, capture::ParseConfig(text, name));
  plan.config = std::move(parsed.config);
  for (const capture::ConfigMessage& warning : parsed.warnings) {
    plan.warnings.push_back(warning.ToString(name));
  }
  return {};
}

Status ApplyFlags(const RecordOptions& options, RecordPlan& plan) {
  capture::RecordConfig& config = plan.config;
  if (!options.duration.empty()) {
    CULPRIT_ASSIGN(config.duration, ParseDuration(options.duration));
    if (config.duration.value <= 0) return Error{"--for 0 would record nothing", "give a time"};
  }
  if (!options.buffer.empty()) {
    CULPRIT_ASSIGN(config.ring_bytes, ParseBytes(options.buffer));
    config.ring_bytes_per_cpu = 0;
  }
  if (!options.max_size.empty()) {
    CULPRIT_ASSIGN(config.max_file_bytes, ParseBytes(options.max_size));
  }
  if (options.ring) config.fill_policy = capture::FillPolicy::kRing;
  if (options.stop_when_full) {
    config.fill_policy = capture::FillPolicy::kDiscard;
    config.stop_when_full = true;
  }
  if (!options.pids.empty()) config.pids = options.pids;
  return {};
}

bool WantsSamples(const RecordOptions& options) {
  return options.sample || options.off_cpu || options.wakers;
}

Status CheckSamples(const RecordOptions& options) {
  if (!options.rotate.empty() || options.ring || options.stop_when_full) {
    return Error{
        "samples are kept from the first to the last: --sample, --off-cpu and --wakers do "
        "not go with --ring, --stop-when-full and --rotate",
        "record for a while: --for 10s"};
  }
  if ((options.off_cpu || options.wakers) && options.pids.empty() && options.command.empty() &&
      !options.system_wide) {
    return Error{
        "stacks of every switch of every thread cost about 1 us each: a node that switches "
        "100,000 times a second loses a tenth of a CPU to them",
        "name the processes with --pid PID or run a COMMAND, or say --system-wide"};
  }
  return {};
}

Status ApplySamples(const RecordOptions& options, RecordPlan& plan) {
  CULPRIT_TRY(CheckSamples(options));
  sampling::SampleConfig samples;
  if (!options.sample_hz.empty()) {
    // perf_event_max_sample_rate is 100,000 where nobody changed it.
    constexpr std::uint32_t kHighestHz = 100'000;
    const auto hz = ParseInteger<std::uint32_t>(options.sample_hz);
    if (!hz || *hz == 0 || *hz > kHighestHz) {
      return Error{"--sample " + options.sample_hz + " is no frequency", "give 1 to 100000 (Hz)"};
    }
    samples.frequency_hz = *hz;
  }
  std::vector<std::string> names;
  if (options.sample) names.push_back(options.event);
  if (options.off_cpu) names.push_back("sched:sched_switch");
  if (options.wakers) names.push_back("sched:sched_waking");
  for (const std::string& name : names) {
    CULPRIT_ASSIGN(sampling::SampledEvent event, sampling::FindEvent(name));
    samples.events.push_back(std::move(event));
  }
  if (options.call_graph == "dwarf") samples.call_graph = sampling::CallGraph::kDwarf;
  if (options.call_graph == "auto") samples.call_graph = sampling::CallGraph::kAuto;
  samples.pids = plan.config.pids;
  // Counters may strike in an NMI, for which the kernel has no BOOTTIME; the trace's snapshots of
  // all clocks tell what MONOTONIC is on it.
  const bool is_raw = plan.config.clock == capture::TraceClock::kMonotonicRaw;
  samples.clock_id = is_raw ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC;
  samples.trace_clock = capture::BuiltinClockOf(is_raw ? capture::TraceClock::kMonotonicRaw
                                                       : capture::TraceClock::kMonotonic);
  plan.samples = std::move(samples);
  return {};
}

Status ApplyRotation(const RecordOptions& options, RecordPlan& plan) {
  constexpr std::int64_t kShortestNs = 1'000'000'000;
  CULPRIT_ASSIGN(plan.rotate, ParseDuration(options.rotate));
  if (plan.rotate.value < kShortestNs) {
    return Error{"--rotate " + options.rotate + " is too short", "give a second or more"};
  }
  plan.directory = Absolute(options.directory.empty() ? "." : options.directory);
  plan.limits.keep = options.keep.value_or(options.max_disk.empty() ? kDefaultKeep : 0);
  if (!options.max_disk.empty()) {
    CULPRIT_ASSIGN(plan.limits.max_bytes, ParseBytes(options.max_disk));
  }
  plan.config.fill_policy = capture::FillPolicy::kDrain;
  plan.config.max_file_bytes = 0;
  return {};
}

void ChooseOutput(const RecordOptions& options, RecordPlan& plan) {
  std::string output = !options.output.empty() ? options.output : plan.config.output_path;
  plan.keep_old = output.empty();
  if (output.empty()) output = kDefaultOutput;
  plan.to_stdout = output == "-";
  plan.output = plan.to_stdout ? "/dev/stdout" : Absolute(output);
}

}  // namespace

void DeclareRecordOptions(CLI::App& app, RecordOptions& options) {
  app.add_option("-o,--out,--output", options.output,
                 "the trace file (default: trace.pftrace, where an older one becomes "
                 "trace.pftrace.old); - is standard output")
      ->type_name("FILE");
  app.add_option("-c,--config", options.config_path,
                 "what to record, as Perfetto's TraceConfig in text form; - is standard input")
      ->type_name("CONFIG");
  app.add_flag("--txt", options.txt, "the config is text, which is the only form read here");
  app.add_option("-t,--for,--time", options.duration, "end after this time: 30s, 5m, 500ms")
      ->type_name("TIME");
  app.add_option("-b,--buffer", options.buffer,
                 "kernel ring buffers of all CPUs together (default: 64M; at least 2M a CPU)")
      ->type_name("SIZE");
  app.add_option("-s,--size", options.max_size, "end when the recording has reached this size")
      ->type_name("SIZE");
  app.add_flag("--ring", options.ring,
               "keep the newest events: the buffers run over, nobody reads them until the end");
  app.add_flag("--stop-when-full", options.stop_when_full,
               "keep the oldest events: end when a buffer is full");
  app.add_flag("-d,--background,-D,--background-wait", options.background,
               "go on in the background: print the pid and return once recording has begun");
  app.add_option("-p,--pid", options.pids,
                 "only events of this process, its threads and their later children; may be given "
                 "again")
      ->type_name("PID")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::PositiveNumber);
  app.add_option("--sample", options.sample_hz,
                 "stacks of what runs, so many times a second on each CPU (default: 99; 100 would "
                 "keep step with timers and always see the same part of what they start)")
      ->type_name("HZ")
      ->expected(0, 1);
  app.add_option("--event", options.event,
                 "what --sample counts: cycles (cpu-clock where the machine counts none), "
                 "cpu-clock, page-faults, cache-misses ..., GROUP/EVENT, or rNNN of the CPU")
      ->type_name("EVENT")
      ->capture_default_str();
  app.add_option("--call-graph", options.call_graph,
                 "how stacks of user code are found: fp, frame pointers, cheap; dwarf, a copy of "
                 "the stack, unwound after the stop; auto, both, chains of fp repaired")
      ->check(CLI::IsMember({"fp", "dwarf", "auto"}))
      ->capture_default_str();
  app.add_flag("--off-cpu", options.off_cpu,
               "the stack of each switch away from a CPU, of the processes of --pid or COMMAND");
  app.add_flag("--wakers", options.wakers,
               "the stack of whoever wakes a thread of the processes of --pid or COMMAND");
  app.add_flag(
      "--system-wide", options.system_wide,
      "stacks of every thread of the machine: with --off-cpu and --wakers, and beside a COMMAND");
  app.add_option("--rotate", options.rotate,
                 "record for ever: each such time becomes a whole trace file of its own")
      ->type_name("TIME");
  app.add_option("--keep", options.keep, "with --rotate: keep this many files (default: 20)")
      ->type_name("N");
  app.add_option("--dir", options.directory, "with --rotate: where the files go (default: .)")
      ->type_name("DIR");
  app.add_option("--max-disk", options.max_disk, "with --rotate: keep no more than this in all")
      ->type_name("SIZE");
  app.add_flag("--list", options.list,
               "show the categories, the events each stands for, and which this kernel has");
  app.add_flag("--status", options.status, "show the recordings under way");
  app.add_option("--stop", options.stop_pid,
                 "end the recording of this recorder (or the only one) and wait for its file")
      ->type_name("PID")
      ->expected(0, 1);
  app.add_flag("--cleanup", options.cleanup, "remove what dead recorders left in the kernel");
  app.add_flag("-q,--quiet", options.quiet, "no progress and no summary");
  app.add_flag("--json", options.json, "the summary, --list or --status as JSON");
  app.add_option("category", options.words,
                 "categories and events to record: a name of --list, group/event or group/* "
                 "(default: node)")
      ->type_name("CATEGORY");
  app.add_option("--command-word", options.command)->group("")->allow_extra_args(false);
}

Result<RecordPlan> MakeRecordPlan(const RecordOptions& options,
                                  const std::vector<std::string>& kernel_events) {
  CULPRIT_TRY(CheckCombination(options));
  RecordPlan plan;
  if (!options.config_path.empty()) CULPRIT_TRY(ApplyConfigFile(options, plan));
  // Words add to a config; without either, the default category is meant.
  if (options.config_path.empty() || !options.words.empty()) {
    CULPRIT_ASSIGN(const std::vector<std::string> remarks,
                   capture::AddWords(options.words, kernel_events, plan.config));
    plan.warnings.insert(plan.warnings.end(), remarks.begin(), remarks.end());
  }
  CULPRIT_TRY(ApplyFlags(options, plan));
  if (WantsSamples(options)) CULPRIT_TRY(ApplySamples(options, plan));
  ChooseOutput(options, plan);
  if (!options.rotate.empty()) CULPRIT_TRY(ApplyRotation(options, plan));
  for (const std::string& word : options.command) plan.command.push_back(word.substr(1));
  if (plan.to_stdout && options.background) {
    return Error{"a recording in the background has no standard output", "give -o FILE"};
  }
  return plan;
}

}  // namespace culprit::cli
