// The pipeline of a training job: loader processes -> queue in shared memory -> a trainer whose
// fake GPU must be fed, with a fault put where it is asked for. The trainer writes marks into the
// trace.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "lab/disk_file.h"
#include "lab/scenes.h"
#include "lab/shared.h"

namespace culprit::lab {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr DurationNs kGpuStep = Milliseconds(20);
constexpr std::size_t kSampleBytes = 64 << 10;  // what goes to the metrics sink a step

// "B|pid|name" and "E|pid" of trace_marker; silent where it is not writable.
class Marker {
 public:
  Marker() {
    for (const char* path :
         {"/sys/kernel/tracing/trace_marker", "/sys/kernel/debug/tracing/trace_marker"}) {
      auto file = OpenFile(path, O_WRONLY);
      if (!file) continue;
      fd_ = std::move(file).value();
      break;
    }
  }
  template <class Call>
  auto Slice(const char* name, Call call) {
    Write(fmt::format("B|{}|{}", getpid(), name));
    struct End {
      Marker& marker;
      ~End() { marker.Write(fmt::format("E|{}", getpid())); }
    } end{*this};
    return call();
  }

 private:
  void Write(const std::string& text) {
    if (!fd_.valid()) return;
    [[maybe_unused]] const ssize_t wrote = write(fd_.get(), text.data(), text.size());
  }
  UniqueFd fd_;
};

struct Plan {
  std::string fault;
  std::string folder;  // of fault disk
  BatchQueue* queue = nullptr;
  SharedMutex* index_lock = nullptr;    // of fault lock
  int sink_read = -1, sink_write = -1;  // of fault downstream
  DurationNs transform = Milliseconds(6);
};

// One loader's batch: what it reads, what it computes. `log` gets the waits that are the fault's.
void LoadBatch(Actor& actor, const Plan& plan, const std::optional<DiskFile>& file,
               std::uint64_t& at, IntervalLog* log) {
  if (file) {
    constexpr std::uint64_t kPiece = 2 * kMiB;
    actor.Blocked(
        Wait::kDisk,
        [&] {
          file->Read(at, kPiece);
          file->Write(at, kPiece);  // the shard it prepared, kept for the next epoch
          file->Sync();
        },
        log);
    file->Forget(at, kPiece);
    at = (at + kPiece) % (32 * kMiB);
  }
  if (plan.fault == "sleep") {
    actor.Waiting(
        Wait::kSleep, [&] { actor.Rest(Milliseconds(70)); }, log);
  }
  if (plan.fault == "lock") {
    actor.Blocked(
        Wait::kLock, [&] { plan.index_lock->Lock(); }, log);
    plan.index_lock->Unlock();
  }
  const std::int64_t begin = MonotonicNs();
  const std::int64_t runnable = actor.SchedStat().first;
  actor.Burn(plan.transform);
  const std::int64_t end = MonotonicNs();
  if ((plan.fault == "cpu" || plan.fault == "preempt") && end > begin) {
    const auto waited = static_cast<float>(actor.SchedStat().first - runnable);
    log->Add({begin, end, -1, waited / static_cast<float>(end - begin)});
  }
}

Act Loader(const Plan& plan, std::uint64_t number, IntervalLog* log) {
  return [=](Actor& actor) {
    std::optional<DiskFile> file;
    if (plan.fault == "disk") {
      file = DiskFile::Make(actor, plan.folder, number, 32 * kMiB);
      if (file) file->Forget(0, 32 * kMiB);
    }
    std::uint64_t at = 0;
    actor.Begin();
    while (actor.Acting()) {
      LoadBatch(actor, plan, file, at, log);
      if (actor.Waiting(Wait::kQueueFull, [&] { return plan.queue->Push(actor); })) {
        ++actor.slot().work;
      }
    }
  };
}

Act Trainer(const Plan& plan, IntervalLog* log) {
  return [=](Actor& actor) {
    Marker marker;
    const std::string sample(kSampleBytes, 'm');
    // So that the sink's end ends a write that waits for it.
    signal(SIGPIPE, SIG_IGN);
    if (plan.sink_read >= 0) close(plan.sink_read);
    actor.Begin();
    while (actor.Acting()) {
      const std::int64_t begin = MonotonicNs();
      const int loader = marker.Slice("batch wait", [&] {
        return actor.Blocked(Wait::kQueue, [&] { return plan.queue->Pop(actor); });
      });
      if (loader < 0) break;
      log->Add({begin, MonotonicNs(), loader, 1});
      marker.Slice("step", [&] {
        actor.Burn({500'000});
        actor.Sleep(kGpuStep);  // the fake GPU
      });
      ++actor.slot().work;
      if (plan.sink_write >= 0) {
        actor.Blocked(Wait::kPipe, [&] {
          [[maybe_unused]] const ssize_t wrote =
              write(plan.sink_write, sample.data(), sample.size());
        });
      }
    }
  };
}

// Reads what the trainer reports and takes its time over it.
Act MetricsSink(const Plan& plan) {
  return [=](Actor& actor) {
    std::string sample(kSampleBytes, ' ');
    actor.Begin();
    close(plan.sink_write);
    while (actor.Acting()) {
      std::size_t got = 0;
      while (got < sample.size()) {
        const ssize_t more = read(plan.sink_read, sample.data() + got, sample.size() - got);
        if (more <= 0) return;
        got += static_cast<std::size_t>(more);
      }
      actor.Sleep(Milliseconds(50));
      ++actor.slot().work;
    }
  };
}

struct FaultInfo {
  std::string_view fault;
  std::string_view kind;     // of the truth's culprit
  std::string_view culprit;  // name of the thread
  std::string_view lost;     // what the share is of
};
constexpr FaultInfo kFaults[] = {
    {"none", "none", "", ""},
    {"disk", "disk", "disk_hog",
     "in which it waited for a batch whose loader was blocked on the disk"},
    {"lock", "lock-holder", "lock_hog",
     "in which it waited for a batch whose loader slept for the index lock"},
    {"cpu", "preempted-by", "cpu_hog",
     "in which it waited for a batch whose loader was ready while a hog had its CPU"},
    {"preempt", "preempted-by", "logcollector",
     "in which it waited for a batch whose loader was ready while the log collector had its CPU"},
    {"sleep", "sleep", "pt_data_worker", "in which it waited for a batch whose loader slept"},
    {"downstream", "slow-consumer", "metrics_sink",
     "in which it was blocked writing to the pipe of the metrics sink"},
};

Status StartFault(Stage& stage, const Plan& plan) {
  Crew& crew = stage.crew();
  if (plan.fault == "disk") {
    for (std::uint64_t i = 0; i < 4; ++i) {
      CULPRIT_TRY(crew.Start({.name = "disk_hog", .act = [=, folder = plan.folder](Actor& actor) {
                                constexpr std::uint64_t kBytes = 32 * kMiB;
                                const auto file = DiskFile::Make(actor, folder, 100 + i, kBytes);
                                actor.Begin();
                                for (std::uint64_t at = 0; file && actor.Acting(); at += 8 * kMiB) {
                                  actor.Blocked(Wait::kDisk, [&] {
                                    file->Write(at % kBytes, 8 * kMiB);
                                    file->Sync();
                                  });
                                }
                              }}));
    }
  } else if (plan.fault == "lock") {
    CULPRIT_TRY(crew.Start({.name = "lock_hog", .act = [lock = plan.index_lock](Actor& actor) {
                              actor.Begin();
                              while (actor.Acting()) {
                                lock->Lock();
                                actor.Sleep(Milliseconds(60));
                                lock->Unlock();
                                actor.Rest(Milliseconds(5));
                                ++actor.slot().work;
                              }
                            }}));
  } else if (plan.fault == "cpu") {
    std::vector<Role> roles;
    for (int i = 0; i < 6; ++i) {
      for (const int cpu : {stage.cpu(), stage.other_cpu()}) {
        roles.push_back({.name = "cpu_hog", .cpu = cpu});
      }
    }
    for (Role& role : roles) {
      role.act = [](Actor& actor) {
        actor.Begin();
        while (actor.Acting()) actor.Burn(Milliseconds(10));
      };
    }
    CULPRIT_TRY(crew.StartThreads("cpu_hog", roles));
  } else if (plan.fault == "preempt") {
    std::vector<Role> roles(3, {.name = "logcollector",
                                .act =
                                    [](Actor& actor) {
                                      actor.Begin();
                                      while (actor.Acting()) {
                                        actor.Burn(Milliseconds(4));
                                        actor.Sleep(Milliseconds(1));
                                      }
                                    },
                                .cpu = stage.cpu()});
    CULPRIT_TRY(crew.StartThreads("logcollector", roles));
  } else if (plan.fault == "downstream") {
    CULPRIT_TRY(crew.Start({.name = "metrics_sink", .act = MetricsSink(plan)}));
  }
  return {};
}

// What the trainer lost: of each wait, the part in which the loader that ended it was held up.
std::int64_t LostThroughLoaders(const Board& board, const IntervalLog& waits,
                                const std::vector<const Slot*>& loaders,
                                const std::vector<IntervalLog*>& causes) {
  std::int64_t lost = 0;
  for (const Slot* loader : loaders) {
    std::vector<Interval> ended_by_it;
    for (const Interval& wait : waits.All()) {
      if (wait.peer == board.IndexOf(loader)) ended_by_it.push_back(wait);
    }
    const auto number = static_cast<std::size_t>(loader->role);
    lost += OverlapNs(ended_by_it, causes[number]->All());
  }
  return lost;
}

}  // namespace

Status PlayPipeline(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  const auto* info = std::ranges::find(kFaults, stage.fault(), &FaultInfo::fault);
  Plan plan;
  plan.fault = stage.fault();
  CULPRIT_ASSIGN(plan.queue, MakeShared<BatchQueue>());
  CULPRIT_ASSIGN(plan.index_lock, MakeShared<SharedMutex>());
  if (plan.fault == "disk") {
    CULPRIT_ASSIGN(plan.folder, stage.Folder(256 * kMiB, true));
  }
  if (plan.fault == "cpu" || plan.fault == "preempt") plan.transform = Milliseconds(12);
  UniqueFd read_end, write_end;
  if (plan.fault == "downstream") {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoError("make a pipe", "", errno);
    read_end.Reset(fds[0]);
    write_end.Reset(fds[1]);
    plan.sink_read = fds[0];
    plan.sink_write = fds[1];
  }

  // Loaders first: their role number is the index of their log.
  std::vector<IntervalLog*> causes;
  for (std::int64_t i = 0; i < stage.scale(); ++i) {
    causes.push_back(stage.board().NewLog());
    int cpu = -1;
    if (plan.fault == "preempt") cpu = stage.cpu();
    if (plan.fault == "cpu") cpu = i % 2 == 0 ? stage.cpu() : stage.other_cpu();
    CULPRIT_TRY(crew.Start({.name = "pt_data_worker",
                            .act = Loader(plan, static_cast<std::uint64_t>(i), causes.back()),
                            .cpu = cpu}));
  }
  IntervalLog* waits = stage.board().NewLog();
  CULPRIT_TRY(crew.Start({.name = "trainer", .act = Trainer(plan, waits)}));
  CULPRIT_TRY(StartFault(stage, plan));
  read_end.Reset();
  write_end.Reset();
  CULPRIT_TRY(stage.Run(truth));

  const auto trainer = crew.Named("trainer");
  const auto loaders = crew.Named("pt_data_worker");
  AddVictims(truth, trainer);
  truth.figures = {{"batches", static_cast<double>(SumOf(trainer, &Slot::work))},
                   {"batch_wait_ns", static_cast<double>(SumOf(trainer, Wait::kQueue))}};
  truth.culprit.kind = info->kind;
  if (plan.fault == "none") return {};

  std::int64_t lost = plan.fault == "downstream"
                          ? SumOf(trainer, Wait::kPipe)
                          : LostThroughLoaders(stage.board(), *waits, loaders, causes);
  const auto culprits = crew.Named(info->culprit);
  if (plan.fault == "cpu" || plan.fault == "preempt") {
    // While a loader was ready, the culprit, another loader or a stranger had its CPU. Where the
    // culprit is always ready its part of what a loader leaves is its part of the loader's wait.
    const double cpus = plan.fault == "preempt" || stage.cpu() == stage.other_cpu() ? 1 : 2;
    const double window = static_cast<double>((truth.end - truth.begin).value) * cpus;
    const double own = static_cast<double>(SumOf(loaders, &Slot::cpu_ns)) /
                       static_cast<double>(loaders.size()) * cpus;
    const double part =
        std::min(1.0, static_cast<double>(SumOf(culprits, &Slot::cpu_ns)) / (window - own));
    lost = static_cast<std::int64_t>(static_cast<double>(lost) * part);
  }
  truth.culprit.parties = PartiesOf(culprits);
  if (plan.fault == "disk") truth.culprit.device = DiskOf(plan.folder);
  truth.culprit.share_of = fmt::format("the trainer's window {}", info->lost);
  truth.culprit.measured_by = "CLOCK_MONOTONIC around each wait of trainer and loaders, schedstat";
  SetShare(truth, lost);
  return {};
}

}  // namespace culprit::lab
