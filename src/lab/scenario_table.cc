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
    {"priority-inversion", "a low-priority lock holder, a burner, and an urgent waiter on one CPU",
     "", 1, 1, "", "root or RLIMIT_RTPRIO for SCHED_FIFO; nice alone otherwise",
     "explain: pi_waiter sleeps for pi_holder, which is ready while pi_burner has its CPU",
     PlayPriorityInversion},
    {"throttle", "a busy job in a cgroup with a CPU quota of 30 %", "", 1, 1, "", "root (a cgroup)",
     "check: cgroup throttling; explain: throttled_job is ready and idle CPUs may not take it",
     PlayThrottle},
    {"memory", "a job that writes more than its memory cgroup holds", "", 1, 1, "",
     "root (a cgroup)",
     "explain: memory_job in direct reclaim and waiting for writeback; check: memory.psi",
     PlayMemory},
    {"swap", "a job whose memory is three times its cgroup's limit, on swap of its own", "", 1, 1,
     "", "root (swap, a cgroup); swap is on for the whole machine meanwhile",
     "check: memory.swap_traffic; explain: swap_job in D state at major faults", PlaySwap},
    {"irq", "a softirq storm of loopback packets on the victim's CPU", "flooders", 1, 16, "",
     "root (a network namespace), two CPUs",
     "check --only cpu.hot; explain: softirq NET_RX on top of irq_victim, ksoftirqd", PlayIrq},
    {"checkpoint", "a training loop, and a writer that saturates the disk every second and a half",
     "MiB of a checkpoint", 192, 4096, "", "",
     "explain: trainer blocked on the disk while ckpt_writer fills its queue", PlayCheckpoint},
    {"straggler", "ranks that meet at a barrier each step, one of them slow", "ranks", 4, 60,
     "cpu sleep disk", "", "explain: the other ranks sleep, woken by rank2, and what held it up",
     PlayStraggler},
    {"zombie", "a parent that does not wait for its children", "zombies", 20, 4000, "", "",
     "check --only tasks.zombies", PlayZombie},
    {"fdleak", "a process that opens files up to its limit", "limit of open files", 1024, 65536, "",
     "", "check --only files.descriptors", PlayFdLeak},
    {"pidleak", "a process that starts threads up to its cgroup's limit", "pids.max", 100, 2000, "",
     "root (a cgroup)", "check --only tasks.pids", PlayPidLeak},
};

}  // namespace

std::span<const Scenario> Scenarios() { return kScenarios; }

}  // namespace culprit::lab
