// The table of scenarios: adding one is a line here and a script in scenes.h.
#include "lab/scenario.h"
#include "lab/scenes.h"

namespace culprit::lab {
namespace {

constexpr Scenario kScenarios[] = {
    {"cpu", "a thread that wants a CPU, and burners on every CPU", "burner threads", 0, 4096, "",
     "",
     "check --only cpu: cpu.runqueue, cpu.psi; explain: cpu_victim preempted by cpu_burner; flame: "
     "the burners' loop",
     PlayCpu},
    {"lock", "workers fight for one mutex, and one thread holds it for long", "workers", 4, 32, "",
     "",
     "explain: lock_worker sleeps in futex, woken by lock_holder; flame --type offcpu: the lock "
     "call",
     PlayLock},
    {"gil", "many threads of one process and one baton, as CPython's global lock", "threads", 8, 64,
     "", "", "explain: a convoy of gil_thread on one futex, one of them running at a time",
     PlayGil},
    {"io", "writers with fsync, and a victim that syncs a small log on the same disk", "writers", 4,
     64, "", "",
     "check --only disk: utilization and latency; explain: io_victim in D state, the disk's queue "
     "full of io_writer's requests",
     PlayIo},
    {"read", "cold file reads: each piece is dropped from the page cache after use", "readers", 2,
     16, "", "", "explain: read_worker in D state for reads of its own", PlayRead},
    {"dstate", "parents in D state inside vfork() until their child exits", "parents", 4, 256, "",
     "", "check --only tasks.dstate; explain: dstate_parent in D state, kernel stack with vfork",
     PlayDstate},
    {"preempt", "a data-loader worker and a log collector pinned to one CPU", "", 1, 1, "", "",
     "explain: pt_data_worker ready to run while logcollector has its CPU; flame: who burns there",
     PlayPreempt},
    {"oversub", "eight times as many workers as CPUs", "workers", 0, 4000, "", "",
     "check --only cpu: cpu.runqueue; explain: the workers take the CPUs from each other",
     PlayOversub},
    {"pipeline", "loaders, a queue and a trainer whose fake GPU must be fed", "loaders", 2, 16,
     "none disk lock cpu preempt sleep downstream", "",
     "explain --process trainer: batch wait, through the loader that ended it, to the fault; "
     "query: slices 'batch wait' and 'step'",
     PlayPipeline},
};

}  // namespace

std::span<const Scenario> Scenarios() { return kScenarios; }

}  // namespace culprit::lab
