// Scenarios in which threads are ready and have no CPU because others run.
#include <fmt/core.h>

#include "lab/scenes.h"

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
  truth.culprit.share_of = "the workers' windows in which they were ready and had no CPU";
  truth.culprit.measured_by = "/proc/thread-self/schedstat";
  SetShare(truth, SumOf(workers, &Slot::runnable_ns));
  return {};
}

}  // namespace culprit::lab
