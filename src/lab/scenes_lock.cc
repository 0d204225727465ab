// Scenarios in which threads wait for one another: a mutex, a baton, a child.
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lab/disk_file.h"
#include "lab/scenes.h"
#include "lab/shared.h"

namespace culprit::lab {
namespace {

// CPython's global lock in small: one holder; who gives it up while others wait lets one of them
// have it first.
class Baton {
 public:
  void Take(int me) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    free_.wait(lock, [this] { return !held_; });
    --waiting_;
    held_ = true;
    last_ = me;
    taken_.notify_all();
  }
  void Give(int me) {
    std::unique_lock lock(mutex_);
    held_ = false;
    free_.notify_one();
    if (waiting_ > 0) taken_.wait(lock, [this, me] { return last_ != me || waiting_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_, taken_;
  bool held_ = false;
  int waiting_ = 0;
  int last_ = -1;
};

// All ranks of a step wait for the last one. Who leaves for good is no longer waited for.
class Barrier {
 public:
  void SetParties(int parties) { parties_ = parties; }
  void Arrive(Actor& actor) {
    mutex_.Lock();
    const std::uint64_t step = step_;
    ++arrived_;
    Advance();
    while (step_ == step && actor.Acting()) all_here_.WaitInWindow(mutex_, actor);
    mutex_.Unlock();
  }
  void Leave() {
    mutex_.Lock();
    --parties_;
    Advance();
    mutex_.Unlock();
  }

 private:
  void Advance() {
    if (arrived_ < parties_) return;
    arrived_ = 0;
    ++step_;
    all_here_.SignalAll();
  }
  SharedMutex mutex_;
  SharedCondition all_here_;
  int parties_ = 0, arrived_ = 0;
  std::uint64_t step_ = 0;
};

// A child in vfork() shares our memory and our stack: system calls alone, and nothing is written.
[[gnu::noinline]] pid_t VforkSleeper(const timespec* sleep) {
  const pid_t pid = vfork();  // NOLINT: its D state is what this scenario is for
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "dstate_child");
    clock_nanosleep(CLOCK_MONOTONIC, 0, sleep, nullptr);
    _exit(0);
  }
  return pid;
}

}  // namespace

Status PlayLock(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  auto mutex = std::make_shared<std::mutex>();
  IntervalLog* holds = stage.board().NewLog();
  std::vector<IntervalLog*> waits;
  std::vector<Role> roles;
  roles.push_back({.name = "lock_holder", .act = [mutex, holds](Actor& actor) {
                     actor.Begin();
                     while (actor.Acting()) {
                       mutex->lock();
                       actor.OwnDoing(*holds, [&] { actor.Burn(Milliseconds(15)); });
                       mutex->unlock();
                       actor.Sleep(Milliseconds(4));
                       ++actor.slot().work;
                     }
                   }});
  for (std::int64_t i = 0; i < stage.scale(); ++i) {
    waits.push_back(stage.board().NewLog());
    IntervalLog* log = waits.back();
    roles.push_back({.name = "lock_worker", .act = [mutex, log](Actor& actor) {
                       actor.Begin();
                       while (actor.Acting()) {
                         actor.Blocked(
                             Wait::kLock, [&] { mutex->lock(); }, log);
                         actor.Burn({200'000});
                         mutex->unlock();
                         actor.Burn({500'000});
                         ++actor.slot().work;
                       }
                     }});
  }
  CULPRIT_TRY(crew.StartThreads("lock_demo", roles));
  CULPRIT_TRY(stage.Run(truth));

  std::int64_t lost = 0;
  for (const IntervalLog* log : waits) lost += OverlapNs(log->All(), holds->All());
  AddVictims(truth, crew.Named("lock_worker"));
  truth.culprit.kind = "lock-holder";
  truth.culprit.parties = PartiesOf(crew.Named("lock_holder"));
  truth.culprit.share_of =
      "the workers' windows in which they slept in the lock call while the holder had the mutex "
      "and was not itself kept from a CPU";
  truth.culprit.measured_by = "CLOCK_MONOTONIC around each lock and hold, schedstat";
  SetShare(truth, lost);
  return {};
}

Status PlayGil(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  auto baton = std::make_shared<Baton>();
  std::vector<Role> roles;
  for (int me = 0; me < stage.scale(); ++me) {
    roles.push_back({.name = "gil_thread", .act = [baton, me](Actor& actor) {
                       actor.Begin();
                       while (actor.Acting()) {
                         actor.Blocked(Wait::kBaton, [&] { baton->Take(me); });
                         actor.Burn(Milliseconds(5));  // CPython's switch interval
                         actor.Blocked(Wait::kBaton, [&] { baton->Give(me); });
                         ++actor.slot().work;
                       }
                     }});
  }
  CULPRIT_TRY(crew.StartThreads("gil_python", roles));
  CULPRIT_TRY(stage.Run(truth));

  const auto threads = crew.Named("gil_thread");
  AddVictims(truth, threads);
  truth.culprit.kind = "lock-convoy";
  truth.culprit.parties = PartiesOf(threads);
  truth.culprit.share_of = "the threads' windows in which they slept until the baton was theirs";
  truth.culprit.measured_by = "CLOCK_MONOTONIC around each turn, schedstat";
  SetShare(truth, SumOf(threads, Wait::kBaton));
  return {};
}

Status PlayDstate(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  std::atomic<std::int64_t>& last_child = stage.board().words[0];
  for (std::int64_t i = 0; i < stage.scale(); ++i) {
    CULPRIT_TRY(crew.Start({.name = "dstate_parent", .act = [&last_child](Actor& actor) {
                              constexpr timespec kSleep = {0, 150'000'000};
                              actor.Begin();
                              while (actor.Acting()) {
                                const pid_t child = actor.Blocked(
                                    Wait::kChild, [&] { return VforkSleeper(&kSleep); });
                                if (child > 0) {
                                  waitpid(child, nullptr, 0);
                                  last_child.store(child);
                                }
                                actor.Burn(Milliseconds(10));
                                ++actor.slot().work;
                              }
                            }}));
  }
  CULPRIT_TRY(stage.Run(truth));

  const auto parents = crew.Named("dstate_parent");
  AddVictims(truth, parents);
  truth.culprit.kind = "vfork-child";
  truth.culprit.parties = {{static_cast<pid_t>(last_child.load()), {}, "dstate_child"}};
  truth.culprit.share_of = "the parents' windows in which they were in D state inside vfork()";
  truth.culprit.measured_by = "CLOCK_MONOTONIC around vfork(), schedstat";
  truth.notes.push_back("pid is that of the last of many children");
  SetShare(truth, SumOf(parents, Wait::kChild));
  return {};
}

Status PlayStraggler(Stage& stage, Truth& truth) {
  constexpr std::uint64_t kWriteBytes = 16U << 20;
  Crew& crew = stage.crew();
  const auto ranks = static_cast<int>(stage.scale());
  const std::string& fault = stage.fault();
  const int slow = std::min(2, ranks - 1);
  CULPRIT_ASSIGN(Barrier * barrier, MakeShared<Barrier>());
  barrier->SetParties(ranks);
  std::string folder;
  if (fault == "disk") {
    CULPRIT_ASSIGN(folder, stage.Folder(kWriteBytes, true));
  }
  IntervalLog* causes = stage.board().NewLog();
  std::vector<IntervalLog*> waits;
  for (int rank = 0; rank < ranks; ++rank) {
    waits.push_back(stage.board().NewLog());
    IntervalLog* log = waits.back();
    const auto act = [=](Actor& actor) {
      std::optional<DiskFile> file;
      if (rank == slow && fault == "disk") file = DiskFile::Make(actor, folder, 0, kWriteBytes);
      actor.Begin();
      while (actor.Acting()) {
        actor.Burn(Milliseconds(2));
        if (rank == slow) {
          actor.OwnDoing(*causes, [&] {
            if (fault == "cpu") actor.Burn(Milliseconds(25));
            if (fault == "sleep") actor.Sleep(Milliseconds(25));
            if (file) {
              actor.Blocked(Wait::kDisk, [&] {
                file->Write(0, kWriteBytes);
                file->Sync();
              });
            }
          });
        }
        actor.Blocked(
            Wait::kBarrier, [&] { barrier->Arrive(actor); }, log);
        ++actor.slot().work;
      }
      barrier->Leave();
    };
    CULPRIT_TRY(crew.Start({.name = fmt::format("rank{}", rank), .act = act}));
  }
  CULPRIT_TRY(stage.Run(truth));

  std::int64_t lost = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == slow) continue;
    AddVictims(truth, crew.Named(fmt::format("rank{}", rank)));
    lost += OverlapNs(waits[static_cast<std::size_t>(rank)]->All(), causes->All());
  }
  truth.culprit.kind = "straggler";
  truth.culprit.parties = PartiesOf(crew.Named(fmt::format("rank{}", slow)));
  if (fault == "disk") truth.culprit.device = DiskOf(folder);
  truth.culprit.share_of =
      "the other ranks' windows in which they slept at the barrier while it was held up, "
      "other than by a want of a CPU";
  truth.culprit.measured_by = "CLOCK_MONOTONIC around each barrier and delay, schedstat";
  SetShare(truth, lost);
  return {};
}

}  // namespace culprit::lab
