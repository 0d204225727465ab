// culprit stat: counters of a command, of processes or of the machine, and what they say.
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "base/file.h"
#include "base/signal_watch.h"
#include "base/text.h"
#include "cli/record_child.h"
#include "cli/verbs.h"
#include "stat/event_names.h"
#include "stat/event_table.h"
#include "stat/report.h"

namespace culprit::cli {
namespace {

constexpr DurationNs kPoll = Milliseconds(100);  // how often new and ending threads are looked for
constexpr DurationNs kLeastInterval = Milliseconds(10);

struct StatFlags {
  bool all = false;
  std::vector<std::string> pids, events;
  std::vector<std::string> command_words;  // each behind a '=' (Program::CommandLine)
  std::vector<std::string> command;
  std::string duration, interval, output, format = "text";
  bool per_thread = false, per_cpu = false, thresholds = false;
};

struct Plan {
  stat::MeterPlan meter;
  DurationNs duration, interval;
};

std::string CommOf(std::int32_t pid) {
  const auto text = ReadFile("/proc/" + std::to_string(pid) + "/comm");
  return text ? std::string(TrimBlanks(*text)) : "";
}

Result<Plan> MakePlan(const StatFlags& flags) {
  Plan plan;
  const int targets = flags.all + !flags.pids.empty() + !flags.command.empty();
  if (targets > 1) {
    return Error{"one of -a, -p and a command at a time", "leave the others away"};
  }
  if (flags.per_thread && flags.per_cpu) {
    return Error{"--per-thread and --per-cpu exclude one another", "leave one away"};
  }
  const bool machine = flags.pids.empty() && flags.command.empty();
  if (flags.per_thread && machine) {
    return Error{"--per-thread wants processes", "give -p PID or -- COMMAND"};
  }
  for (const std::string& list : flags.pids) {
    for (const std::string_view word : Split(list, ',')) {
      const auto pid = ParseInteger<std::int32_t>(TrimBlanks(word));
      if (!pid || *pid <= 0) {
        return Error{"not a process id: " + SafeForTerminal(word), "see ps, or pgrep NAME"};
      }
      if (std::ranges::find(plan.meter.pids, *pid) == plan.meter.pids.end()) {
        plan.meter.pids.push_back(*pid);
      }
    }
  }
  if (!flags.duration.empty()) {
    CULPRIT_ASSIGN(plan.duration, ParseDuration(flags.duration));
  }
  if (!flags.interval.empty()) {
    CULPRIT_ASSIGN(plan.interval, ParseDuration(flags.interval));
    if (plan.interval < kLeastInterval) {
      return Error{"--interval is at least 10 ms", "give --interval 1s"};
    }
  }
  plan.meter.split = flags.per_thread ? stat::Split::kThread
                     : flags.per_cpu  ? stat::Split::kCpu
                                      : stat::Split::kNone;
  std::string events;
  for (const std::string& list : flags.events) events += (events.empty() ? "" : ",") + list;
  if (events.empty()) {
    events = stat::DefaultEvents(machine);
    if (const std::string top_down = stat::TopDownEvents(); !top_down.empty()) {
      events += "," + top_down;
    }
  }
  CULPRIT_ASSIGN(plan.meter.groups, stat::ParseEvents(events));
  plan.meter.is_command = !flags.command.empty();
  return plan;
}

class Stat {
 public:
  Stat(const StatFlags& flags, Plan plan) : flags_(flags), plan_(std::move(plan)) {}

  int Run();

 private:
  Status Open();
  Status Count();
  Status Interval();
  Status Finish();
  Status Print(std::string_view text);
  std::string Target() const;

  const StatFlags& flags_;
  Plan plan_;
  std::optional<SignalWatch> signals_;
  std::optional<Command> command_;
  std::unique_ptr<stat::CounterOpener> opener_ = stat::KernelCounters();
  std::unique_ptr<stat::Meter> meter_;
  UniqueFd output_;
  stat::Report report_;
  stat::Sample last_;
  std::optional<int> status_;  // of the command
  bool wrote_head_ = false;
};

Status Stat::Print(std::string_view text) {
  // A command's own output is not mixed with ours.
  const int fd = output_.valid() ? output_.get() : command_ ? STDERR_FILENO : STDOUT_FILENO;
  return WriteAll(fd, text, flags_.output.empty() ? "the output" : flags_.output);
}

std::string Stat::Target() const {
  if (command_) {
    std::string text;
    for (const std::string& word : flags_.command) text += (text.empty() ? "" : " ") + word;
    return text;
  }
  if (plan_.meter.pids.empty()) {
    return fmt::format("the machine ({} CPUs)", sysconf(_SC_NPROCESSORS_ONLN));
  }
  std::string text;
  for (const std::int32_t pid : plan_.meter.pids) {
    const std::string comm = CommOf(pid);
    text += fmt::format("{}{}{}", text.empty() ? "process " : ", ", pid,
                        comm.empty() ? "" : " (" + comm + ")");
  }
  return text;
}

Status Stat::Open() {
  if (!flags_.output.empty()) {
    CULPRIT_ASSIGN(output_, OpenFile(flags_.output, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  }
  CULPRIT_ASSIGN(SignalWatch signals, SignalWatch::Open());
  signals_.emplace(std::move(signals));
  if (!flags_.command.empty()) {
    CULPRIT_ASSIGN(Command command, Command::Prepare(flags_.command));
    command_.emplace(std::move(command));
    plan_.meter.pids = {command_->pid()};
  }
  report_.target = Target();
  CULPRIT_ASSIGN(meter_, stat::Meter::Attach(*opener_, plan_.meter));
  meter_->MarkBegin();
  if (command_) CULPRIT_TRY(command_->Go());
  return {};
}

Status Stat::Interval() {
  CULPRIT_ASSIGN(stat::Sample now, meter_->Take());
  stat::Sample step = last_.rows.empty() ? now : stat::Difference(now, last_);
  last_ = std::move(now);
  if (flags_.format == "json") {
    report_.intervals.push_back(std::move(step));
    return {};
  }
  if (flags_.format == "csv") {
    if (!std::exchange(wrote_head_, true)) CULPRIT_TRY(Print(stat::CsvHead()));
    return Print(stat::FormatCsv(meter_->events(), step));
  }
  return Print(stat::FormatIntervalText(meter_->events(), step));
}

Status Stat::Count() {
  const TimeNs begin = NowBoottime();
  TimeNs next_interval = begin + plan_.interval;
  TimeNs next_poll = begin + kPoll;
  const TimeNs end = begin + plan_.duration;
  for (;;) {
    TimeNs now = NowBoottime();
    TimeNs wake = next_poll;
    if (plan_.interval.value > 0) wake = std::min(wake, next_interval);
    if (plan_.duration.value > 0) wake = std::min(wake, end);
    pollfd waits[] = {{signals_->fd(), POLLIN, 0}};
    // A command's end is looked for more often: what comes after it would be counted as elapsed.
    const std::int64_t most_ms = command_ ? 10 : 100;
    const std::int64_t wait_ms =
        std::clamp<std::int64_t>(((wake - now).value + 999'999) / 1'000'000, 0, most_ms);
    poll(waits, 1, static_cast<int>(wait_ms));
    if (const int signal = signals_->Take(); signal != 0) {
      // The terminal has sent ^C to the command, too, which ends in its own way.
      if (!command_) return {};
      if (signal == SIGTERM) command_->Signal(SIGTERM);
    }
    if (command_) {
      status_ = command_->Poll();
      if (status_) return {};
    } else if (!plan_.meter.pids.empty() && !meter_->AnyAlive()) {
      return {};
    }
    now = NowBoottime();
    if (plan_.duration.value > 0 && now >= end) return {};
    if (plan_.interval.value > 0 && now >= next_interval) {
      CULPRIT_TRY(Interval());
      while (next_interval <= now) next_interval = next_interval + plan_.interval;
    } else if (now >= next_poll) {
      CULPRIT_TRY(meter_->Poll());
      // A poll of thousands of threads takes long: it shall not take more than a twentieth of a
      // CPU.
      const TimeNs done = NowBoottime();
      next_poll = done + std::max(kPoll, DurationNs{20 * (done - now).value});
    }
  }
}

Status Stat::Finish() {
  std::optional<stat::ProcCounts::Values> at_end;
  if (command_ && status_) at_end = stat::ValuesOf(command_->usage());
  CULPRIT_ASSIGN(report_.total, meter_->Take(at_end ? &*at_end : nullptr));
  if (plan_.interval.value > 0 && flags_.format == "json") {
    report_.intervals.push_back(last_.rows.empty() ? report_.total
                                                   : stat::Difference(report_.total, last_));
  }
  report_.events = meter_->events();
  report_.notes = meter_->Notes(report_.total, at_end.has_value());
  report_.exit_status = status_;
  const bool machine = plan_.meter.pids.empty();
  report_.metrics = stat::ComputeMetrics(
      stat::Counts(report_.events, report_.total.rows.front()), ToSeconds(report_.total.end),
      machine, static_cast<unsigned>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))));
  report_.verdicts = stat::Interpret(report_.metrics);
  if (flags_.format == "json") return Print(stat::FormatJson(report_));
  if (flags_.format == "text") return Print(stat::FormatText(report_));
  std::string text = wrote_head_ ? "" : stat::CsvHead();
  stat::Sample rest = report_.total;
  if (plan_.interval.value > 0 && !last_.rows.empty()) rest = stat::Difference(rest, last_);
  return Print(text + stat::FormatCsv(report_.events, rest));
}

int Stat::Run() {
  if (const Status opened = Open(); !opened) {
    const bool no_program = command_ && command_->Poll() == 127;
    return Fail(opened.error(), no_program ? 127 : kExitFailure);
  }
  if (IsTerminal(STDERR_FILENO) && !command_ && plan_.duration.value == 0) {
    fmt::print(stderr, "culprit: counting; ^C ends it\n");
  }
  if (const Status counted = Count(); !counted) return Fail(counted.error());
  if (const Status finished = Finish(); !finished) return Fail(finished.error());
  // With --for the command may go on: its exit status is ours all the same.
  while (command_ && !status_) {
    pollfd waits[] = {{signals_->fd(), POLLIN, 0}};
    poll(waits, 1, 10);
    if (signals_->Take() == SIGTERM) command_->Signal(SIGTERM);
    status_ = command_->Poll();
  }
  return status_.value_or(kExitOk);
}

int RunStat(const StatFlags& flags) {
  if (flags.thresholds) {
    fmt::print("{}", stat::ThresholdText());
    return kExitOk;
  }
  auto plan = MakePlan(flags);
  if (!plan) return Fail(plan.error(), kExitUsage);
  return Stat(flags, std::move(plan).value()).Run();
}

}  // namespace

Action DeclareStat(CLI::App& app) {
  auto flags = std::make_shared<StatFlags>();
  app.add_flag("-a,--all-cpus", flags->all, "the whole machine (default)");
  app.add_option("-p,--pid", flags->pids,
                 "these processes, with the threads and processes that they make meanwhile")
      ->type_name("PID[,PID]")
      ->allow_extra_args(false);
  app.add_option("--for", flags->duration,
                 "count for so long (default: until the command or the processes end, or ^C)")
      ->type_name("TIME");
  app.add_option("--interval", flags->interval, "print what was counted, again and again")
      ->type_name("TIME");
  app.add_option("-e,--event", flags->events,
                 "events, with commas; {A,B} are on the PMU at the same time (docs/stat.md)")
      ->type_name("EVENTS")
      ->allow_extra_args(false);
  app.add_flag("--per-thread", flags->per_thread, "a row for each thread");
  app.add_flag("--per-cpu", flags->per_cpu, "a row for each CPU");
  app.add_option("--format", flags->format, "how to print")
      ->check(CLI::IsMember({"text", "json", "csv"}))
      ->capture_default_str();
  app.add_option("-o,--output", flags->output,
                 "print there (default: stdout; beside a command stderr)")
      ->type_name("FILE");
  app.add_flag("--list-thresholds", flags->thresholds,
               "by which numbers the counts are read, and who says so");
  app.add_option("--command-word", flags->command_words)->group("")->allow_extra_args(false);
  return [flags] {
    for (const std::string& word : flags->command_words) flags->command.push_back(word.substr(1));
    return RunStat(*flags);
  };
}

}  // namespace culprit::cli
