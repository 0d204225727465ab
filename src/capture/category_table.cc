#include "capture/category_table.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"

namespace culprit::capture {
namespace {

using Names = std::string_view;

// What the loader's state machines need, and no event that only says the same once more:
// sched_wakeup follows each sched_waking at twice the cost, sched_stat_* needs schedstats.
constexpr Names kSched[] = {
    "sched/sched_switch",         "sched/sched_waking",
    "sched/sched_wakeup_new",      // a new thread has no sched_waking
    "sched/sched_migrate_task",    // moves the target CPU of a waking, shows balancing
    "sched/sched_process_fork",    // who made the process
    "sched/sched_process_exec",    // the name of the program
    "sched/sched_process_exit",    // the end of a thread
    "sched/sched_process_free",    // its id may be used again
    "sched/sched_process_hang",    // khungtaskd's verdict: rare and precious
    "sched/sched_pi_setprio",      // a priority lent through a lock: rare
    "sched/sched_blocked_reason",  // Android kernels: the blocked function without a stack
    "sched/sched_cpu_hotplug",     // old kernels
    "cpuhp/cpuhp_enter",           // a CPU comes or goes: rare
    "task/task_newtask",           // threads, which fork events alone would take for processes
    "task/task_rename",
};

constexpr Names kFreq[] = {
    "power/cpu_frequency",         // silent where the hardware decides (intel_pstate): stats polls
    "power/cpu_frequency_limits",  // somebody, or heat, lowered the ceiling
    "power/suspend_resume",        // explains a gap on the boot clock
    "power/gpu_frequency",
    "thermal/cdev_update",  // throttling begins and ends
    "thermal/thermal_zone_trip",
};

constexpr Names kIdle[] = {"power/cpu_idle", "power/cpu_idle_miss"};

// The life of a request, plus what makes writers wait without one: fsync and dirty throttling.
constexpr Names kDisk[] = {
    "block/block_rq_insert",  // absent for requests that no scheduler queues
    "block/block_rq_issue",           "block/block_rq_complete",   "block/block_rq_requeue",
    "block/block_rq_error",           "block/block_rq_merge",
    "writeback/balance_dirty_pages",  // a writer is made to sleep
    "ext4/ext4_sync_file_enter",      "ext4/ext4_sync_file_exit",  "xfs/xfs_file_fsync",
    "btrfs/btrfs_sync_file",          "f2fs/f2fs_sync_file_enter", "f2fs/f2fs_sync_file_exit",
    "scsi/scsi_dispatch_cmd_error",  // a disk that fails: rare
    "scsi/scsi_dispatch_cmd_timeout", "scsi/scsi_eh_wakeup",       "nvme/nvme_async_event",
};

// softirq_raise would add half as much again and only tell when a softirq began to wait.
constexpr Names kIrq[] = {
    "irq/irq_handler_entry", "irq/irq_handler_exit", "irq/softirq_entry",    "irq/softirq_exit",
    "irq/tasklet_entry",     "irq/tasklet_exit",     "irq/tasklet_hi_entry", "irq/tasklet_hi_exit",
    "ipi/ipi_raise",         "ipi/ipi_entry",        "ipi/ipi_exit",
};

// Where threads stand because of memory. Not each allocation: kmem/* counts millions a second, and
// whoever wants them says kmem/*.
constexpr Names kMem[] = {
    "kmem/rss_stat",
    "kmem/mm_page_alloc_extfrag",  // a large page was broken up
    "vmscan/mm_vmscan_direct_reclaim_begin",
    "vmscan/mm_vmscan_direct_reclaim_end",
    "vmscan/mm_vmscan_memcg_reclaim_begin",
    "vmscan/mm_vmscan_memcg_reclaim_end",
    "vmscan/mm_vmscan_node_reclaim_begin",
    "vmscan/mm_vmscan_node_reclaim_end",
    "vmscan/mm_vmscan_throttled",
    "vmscan/mm_vmscan_kswapd_wake",
    "vmscan/mm_vmscan_kswapd_sleep",
    "vmscan/mm_vmscan_wakeup_kswapd",
    "compaction/mm_compaction_begin",
    "compaction/mm_compaction_end",
    "compaction/mm_compaction_try_to_compact_pages",
    "compaction/mm_compaction_kcompactd_wake",
    "compaction/mm_compaction_kcompactd_sleep",
    "compaction/mm_compaction_wakeup_kcompactd",
    "migrate/mm_migrate_pages_start",
    "migrate/mm_migrate_pages",
    "huge_memory/mm_collapse_huge_page",
    "oom/mark_victim",
    "oom/oom_score_adj_update",
    "oom/start_task_reaping",
    "oom/finish_task_reaping",
    "oom/wake_reaper",
    "oom/skip_task_reaping",
    "lowmemorykiller/lowmemory_kill",
};

constexpr Names kFault[] = {
    "exceptions/page_fault_user", "exceptions/page_fault_kernel",
    "filemap/mm_filemap_fault",  // the file and the page that had to be read
};

// One pair for all system calls; syscalls/* would be some 700 events.
constexpr Names kSyscalls[] = {"raw_syscalls/sys_enter", "raw_syscalls/sys_exit"};

constexpr Names kNet[] = {
    "net/net_dev_queue",
    "net/net_dev_xmit",
    "net/net_dev_xmit_timeout",
    "net/netif_receive_skb",
    "napi/napi_poll",
    "skb/kfree_skb",  // a drop, with its reason on new kernels; consume_skb is the good end
    "tcp/tcp_retransmit_skb",
    "tcp/tcp_retransmit_synack",
    "tcp/tcp_send_reset",
    "tcp/tcp_receive_reset",
    "sock/inet_sock_set_state",
    "sock/inet_sk_error_report",
    "sock/sock_exceed_buf_limit",
    "sock/sock_rcvqueue_full",
    "sunrpc/rpc_stats_latency",  // one a call: how long NFS took
    "sunrpc/xprt_disconnect_force",
};

constexpr Names kWorkqueue[] = {
    "workqueue/workqueue_queue_work",
    "workqueue/workqueue_activate_work",
    "workqueue/workqueue_execute_start",
    "workqueue/workqueue_execute_end",
};

constexpr Names kPower[] = {
    "power/suspend_resume",
    "power/device_pm_callback_start",
    "power/device_pm_callback_end",
    "power/wakeup_source_activate",
    "power/wakeup_source_deactivate",
    "power/pm_qos_*",
    "power/dev_pm_qos_*",
    "power/clock_*",
    "power/powernv_throttle",
    "power/gpu_frequency",
    "rpm/rpm_suspend",
    "rpm/rpm_resume",
    "rpm/rpm_idle",
    "rpm/rpm_return_int",
    "regulator/*",
    "thermal/*",
};

// The kernel has no tracepoints of its own for futexes: the system calls tell (they need
// CONFIG_FTRACE_SYSCALLS). lock/contention_* are the kernel's own locks, in the slow path alone.
constexpr Names kFutex[] = {
    "syscalls/sys_enter_futex",
    "syscalls/sys_exit_futex",
    "syscalls/sys_enter_futex_wait",
    "syscalls/sys_exit_futex_wait",
    "syscalls/sys_enter_futex_waitv",
    "syscalls/sys_exit_futex_waitv",
    "syscalls/sys_enter_futex_wake",
    "syscalls/sys_exit_futex_wake",
    "syscalls/sys_enter_futex_requeue",
    "syscalls/sys_exit_futex_requeue",
    "lock/contention_begin",
    "lock/contention_end",
};

constexpr Names kNode[] = {"sched", "freq", "disk", "irq", "marker", "stats"};

constexpr std::array kCategories = {
    Category{
        "sched", "who ran, who waited, who woke whom; kernel stacks of D-state waits", kSched, {}},
    Category{"freq", "CPU frequency, its limits, heat", kFreq, {}},
    Category{"idle", "idle states of the CPUs", kIdle, {}},
    Category{"disk", "block requests, fsync, throttled writers", kDisk, {}},
    Category{"irq", "interrupts and softirqs", kIrq, {}},
    Category{"mem", "reclaim, compaction, OOM, resident memory", kMem, {}},
    Category{"fault", "page faults", kFault, {}},
    Category{"syscalls", "all system calls (costly)", kSyscalls, {}},
    Category{"net", "packets, drops, retransmits, socket states, NFS calls", kNet, {}},
    Category{"workqueue", "work that kernel workers do for others", kWorkqueue, {}},
    Category{"power", "device power states, clocks, regulators, heat", kPower, {}},
    Category{"futex", "futex calls and contended kernel locks", kFutex, {}},
    Category{"marker", "what programs write to trace_marker", {}, {}},
    Category{"stats", "/proc and /sys counters, ten times a second", {}, {}},
    Category{"node", "the default", {}, kNode},
};

constexpr DurationNs kStatsPeriod = Milliseconds(100);

// Perfetto's atrace categories that are more than the category of ours with the same name.
constexpr Names kSync[] = {"dma_fence/*", "sync/*", "fence/*"};
constexpr Names kMemreclaim[] = {"vmscan/mm_vmscan_direct_reclaim_*",
                                 "vmscan/mm_vmscan_memcg_reclaim_*", "vmscan/mm_vmscan_kswapd_*",
                                 "lowmemorykiller/*"};
constexpr Names kMemory[] = {"kmem/rss_stat", "gpu_mem/gpu_mem_total", "dmabuf_heap/dma_heap_stat"};
constexpr Names kPagecache[] = {
    "filemap/mm_filemap_add_to_page_cache", "filemap/mm_filemap_delete_from_page_cache",
    "filemap/filemap_set_wb_err", "filemap/file_check_and_advance_wb_err"};
constexpr Names kThermal[] = {"thermal/thermal_temperature", "thermal/cdev_update"};
constexpr Names kMmc[] = {"mmc/*"};
constexpr Names kI2c[] = {"i2c/*", "smbus/*"};
constexpr Names kRegulators[] = {"regulator/*"};
constexpr Names kIrqoff[] = {"preemptirq/irq_disable", "preemptirq/irq_enable"};
constexpr Names kPreemptoff[] = {"preemptirq/preempt_disable", "preemptirq/preempt_enable"};
constexpr Names kBinderDriver[] = {"binder/binder_transaction*", "binder/binder_set_priority"};
constexpr Names kBinderLock[] = {"binder/binder_lock*", "binder/binder_unlock"};
constexpr Names kWorkq[] = {"workqueue/*"};

struct AtraceCategory {
  std::string_view name;
  std::span<const Names> events;  // none: the category exists on Android alone
};

constexpr AtraceCategory kAtraceCategories[] = {
    {"workq", kWorkq},
    {"sync", kSync},
    {"memreclaim", kMemreclaim},
    {"memory", kMemory},
    {"pagecache", kPagecache},
    {"thermal", kThermal},
    {"mmc", kMmc},
    {"i2c", kI2c},
    {"regulators", kRegulators},
    {"irqoff", kIrqoff},
    {"preemptoff", kPreemptoff},
    {"binder_driver", kBinderDriver},
    {"binder_lock", kBinderLock},
    {"adb", {}},
    {"aidl", {}},
    {"am", {}},
    {"app", {}},
    {"audio", {}},
    {"bionic", {}},
    {"camera", {}},
    {"core_services", {}},
    {"dalvik", {}},
    {"database", {}},
    {"gfx", {}},
    {"hal", {}},
    {"input", {}},
    {"ion", {}},
    {"load", {}},
    {"membus", {}},
    {"network", {}},
    {"nnapi", {}},
    {"pdx", {}},
    {"pm", {}},
    {"res", {}},
    {"rro", {}},
    {"rs", {}},
    {"sm", {}},
    {"ss", {}},
    {"vibrator", {}},
    {"video", {}},
    {"view", {}},
    {"webview", {}},
    {"wm", {}},
};

const AtraceCategory* FindAtraceCategory(std::string_view name) {
  const auto* found = std::ranges::find(kAtraceCategories, name, &AtraceCategory::name);
  return found == std::ranges::end(kAtraceCategories) ? nullptr : found;
}

void AddEvents(std::span<const Names> events, const std::string& origin, RecordConfig& config) {
  for (const Names& event : events) config.events.push_back({std::string(event), false, origin});
}

// '*' is any run of characters but '/'. Linear but for the last star, to which it goes back.
bool Matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = pattern.npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != pattern.npos && text[star_text] != '/') {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view BareName(std::string_view event) { return event.substr(event.rfind('/') + 1); }

bool IsFamily(std::string_view pattern) { return pattern.find('*') != pattern.npos; }

// Events near a name that no event has. A bare name is held against bare names, so that
// "sched_swich" finds "sched/sched_switch".
std::vector<std::string> NearEvents(std::string_view pattern,
                                    std::span<const std::string> kernel_events) {
  const bool bare = pattern.find('/') == pattern.npos;
  auto near = NearNames(pattern, kernel_events);
  if (near.empty() || bare) {
    std::vector<std::string> names;
    names.reserve(kernel_events.size());
    for (const std::string& event : kernel_events) names.emplace_back(BareName(event));
    const auto near_names = NearNames(BareName(pattern), names);
    near.clear();
    for (const std::string& name : near_names) {
      const auto event = std::ranges::find_if(
          kernel_events, [&name](const std::string& e) { return BareName(e) == name; });
      if (std::ranges::find(near, *event) == near.end()) near.push_back(*event);
    }
  }
  return near;
}

std::string DidYouMean(std::span<const std::string> near) {
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < near.size(); ++i) {
    if (i > 0) text += i + 1 == near.size() ? " or " : ", ";
    text += SafeForTerminal(near[i]);
  }
  return text + "?";
}

Error UnknownWord(const std::string& word, std::span<const std::string> kernel_events) {
  std::vector<std::string> names;
  names.reserve(kCategories.size());
  for (const Category& category : kCategories) names.emplace_back(category.name);
  auto near = NearNames(word, names);
  if (near.empty()) near = NearEvents(word, kernel_events);
  return {"no such category: '" + SafeForTerminal(word) + "'",
          near.empty() ? "culprit record --list shows them all" : DidYouMean(near)};
}

}  // namespace

std::span<const Category> Categories() { return kCategories; }

const Category* FindCategory(std::string_view name) {
  const auto found = std::ranges::find(kCategories, name, &Category::name);
  return found == kCategories.end() ? nullptr : &*found;
}

void AddCategory(const Category& category, RecordConfig& config) {
  for (const Names& member : category.members) AddCategory(*FindCategory(member), config);
  AddEvents(category.events, "category " + std::string(category.name), config);
  if (category.name == "sched") config.d_state_stacks = true;
  if (category.name == "marker") config.markers = true;
  if (category.name == "stats") {
    config.poll = {.stat = kStatsPeriod,
                   .meminfo = kStatsPeriod,
                   .vmstat = kStatsPeriod,
                   .psi = kStatsPeriod,
                   .diskstat = kStatsPeriod,
                   .netdev = kStatsPeriod,
                   .cpufreq = kStatsPeriod,
                   .cgroup = kStatsPeriod};
  }
}

void AddEvent(EventRequest request, RecordConfig& config) {
  if (request.pattern == "print" || request.pattern == "ftrace/print") {
    config.markers = true;
  } else {
    config.events.push_back(std::move(request));
  }
}

bool AddAtraceCategory(std::string_view name, const std::string& origin, RecordConfig& config) {
  if (const Category* ours = FindCategory(name); ours != nullptr) {
    AddCategory(*ours, config);
    return true;
  }
  const AtraceCategory* category = FindAtraceCategory(name);
  if (category == nullptr || category->events.empty()) return false;
  AddEvents(category->events, origin, config);
  return true;
}

Result<std::vector<std::string>> AddWords(std::span<const std::string> words,
                                          std::span<const std::string> kernel_events,
                                          RecordConfig& config) {
  std::vector<std::string> notes;
  if (words.empty()) AddCategory(*FindCategory(kDefaultCategory), config);
  for (const std::string& word : words) {
    const auto is_event = [&word](const std::string& event) { return MatchesEvent(word, event); };
    if (const Category* category = FindCategory(word); category != nullptr) {
      AddCategory(*category, config);
    } else if (word.find('/') != word.npos || word == "print" ||
               std::ranges::any_of(kernel_events, is_event)) {
      AddEvent({word, true, ""}, config);
    } else if (FindAtraceCategory(word) != nullptr) {
      if (!AddAtraceCategory(word, "category " + word, config)) {
        notes.push_back("category " + word +
                        " exists on Android alone: nothing is recorded for it");
      }
    } else {
      return UnknownWord(word, kernel_events);
    }
  }
  return notes;
}

bool MatchesEvent(std::string_view pattern, std::string_view event) {
  const bool bare = pattern.find('/') == pattern.npos;
  return Matches(pattern, bare ? BareName(event) : event);
}

std::string MissingEvent::ToString() const {
  if (!request.required) return "this kernel has none of the events of " + request.origin;
  std::string text;
  if (!request.origin.empty()) text = SafeForTerminal(request.origin) + ": ";
  text += "this kernel has no event '" + SafeForTerminal(request.pattern) + "'";
  return near.empty() ? text : text + "; " + DidYouMean(near);
}

ExpandedEvents ExpandEvents(std::span<const EventRequest> requests,
                            std::span<const std::string> kernel_events) {
  ExpandedEvents expanded;
  // An origin of optional events (a category) is worth a word when not one of them exists.
  struct Origin {
    const EventRequest* first;
    bool found;
  };
  std::vector<Origin> origins;
  for (const EventRequest& request : requests) {
    bool found = false;
    for (const std::string& event : kernel_events) {
      if (!MatchesEvent(request.pattern, event)) continue;
      expanded.events.push_back(event);
      found = true;
    }
    if (!request.required) {
      const auto known = std::ranges::find_if(origins, [&request](const Origin& origin) {
        return origin.first->origin == request.origin;
      });
      if (known == origins.end()) {
        origins.push_back({&request, found});
      } else {
        known->found |= found;
      }
    } else if (!found) {
      auto near = IsFamily(request.pattern) ? std::vector<std::string>{}
                                            : NearEvents(request.pattern, kernel_events);
      expanded.missing.push_back({request, std::move(near)});
    }
  }
  for (const Origin& origin : origins) {
    if (!origin.found) expanded.missing.push_back({*origin.first, {}});
  }
  std::ranges::sort(expanded.events);
  expanded.events.erase(std::unique(expanded.events.begin(), expanded.events.end()),
                        expanded.events.end());
  return expanded;
}

std::vector<CategoryOnKernel> ListCategories(std::span<const std::string> kernel_events) {
  std::vector<CategoryOnKernel> list;
  for (const Category& category : kCategories) {
    CategoryOnKernel entry{&category, {}, {}};
    for (const Names& pattern : category.events) {
      const auto before = entry.present.size();
      for (const std::string& event : kernel_events) {
        if (MatchesEvent(pattern, event)) entry.present.push_back(event);
      }
      if (entry.present.size() == before) entry.absent.emplace_back(pattern);
    }
    std::ranges::sort(entry.present);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace culprit::capture
