#include "cli/record_run.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <thread>

#include "base/text.h"
#include "capture/registry.h"
#include "capture/rotation.h"
#include "capture/session.h"
#include "cli/record_child.h"
#include "cli/record_summary.h"
#include "cli/verb.h"
#include "sampling/sample_packets.h"

namespace culprit::cli {
namespace {

constexpr int kTickMs = 500;  // progress, and the look whether a ring is full
constexpr int kAborted = 130;

std::int64_t UnixNowNs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

constexpr DurationNs kSameKeypress = Milliseconds(500);

// SIGINT, SIGTERM, SIGHUP and SIGCHLD as a descriptor. Made before any thread, so that all have the
// mask.
Result<UniqueFd> TakeSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    sigaddset(&signals, signal);
    ::signal(signal, SIG_DFL);  // `nohup culprit record &` inherits SIG_IGN
  }
  ::signal(SIGPIPE, SIG_IGN);
  if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) {
    return ErrnoError("block signals", "", errno);
  }
  const int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return ErrnoError("make a signalfd", "", errno);
  return UniqueFd(fd);
}

// The next signal that waits; 0 when none does.
int NextSignal(const UniqueFd& signals) {
  signalfd_siginfo info{};
  const ssize_t got = read(signals.get(), &info, sizeof(info));
  return got == ssize_t{sizeof(info)} ? static_cast<int>(info.ssi_signo) : 0;
}

class Recording {
 public:
  Recording(const RecordOptions& options, RecordPlan plan)
      : options_(options), plan_(std::move(plan)) {}

  int Run();

 private:
  int Begin();
  Status StartSampler(const std::string& directory);
  void Loop();
  void Tick();
  void TakeSignal(int signal);
  void CutSegment();
  int End();
  int FinishFile();
  void AddSamples(const Result<sampling::SampleSpool>& spool, capture::PacketSpool& packets,
                  RecordSummary& summary);
  int FinishRotation();
  int WaitForCommand(int status);
  void WatchForAbort();
  void EndWatch();
  void Register(const std::string& state, const std::string& error = "");
  int FailLate(const Error& error);
  void Progress(bool last);
  void Say(const std::string& line) const {
    fmt::print(stderr, "culprit: {}\n", SafeForTerminal(line));
  }
  bool rotates() const { return plan_.rotate.value > 0; }

  const RecordOptions& options_;
  RecordPlan plan_;
  UniqueFd signals_;
  std::optional<Background> background_;
  std::optional<Command> command_;
  std::unique_ptr<capture::Session> session_;
  std::unique_ptr<sampling::Sampler> sampler_;
  std::unique_ptr<capture::Rotation> rotation_;
  std::optional<capture::Registry> registry_;
  capture::RegistryEntry entry_;
  std::mutex entry_mutex_;  // entry_: the rotation reports from its thread
  TimeNs begin_;
  DurationNs cpu_at_begin_;
  TimeNs cut_at_;  // of the rotation
  std::int64_t segment_begin_unix_ns_ = 0;
  bool shows_progress_ = false;
  bool done_ = false;
  bool ended_early_ = false;  // for want of room
  int end_signal_ = 0;
  TimeNs end_signal_at_;
  std::string ended_by_;
  std::atomic<bool> rotation_failed_ = false;
  UniqueFd written_;  // eventfd
  std::thread watch_;
};

// Before anything is recorded: can the file be made at its place?
Status CheckOutput(const RecordPlan& plan) {
  if (plan.to_stdout) return {};
  const std::filesystem::path path(plan.output);
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return Error{"write " + plan.output + ": it is a directory", "name a file with -o"};
  }
  const std::string folder = path.parent_path().string();
  if (!std::filesystem::is_directory(folder, failed)) {
    return Error{"write " + plan.output + ": there is no folder " + folder,
                 "make it, or name another place with -o"};
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) return ErrnoError("write", plan.output, errno);
  return {};
}

Status Recording::StartSampler(const std::string& directory) {
  if (!plan_.samples) return {};
  if (command_ && !options_.system_wide) plan_.samples->pids.push_back(command_->pid());
  CULPRIT_ASSIGN(sampler_, sampling::Sampler::Start(*plan_.samples, directory));
  for (const std::string& note : sampler_->notes()) Say(note);
  return {};
}

int Recording::Begin() {
  for (const std::string& warning : plan_.warnings) Say(warning);
  if (rotates()) {
    std::error_code failed;
    std::filesystem::create_directories(plan_.directory, failed);
    if (failed)
      return Fail({"make " + plan_.directory + ": " + failed.message(), "give --dir DIR"});
  }
  if (const Status output = CheckOutput(plan_); !output && !rotates()) return Fail(output.error());
  auto signals = TakeSignals();
  if (!signals) return Fail(signals.error());
  signals_ = std::move(signals).value();

  capture::Session::Options session;
  session.version = CULPRIT_VERSION;
  session.spool_directory = rotates() ? plan_.directory
                            : plan_.to_stdout
                                ? std::filesystem::temp_directory_path().string()
                                : std::filesystem::path(plan_.output).parent_path().string();
  auto started = capture::Session::Start(plan_.config, session);
  if (!started) return Fail(started.error());
  session_ = std::move(started).value();
  begin_ = session_->begin();
  cpu_at_begin_ = OwnCpuTime();
  segment_begin_unix_ns_ = UnixNowNs() - (NowBoottime() - begin_).value;
  cut_at_ = begin_ + plan_.rotate;
  for (const std::string& note : session_->notes()) Say(note);
  if (plan_.command.empty()) {
    if (const Status sampling = StartSampler(session.spool_directory); !sampling) {
      return Fail(sampling.error());
    }
  }

  if (auto registry = capture::Registry::Open(); registry) {
    registry_.emplace(std::move(registry).value());
  }
  if (const auto self = kernel::OwnIdentity(); self) entry_.recorder = *self;
  entry_.since_unix_s = segment_begin_unix_ns_ / 1'000'000'000;
  entry_.instance = session_->instance_name();
  entry_.output = rotates() ? plan_.directory : plan_.output;
  entry_.rotates = rotates();
  Register("recording");

  if (!plan_.command.empty()) {
    const auto fail = [this](const Error& error, int status) {
      session_.reset();
      if (registry_) registry_->Remove(entry_.recorder.pid);
      return Fail(error, status);
    };
    auto command = Command::Prepare(plan_.command);
    if (!command) return fail(command.error(), kExitFailure);
    command_.emplace(std::move(command).value());
    if (const Status noted = session_->NoteTarget(command_->pid()); !noted) {
      return fail(noted.error(), kExitFailure);
    }
    if (const Status sampling = StartSampler(session.spool_directory); !sampling) {
      return fail(sampling.error(), kExitFailure);
    }
    constexpr int kNotFound = 127;  // as shells say it
    if (const Status gone = command_->Go(); !gone) return fail(gone.error(), kNotFound);
  }
  if (rotates()) {
    rotation_ = std::make_unique<capture::Rotation>(
        plan_.directory, plan_.limits, plan_.config, [this](const auto& file) {
          if (!file) {
            Register("recording", file.error().ToString());
            rotation_failed_ = true;
            Say(file.error().ToString());
            return;
          }
          {
            const std::lock_guard lock(entry_mutex_);
            ++entry_.files;
            for (const capture::CpuLoss& loss : file->lost) entry_.lost_events += loss.total();
          }
          if (file->cut) rotation_failed_ = true;
          Register("recording", file->cut ? file->cut->ToString() : "");
        });
  }
  if (background_) background_->Begun();
  shows_progress_ = !background_ && !options_.quiet && !options_.json && IsTerminal(STDERR_FILENO);
  return kExitOk;
}

void Recording::Register(const std::string& state, const std::string& error) {
  if (!registry_) return;
  const std::lock_guard lock(entry_mutex_);
  entry_.state = state;
  entry_.error = error;
  static_cast<void>(registry_->Put(entry_));
}

void Recording::Progress(bool last) {
  if (!shows_progress_) return;
  const capture::LiveState state = session_->State();
  fmt::print(stderr, "\r\x1b[Krecording {:.1f} s   {} events   buffer {:.0f} %   lost {}{}{}",
             ToSeconds(state.elapsed), FormatCount(state.events), state.fill_pct,
             FormatCount(state.lost_events),
             state.spooled_bytes > 0 ? "   spooled " + FormatBytes(state.spooled_bytes) : "",
             last ? "\r\x1b[K" : "   (^C ends)");
  std::fflush(stderr);
}

void Recording::CutSegment() {
  auto segment = session_->NextSegment();
  if (!segment) {
    done_ = true;
    ended_by_ = segment.error().ToString();
    rotation_failed_ = true;
    return;
  }
  const std::int64_t begin_unix_ns = segment_begin_unix_ns_;
  segment_begin_unix_ns_ = UnixNowNs();
  rotation_->Write(std::move(segment).value(), begin_unix_ns);
  const TimeNs now = NowBoottime();
  while (cut_at_ <= now) cut_at_ = cut_at_ + plan_.rotate;
}

void Recording::Tick() {
  if (plan_.config.stop_when_full && session_->RingIsFull()) {
    done_ = true;
    ended_by_ = "a buffer was full";
  }
  Progress(false);
}

void Recording::TakeSignal(int signal) {
  if (signal == SIGCHLD) {
    if (command_ && command_->Poll() && !done_) {
      done_ = true;
      ended_by_ = "the command ended";
    }
    return;
  }
  done_ = true;
  end_signal_ = signal;
  end_signal_at_ = NowBoottime();
  ended_by_ = signal == SIGINT ? "stopped" : "terminated";
}

void Recording::Loop() {
  const std::int64_t duration = plan_.config.duration.value;
  const bool ticks = shows_progress_ || plan_.config.stop_when_full;
  if (ticks) Tick();
  while (!done_) {
    std::int64_t wake = std::numeric_limits<std::int64_t>::max();
    if (duration > 0) wake = begin_.value + duration;
    if (rotates()) wake = std::min(wake, cut_at_.value);
    std::int64_t wait_ms = -1;
    if (wake != std::numeric_limits<std::int64_t>::max()) {
      wait_ms = std::max<std::int64_t>((wake - NowBoottime().value + 999'999) / 1'000'000, 0);
    }
    if (ticks && (wait_ms < 0 || wait_ms > kTickMs)) wait_ms = kTickMs;
    wait_ms = std::min<std::int64_t>(wait_ms, 3'600'000);
    pollfd polls[] = {{signals_.get(), POLLIN, 0},
                      {session_->full_fd(), POLLIN, 0},
                      {session_->guardian_fd(), POLLIN, 0}};
    poll(polls, std::size(polls), static_cast<int>(wait_ms));
    for (int signal; (signal = NextSignal(signals_)) != 0;) TakeSignal(signal);
    if (polls[2].revents != 0 && !session_->RenewGuardian()) {
      done_ = true;  // unguarded, the recorder must not go on
      ended_by_ = "the guardian process could not be started again";
    }
    if (polls[1].revents != 0 && !done_) {
      const std::string reason = session_->FullReason();
      if (rotates()) {
        // Make room: the segment becomes a file, for which the oldest one goes.
        CutSegment();
        rotation_->Flush();
        if (const auto resumed = session_->ResumeDrain(); !resumed) done_ = true;
      } else {
        done_ = true;
        ended_by_ = reason;
        const std::uint64_t limit = plan_.config.max_file_bytes;
        ended_early_ = limit == 0 || session_->State().spooled_bytes < limit;
      }
    }
    const std::int64_t now = NowBoottime().value;
    if (duration > 0 && now >= begin_.value + duration && !done_) {
      done_ = true;
      ended_by_ = "the time was over";
    }
    if (rotates() && !done_ && now >= cut_at_.value) CutSegment();
    if (ticks && !done_) Tick();
  }
  Progress(true);
}

// While the file is being written a further ^C gives it up. The kernel is clean by then, or the
// guardian sees to it.
void Recording::WatchForAbort() {
  const int fd = eventfd(0, EFD_CLOEXEC);
  if (fd < 0) return;
  written_.Reset(fd);
  watch_ = std::thread([this] {
    pollfd polls[] = {{signals_.get(), POLLIN, 0}, {written_.get(), POLLIN, 0}};
    for (;;) {
      poll(polls, std::size(polls), -1);
      if (polls[1].revents != 0) return;
      const int signal = NextSignal(signals_);
      if (signal == 0 || signal == SIGCHLD) continue;
      // One ^C can come twice: from the terminal, and from a parent that passes it on.
      if (NowBoottime() - end_signal_at_ < kSameKeypress) continue;
      if (registry_) registry_->Remove(entry_.recorder.pid);
      if (!background_) Say("given up: the file was not written");
      _exit(kAborted);
    }
  });
}

void Recording::EndWatch() {
  if (!watch_.joinable()) return;
  eventfd_write(written_.get(), 1);
  watch_.join();
}

int Recording::FailLate(const Error& error) {
  // Nobody reads the stderr of a background recorder: its entry keeps the reason.
  if (background_) {
    Register("failed", error.ToString());
    return kExitFailure;
  }
  if (registry_) registry_->Remove(entry_.recorder.pid);
  return Fail(error);
}

// Samples become packets beside the others; what is wrong with them is said and costs no events.
void Recording::AddSamples(const Result<sampling::SampleSpool>& spool,
                           capture::PacketSpool& packets, RecordSummary& summary) {
  summary.notes.insert(summary.notes.end(), sampler_->notes().begin(), sampler_->notes().end());
  if (!spool) {
    summary.notes.push_back("no samples: " + spool.error().ToString());
    return;
  }
  auto written = sampling::WriteSamples(
      *spool, [&packets](std::string_view packet) { packets.Append(packet); });
  if (!written) {
    summary.notes.push_back("no samples: " + written.error().ToString());
    return;
  }
  summary.samples = std::move(written).value();
}

int Recording::FinishFile() {
  RecordSummary summary;
  summary.begin = begin_;
  summary.fill_policy = plan_.config.fill_policy;
  summary.ended_by = ended_by_;
  summary.notes = plan_.warnings;
  summary.cost.cpu_recording = {OwnCpuTime().value - cpu_at_begin_.value};
  const std::size_t said = session_->notes().size();
  std::optional<Result<sampling::SampleSpool>> samples;
  if (sampler_) samples.emplace(sampler_->Stop());
  auto segment = session_->Finish();
  if (!segment) return FailLate(segment.error());
  if (samples) AddSamples(*samples, *segment->packets, summary);
  summary.notes.insert(summary.notes.end(), session_->notes().begin(), session_->notes().end());
  for (std::size_t i = said; i < session_->notes().size() && !options_.quiet; ++i) {
    if (!background_) Say(session_->notes()[i]);
  }
  session_.reset();
  capture::WriteOptions write;
  write.keep_old = plan_.keep_old;
  auto file = capture::WriteSegment(std::move(segment).value(), plan_.config, plan_.output, write);
  EndWatch();
  if (!file) return FailLate(file.error());
  summary.file = std::move(file).value();
  summary.cost.cpu_total = OwnCpuTime();
  summary.cost.peak_memory_bytes = PeakMemoryBytes();
  int status = kExitOk;
  if (summary.file.cut) {
    status = FailLate({"the trace is cut short, " + FormatBytes(summary.file.bytes) +
                           " of it are in the file: " + summary.file.cut->what,
                       summary.file.cut->remedy});
  } else if (ended_early_) {
    status = FailLate({"the recording ended early: " + ended_by_,
                       "free some room, choose another place with -o, or keep less with --ring"});
  } else if (registry_) {
    registry_->Remove(entry_.recorder.pid);
  }
  if (command_) summary.command_status = command_->Poll();
  std::FILE* out = plan_.to_stdout ? stderr : stdout;
  if (options_.json) {
    fmt::print(out, "{}", SummaryJson(summary));
  } else if (!options_.quiet) {
    fmt::print(out, "{}", SummaryText(summary));
  }
  std::fflush(out);
  return WaitForCommand(status);
}

int Recording::FinishRotation() {
  auto segment = session_->Finish();
  if (!segment) return FailLate(segment.error());
  session_.reset();
  rotation_->Write(std::move(segment).value(), segment_begin_unix_ns_);
  rotation_->Flush();
  rotation_.reset();
  EndWatch();
  const bool failed = rotation_failed_;
  if (!options_.quiet && !background_) {
    const std::lock_guard lock(entry_mutex_);
    fmt::print("recorded {} ({}) to {} files in {}, {} events lost\n",
               FormatDuration(NowBoottime() - begin_), ended_by_, entry_.files,
               SafeForTerminal(plan_.directory), FormatCount(entry_.lost_events));
  }
  if (failed) {
    std::string error;
    {
      const std::lock_guard lock(entry_mutex_);
      error = entry_.error;
    }
    return FailLate(
        {"not every file of the rotation is whole" + (error.empty() ? "" : ": " + error),
         "see that the disk has room"});
  }
  if (registry_) registry_->Remove(entry_.recorder.pid);
  return WaitForCommand(kExitOk);
}

// Its exit status is ours, unless the recording itself failed.
int Recording::WaitForCommand(int status) {
  if (!command_) return status;
  if (end_signal_ == SIGTERM || end_signal_ == SIGHUP) command_->Signal(SIGTERM);
  pollfd polled{signals_.get(), POLLIN, 0};
  while (!command_->Poll()) {
    poll(&polled, 1, -1);
    for (int signal; (signal = NextSignal(signals_)) != 0;) {
      if (signal == SIGINT) return kAborted;  // a terminal has sent it to the command, too
      if (signal != SIGCHLD) command_->Signal(SIGTERM);
    }
  }
  return status == kExitOk ? *command_->Poll() : status;
}

int Recording::End() {
  Register("writing");
  WatchForAbort();
  const int status = rotates() ? FinishRotation() : FinishFile();
  EndWatch();
  return status;
}

int Recording::Run() {
  if (options_.background) {
    auto background = Background::Fork();
    if (!background) return Fail(background.error());
    if (background->is_parent()) return background->parent_status();
    background_.emplace(std::move(background).value());
  }
  if (const int status = Begin(); status != kExitOk) return status;
  Loop();
  return End();
}

}  // namespace

int RunRecording(const RecordOptions& options, RecordPlan plan) {
  return Recording(options, std::move(plan)).Run();
}

}  // namespace culprit::cli
