#include "analysis/attribution.h"

#include <algorithm>
#include <string_view>

#include "analysis/throttled_waits.h"

namespace culprit::analysis {
namespace {

bool IsNetwork(std::string_view softirq) { return softirq == "NET_RX" || softirq == "NET_TX"; }

// Who wakes another and is gone after so long ended, and was waited for until it did.
constexpr std::int64_t kLongestEndNs = 5'000'000;

bool IsTimer(std::string_view softirq) { return softirq == "TIMER" || softirq == "HRTIMER"; }

class Walk {
 public:
  Walk(const Timeline& timeline, Attribution& result)
      : timeline_(timeline), throttled_(timeline), result_(result) {}

  void Run(Utid utid) {
    result_.nodes.push_back({.thread = utid});
    for (const Interval& time : result_.times) {
      result_.nodes[0].waited.Add(time.length(), time.begin);
      pending_.push_back({0, time});
    }
    while (!pending_.empty()) {
      const Pending next = pending_.back();
      pending_.pop_back();
      Explain(next);
    }
  }

 private:
  // The time of a node that is still to be put down to something.
  struct Pending {
    std::uint32_t node;
    Interval time;
  };

  void Explain(const Pending& pending) {
    const Utid utid = result_.nodes[pending.node].thread;
    std::int64_t at = pending.time.begin;
    for (const State& state : timeline_.StatesIn(utid, pending.time)) {
      const Interval part = Intersect({state.ts, state.end}, pending.time);
      AddUnseen(pending.node, {at, part.begin});
      ExplainState(pending.node, state, part);
      at = part.end;
    }
    AddUnseen(pending.node, {at, pending.time.end});
  }

  void ExplainState(std::uint32_t node, const State& state, Interval part) {
    switch (state.activity) {
      case Activity::kRunning:
        return Add(node, {.kind = CauseKind::kRunning, .thread = state.utid}, part);
      case Activity::kPreempted:
      case Activity::kRunnable:
        return ExplainReady(node, state, part);
      case Activity::kSleeping:
      case Activity::kBlocked:
        return ExplainWait(node, state, part);
      case Activity::kStopped:
        return Add(node, {.kind = CauseKind::kStopped, .thread = state.utid}, part);
      case Activity::kDead:
        return Add(node, {.kind = CauseKind::kAbsent, .thread = state.utid}, part);
      case Activity::kUnknown:
        return Add(node, {.kind = CauseKind::kUnknown, .thread = state.utid}, part);
    }
  }

  // Between two rows, or before the first and after the last.
  void AddUnseen(std::uint32_t node, Interval part) {
    if (part.length() == 0) return;
    const Utid utid = result_.nodes[node].thread;
    const auto states = timeline_.StatesOf(utid);
    const bool is_outside =
        states.empty() || part.end <= states.front().ts || part.begin >= states.back().end;
    Add(node, {.kind = is_outside ? CauseKind::kAbsent : CauseKind::kUnknown, .thread = utid},
        part);
  }

  // --- ready, not running: all that ran on the CPU in whose queue it stood ---

  void ExplainReady(std::uint32_t node, const State& state, Interval part) {
    if (throttled_.Contains(state)) {
      return Add(node, {.kind = CauseKind::kThrottled, .thread = state.utid}, part);
    }
    std::map<Cause, std::int64_t> sums;
    std::int16_t cpu = QueueAtStart(state);
    std::int64_t at = part.begin;
    for (const Migration& move : timeline_.MigrationsOf(state.utid, {state.ts, part.end})) {
      if (move.ts > at) {
        AddQueue(state.utid, cpu, {at, move.ts}, sums);
        at = move.ts;
      }
      cpu = move.to;
    }
    AddQueue(state.utid, cpu, {at, part.end}, sums);
    for (const auto& [cause, ns] : sums) result_.nodes[node].causes[cause].Add(ns, part.begin);
  }

  std::int16_t QueueAtStart(const State& state) const {
    const auto moves = timeline_.MigrationsOf(state.utid, {state.ts, state.end});
    if (!moves.empty()) return moves.front().from;
    if (state.cpu >= 0) return state.cpu;
    // A preempted thread stays in the queue of the CPU that it was taken from.
    const auto states = timeline_.StatesOf(state.utid);
    if (&state != states.data() && (&state - 1)->activity == Activity::kRunning) {
      return (&state - 1)->cpu;
    }
    const State* next = timeline_.Next(state);
    return next != nullptr && next->activity == Activity::kRunning ? next->cpu : -1;
  }

  void AddQueue(Utid utid, std::int16_t cpu, Interval part, std::map<Cause, std::int64_t>& sums) {
    if (part.length() == 0) return;
    std::int64_t at = part.begin;
    const auto add = [&](const Cause& cause, std::int64_t ns) {
      if (ns > 0) sums[cause] += ns;
    };
    const Cause unseen{.kind = CauseKind::kCpuUnseen, .thread = utid};
    if (cpu >= 0) {
      for (const CpuRun& run : timeline_.RunsIn(static_cast<std::size_t>(cpu), part)) {
        const Interval shared = Intersect({run.ts, run.end}, part);
        add(unseen, shared.begin - at);
        at = shared.end;
        std::int64_t in_irq = 0;
        for (const IrqRun& irq : timeline_.IrqsIn(static_cast<std::size_t>(cpu), shared)) {
          const std::int64_t ns = Intersect({irq.ts, irq.end}, shared).length();
          add({.kind = CauseKind::kCpuIrq, .thread = utid, .detail = irq.name}, ns);
          in_irq += ns;
        }
        const std::int64_t rest = shared.length() - in_irq;
        if (run.utid == kIdleThread) {
          add({.kind = CauseKind::kCpuIdle, .thread = utid}, rest);
        } else if (run.utid == utid) {  // seen on two CPUs at once: events are missing
          add(unseen, rest);
        } else {
          add({.kind = CauseKind::kCpuTaken, .thread = utid, .other = run.utid}, rest);
        }
      }
    }
    add(unseen, part.end - at);
  }

  // --- asleep, or in D: its waker explains it ---

  void ExplainWait(std::uint32_t node, const State& state, Interval part) {
    const State* ready = timeline_.Next(state);
    if (ready == nullptr || state.is_open) {
      const bool is_cut = state.end >= timeline_.window().end || state.is_open;
      return Add(node,
                 {.kind = is_cut ? CauseKind::kNotWoken : CauseKind::kUnknown,
                  .thread = state.utid,
                  .detail = ClassOf(state)},
                 part);
    }
    const bool is_by_thread = ready->waker != kNone && ready->waker != kIdleThread &&
                              !ready->woken_in_irq && ready->waker != state.utid;
    if (!is_by_thread) return AddWithoutThread(node, state, *ready, part);
    const std::uint32_t child = ChildFor(node, ready->waker, state, ready->ts);
    if (child == kNone) {
      return Add(node, {.kind = CauseKind::kUnknown, .thread = state.utid}, part);
    }
    result_.nodes[child].waited.Add(part.length(), part.begin);
    pending_.push_back({child, part});
  }

  static std::uint32_t ClassOf(const State& state) {
    return state.wait_class != 0 ? state.wait_class : state.blocked_in;
  }

  void AddWithoutThread(std::uint32_t node, const State& state, const State& ready, Interval part) {
    const DiskRequest* request = nullptr;
    const Cause cause = WithoutThread(state, ready, request);
    Add(node, cause, part);
    if (cause.kind != CauseKind::kDisk || part.length() == 0) return;
    result_.disk_waits.push_back(
        {.time = part,
         .thread = state.utid,
         .request = static_cast<std::uint32_t>(request - timeline_.disk_requests().data())});
  }

  // What ended a wait that no thread ended; of a wait for a disk also the request.
  Cause WithoutThread(const State& state, const State& ready, const DiskRequest*& request) const {
    Cause cause{.kind = CauseKind::kUnknown, .thread = state.utid};
    if (ready.waker == kNone) {  // no waking was recorded
      if (state.activity == Activity::kBlocked) {
        cause.kind = CauseKind::kBlocked;
        cause.detail = ClassOf(state);
      }
      return cause;
    }
    const IrqRun* irq = IrqThatWoke(ready);
    const std::string_view name = irq == nullptr ? "" : timeline_.Text(irq->name);
    const bool is_soft = irq != nullptr && irq->is_soft;
    // The timer's own interrupt is no irq_handler event; every other one is.
    const bool is_timer = irq == nullptr ? timeline_.has_irqs() : is_soft && IsTimer(name);
    const bool is_network = is_soft && IsNetwork(name);
    if (!is_timer && !is_network) {
      request = timeline_.CompletedJustBefore(ready.ts);
      if (request != nullptr) {
        cause.kind = CauseKind::kDisk;
        cause.detail = request->device;
        return cause;
      }
    }
    if (state.activity == Activity::kBlocked) {
      cause.kind = CauseKind::kBlocked;
      cause.detail = ClassOf(state);
      return cause;
    }
    if (is_timer) {
      cause.kind = CauseKind::kTimer;
    } else if (is_network) {
      cause.kind = CauseKind::kNetwork;
    } else {
      cause.kind = CauseKind::kInterrupt;
      if (irq != nullptr) cause.detail = irq->name;
    }
    return cause;
  }

  // The interrupt in which the wakeup came: on the CPU where its waker ran at that time.
  const IrqRun* IrqThatWoke(const State& ready) const {
    for (std::size_t cpu = 0; cpu < timeline_.cpu_count(); ++cpu) {
      if (timeline_.RunningAt(cpu, ready.ts) != ready.waker) continue;
      if (const IrqRun* irq = timeline_.IrqAt(cpu, ready.ts)) return irq;
    }
    return nullptr;
  }

  bool EndsSoonAfter(Utid waker, std::int64_t ts) const {
    const auto states = timeline_.StatesOf(waker);
    if (states.empty() || states.back().activity != Activity::kDead) return false;
    return states.back().ts >= ts && states.back().ts - ts < kLongestEndNs;
  }

  // The node of `waker` under `node`; kNone: too deep, or a circle that lost events drew.
  std::uint32_t ChildFor(std::uint32_t node, Utid waker, const State& wait, std::int64_t woken_at) {
    const bool is_blocked = wait.activity == Activity::kBlocked;
    const std::uint32_t wait_class = is_blocked ? ClassOf(wait) : 0;
    const bool is_end = EndsSoonAfter(waker, woken_at);
    const auto key = std::tuple(node, waker, is_blocked, is_end, wait_class);
    if (const auto found = children_.find(key); found != children_.end()) return found->second;
    const std::uint32_t depth = result_.nodes[node].depth + 1;
    if (depth > kMaxDepth) return kNone;
    const auto index = static_cast<std::uint32_t>(result_.nodes.size());
    result_.nodes.push_back({.parent = node,
                             .thread = waker,
                             .depth = depth,
                             .is_blocked_wait = is_blocked,
                             .is_end = is_end,
                             .wait_class = wait_class});
    children_.emplace(key, index);
    return index;
  }

  void Add(std::uint32_t node, const Cause& cause, Interval part) {
    if (part.length() > 0) result_.nodes[node].causes[cause].Add(part.length(), part.begin);
  }

  const Timeline& timeline_;
  ThrottledWaits throttled_;
  Attribution& result_;
  std::vector<Pending> pending_;
  std::map<std::tuple<std::uint32_t, Utid, bool, bool, std::uint32_t>, std::uint32_t> children_;
};

}  // namespace

std::int64_t Attribution::Total() const {
  std::int64_t total = 0;
  for (const ChainNode& node : nodes) {
    for (const auto& [cause, amount] : node.causes) total += amount.ns;
  }
  return total;
}

std::map<Cause, Amount> Attribution::ByCause() const {
  std::map<Cause, Amount> sums;
  for (const ChainNode& node : nodes) {
    for (const auto& [cause, amount] : node.causes) sums[cause].Add(amount);
  }
  return sums;
}

Attribution Attribute(const Timeline& timeline, Utid utid, std::span<const Interval> times) {
  Attribution result;
  for (const Interval& time : times) {
    const Interval part = Intersect(time, timeline.window());
    if (part.length() > 0) result.times.push_back(part);
  }
  Walk(timeline, result).Run(utid);
  return result;
}

}  // namespace culprit::analysis
