// Scenarios in which threads are ready and have no CPU because others run.
#include <fmt/core.h>
#include <sched.h>

#include <algorithm>

#include "lab/scenes.h"
#include "lab/shared.h"

namespace culprit::lab {
namespace {

constexpr const char* kClocks =
    "CLOCK_THREAD_CPUTIME_ID of the culprit over CLOCK_MONOTONIC of the victim";

// Always wants the CPU, so that whatever runs there meanwhile is taken from it.
Act Burner(DurationNs piece) {
  return [piece](Actor& actor) {
    actor.Begin();
    while (actor.Acting()) {
      actor.Burn(piece);
      ++actor.slot().work;
    }
  };
}

// Runs for `on`, sleeps for `off`.
Act Pulse(DurationNs on, DurationNs off) {
  return [on, off](Actor& actor) {
    actor.Begin();
    while (actor.Acting()) {
      actor.Burn(on);
      actor.Sleep(off);
      ++actor.slot().work;
    }
  };
}

bool MayUseFifo() {
  sched_param parameters{};
  parameters.sched_priority = 1;
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) return false;
  parameters.sched_priority = 0;
  return sched_setscheduler(0, SCHED_OTHER, &parameters) == 0;
}

}  // namespace

Status PlayCpu(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  const auto burners = static_cast<std::size_t>(stage.scale());
  CULPRIT_TRY(
      crew.Start({.name = "cpu_victim", .act = Burner(Milliseconds(5)), .cpu = stage.cpu()}));
  std::vector<Role> roles;
  for (std::size_t i = 0; i < burners; ++i) {
    roles.push_back({.name = "cpu_burner",
                     .act = Burner(Milliseconds(5)),
                     .cpu = stage.cpus()[i % stage.cpus().size()]});
  }
  CULPRIT_TRY(crew.StartThreads("cpu_burner", roles));
  CULPRIT_TRY(stage.Run(truth));

  std::int64_t taken = 0;
  std::vector<const Slot*> there;
  for (const Slot* slot : crew.Named("cpu_burner")) {
    if (slot->cpu == stage.cpu()) {
      taken += slot->cpu_ns;
      there.push_back(slot);
    }
  }
  AddVictims(truth, crew.Named("cpu_victim"));
  truth.culprit.kind = "preempted-by";
  truth.culprit.parties = PartiesOf(there);
  truth.culprit.share_of = "the victim's window in which burners ran on its CPU";
  truth.culprit.measured_by = kClocks;
  SetShare(truth, taken);
  return {};
}

Status PlayPreempt(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  CULPRIT_TRY(
      crew.Start({.name = "pt_data_worker", .act = Burner(Milliseconds(10)), .cpu = stage.cpu()}));
  CULPRIT_TRY(crew.Start({.name = "logcollector",
                          .act = Pulse(Milliseconds(3), Milliseconds(2)),
                          .cpu = stage.cpu()}));
  CULPRIT_TRY(stage.Run(truth));

  AddVictims(truth, crew.Named("pt_data_worker"));
  const auto culprits = crew.Named("logcollector");
  truth.culprit.kind = "preempted-by";
  truth.culprit.parties = PartiesOf(culprits);
  truth.culprit.share_of = "the data worker's window in which the log collector ran on its CPU";
  truth.culprit.measured_by = kClocks;
  SetShare(truth, SumOf(culprits, &Slot::cpu_ns));
  return {};
}

Status PlayOversub(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  std::vector<Role> roles(static_cast<std::size_t>(stage.scale()),
                          {.name = "oversub_worker", .act = Burner(Milliseconds(5))});
  CULPRIT_TRY(crew.StartThreads("oversub_pool", roles));
  CULPRIT_TRY(stage.Run(truth));

  const auto workers = crew.Named("oversub_worker");
  AddVictims(truth, workers);
  truth.culprit.kind = "oversubscribed";
  truth.culprit.parties = PartiesOf(workers);
  truth.culprit.share_of =
      "the workers' windows in which they were ready and another of them had the CPU";
  truth.culprit.measured_by =
      "/proc/thread-self/schedstat, times the workers' part of all CPU time";
  // All of them are always ready: while one of them stands, who runs is one of them or a stranger.
  const auto capacity = static_cast<double>((truth.end - truth.begin).value) *
                        static_cast<double>(stage.cpus().size());
  const double theirs =
      std::min(1.0, static_cast<double>(SumOf(workers, &Slot::cpu_ns)) / capacity);
  SetShare(truth, static_cast<std::int64_t>(
                      static_cast<double>(SumOf(workers, &Slot::runnable_ns)) * theirs));
  return {};
}

// The mutex lends no priority, which is the fault: the burner, more urgent than the holder, keeps
// it from letting the waiter go on.
Status PlayPriorityInversion(Stage& stage, Truth& truth) {
  Crew& crew = stage.crew();
  CULPRIT_ASSIGN(SharedMutex * mutex, MakeShared<SharedMutex>());
  IntervalLog* bursts = stage.board().NewLog();
  IntervalLog* waits = stage.board().NewLog();
  const bool fifo = MayUseFifo();
  CULPRIT_TRY(crew.Start({.name = "pi_holder",
                          .act =
                              [mutex](Actor& actor) {
                                actor.Begin();
                                while (actor.Acting()) {
                                  mutex->Lock();
                                  actor.Burn(Milliseconds(4));
                                  mutex->Unlock();
                                  actor.Rest(Milliseconds(2));
                                  ++actor.slot().work;
                                }
                              },
                          .cpu = stage.cpu(),
                          .nice = 19}));
  CULPRIT_TRY(crew.Start({.name = "pi_burner",
                          .act =
                              [bursts](Actor& actor) {
                                actor.Begin();
                                while (actor.Acting()) {
                                  const std::int64_t begin = MonotonicNs();
                                  actor.Burn(Milliseconds(40));
                                  bursts->Add({begin, MonotonicNs(), -1, 1});
                                  // Leaves the CPU for a third of the time, whatever its class.
                                  actor.Sleep(Milliseconds(20));
                                  ++actor.slot().work;
                                }
                              },
                          .cpu = stage.cpu(),
                          .fifo_priority = fifo ? 10 : 0}));
  CULPRIT_TRY(crew.Start({.name = "pi_waiter",
                          .act =
                              [mutex, waits](Actor& actor) {
                                actor.Begin();
                                while (actor.Acting()) {
                                  actor.Blocked(
                                      Wait::kLock, [&] { mutex->Lock(); }, waits);
                                  actor.Burn({100'000});
                                  mutex->Unlock();
                                  actor.Sleep(Milliseconds(3));
                                  ++actor.slot().work;
                                }
                              },
                          .cpu = stage.cpu(),
                          .nice = -5,
                          .fifo_priority = fifo ? 20 : 0}));
  CULPRIT_TRY(stage.Run(truth));

  AddVictims(truth, crew.Named("pi_waiter"));
  truth.culprit.kind = "priority-inversion";
  truth.culprit.parties = PartiesOf(crew.Named("pi_burner"));
  truth.culprit.parties.push_back(PartiesOf(crew.Named("pi_holder")).front());
  truth.culprit.share_of =
      "the waiter's window in which it slept in the lock call while the burner was in a burst";
  truth.culprit.measured_by = "CLOCK_MONOTONIC around each lock and burst, schedstat";
  truth.notes.emplace_back(fifo ? "SCHED_FIFO 10 and 20, holder at nice 19"
                                : "SCHED_FIFO is not allowed: nice alone, a milder case");
  SetShare(truth, OverlapNs(waits->All(), bursts->All()));
  return {};
}

}  // namespace culprit::lab
