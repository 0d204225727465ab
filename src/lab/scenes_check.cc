// Scenarios for `culprit check`: something is left over or used up, and nobody waits for it.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <vector>

#include "lab/cgroup.h"
#include "lab/scenes.h"

namespace culprit::lab {
namespace {

// Also for threads that are there before the window begins.
void UntilTheEnd(Actor& actor) {
  Board& board = actor.board();
  while (board.gate.load() == 0 && !board.stop.load()) FutexWait(board.gate, 0, Milliseconds(500));
  while (actor.Acting()) actor.Rest(Milliseconds(100));
}

void Expect(Truth& truth, const std::vector<const Slot*>& culprits, const char* kind,
            const char* check, const std::string& subject, const char* measured_by) {
  truth.culprit.kind = kind;
  truth.culprit.parties = PartiesOf(culprits);
  truth.culprit.share_of = "nothing: nobody waits for it";
  truth.culprit.measured_by = measured_by;
  truth.figures = {{"count", static_cast<double>(SumOf(culprits, &Slot::work))}};
  truth.check = ExpectedCheck{check, subject};
}

}  // namespace

Status PlayZombie(Stage& stage, Truth& truth) {
  const std::int64_t zombies = stage.scale();
  CULPRIT_TRY(stage.crew().Start({.name = "zombie_parent", .act = [zombies](Actor& actor) {
                                    for (std::int64_t i = 0; i < zombies; ++i) {
                                      const pid_t pid = fork();
                                      if (pid == 0) _exit(0);
                                      if (pid < 0) {
                                        return actor.Fail(ErrnoError("start", "a child", errno));
                                      }
                                      ++actor.slot().work;
                                    }
                                    actor.Begin();
                                    UntilTheEnd(actor);
                                  }}));
  CULPRIT_TRY(stage.Run(truth));
  const auto parents = stage.crew().Named("zombie_parent");
  Expect(truth, parents, "zombies", "tasks.zombies",
         fmt::format("parent zombie_parent (pid {})", parents.front()->pid),
         "children that it started and did not wait for");
  truth.notes.push_back(
      "check warns of zombies of 300 s or more by itself; --config with "
      "'tasks.zombies warning=1' does at once");
  return {};
}

Status PlayFdLeak(Stage& stage, Truth& truth) {
  CULPRIT_TRY(stage.crew().Start(
      {.name = "fd_leaker", .act = [wanted = stage.scale()](Actor& actor) {
         rlimit limit{};
         getrlimit(RLIMIT_NOFILE, &limit);
         limit.rlim_cur = std::min<rlim_t>(static_cast<rlim_t>(wanted), limit.rlim_max);
         if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
           return actor.Fail(ErrnoError("setrlimit", "open files", errno));
         }
         const auto most = static_cast<std::int64_t>(limit.rlim_cur) * 97 / 100;
         int fd = 0;
         while (fd < most - 1 && (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
           ++actor.slot().work;
         }
         if (fd < 0) return actor.Fail(ErrnoError("open", "/dev/null", errno));
         actor.Begin();
         UntilTheEnd(actor);
       }}));
  CULPRIT_TRY(stage.Run(truth));
  const auto leakers = stage.crew().Named("fd_leaker");
  Expect(truth, leakers, "fd-leak", "files.descriptors",
         fmt::format("fd_leaker (pid {})", leakers.front()->pid),
         "files that it opened and did not close; its limit is --scale");
  return {};
}

Status PlayPidLeak(Stage& stage, Truth& truth) {
  CULPRIT_ASSIGN(const Cgroup cgroup, Cgroup::Make(stage.caretaker(), "pids"));
  const std::int64_t limit = stage.scale();
  CULPRIT_TRY(cgroup.Set("pids.max", fmt::format("{}", limit)));
  CULPRIT_TRY(stage.crew().Start({.name = "pid_leaker",
                                  .act =
                                      [limit](Actor& actor) {
                                        std::vector<std::thread> leaked;
                                        const std::int64_t threads = limit * 97 / 100 - 1;
                                        for (std::int64_t i = 0; i < threads; ++i) {
                                          leaked.emplace_back([&actor] { UntilTheEnd(actor); });
                                          ++actor.slot().work;
                                        }
                                        actor.Begin();
                                        UntilTheEnd(actor);
                                        for (std::thread& thread : leaked) thread.join();
                                      },
                                  .cgroup_procs = cgroup.Procs()}));
  CULPRIT_TRY(stage.Run(truth));
  Expect(truth, stage.crew().Named("pid_leaker"), "pid-leak", "tasks.pids", cgroup.name(),
         "threads that it started and never ends; pids.max is --scale");
  truth.culprit.cgroup = cgroup.name();
  return {};
}

}  // namespace culprit::lab
