#include "capture/own_threads/told_states.h"

#include <algorithm>
#include <map>

namespace culprit::capture {
namespace {

constexpr std::string_view kRunning = "Running";
constexpr std::string_view kReady = "R";
constexpr std::string_view kPreempted = "R+";
constexpr std::string_view kSleeping = "S";

// A letter of /proc as a text that lives on.
std::string_view StateText(char letter) {
  constexpr std::string_view kLetters = "SDTtXZPI";
  const auto at = kLetters.find(letter);
  return at == kLetters.npos ? "" : kLetters.substr(at, 1);
}

bool IsOffCpu(char letter) { return !StateText(letter).empty(); }

struct Gap {
  std::int64_t begin, end;
  std::string_view all_ready;  // "R+", "R": it had work from end to end; "": it slept
  bool ends_on_cpu;            // with a switch in; else the recording ended
  std::int64_t ready_ns = 0;
  std::size_t running_row;  // index of the Running row before it, kNoRow: none
};
constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

// One thread of a recording with switches.
class Thread {
 public:
  Thread(std::int64_t begin, std::int64_t end, std::int32_t tid, ToldStates& told)
      : begin_(begin), end_(end), tid_(tid), told_(told) {}

  void Build(const std::vector<const SwitchRecord*>& records,
             const std::vector<const ThreadSample*>& samples) {
    samples_ = &samples;
    FindGaps(records);
    ShareRunDelay();
    for (const Gap& gap : gaps_) WriteGap(gap);
  }

 private:
  std::size_t Put(std::int64_t ts, std::int64_t end, std::string_view state, std::int32_t cpu,
                  std::uint32_t wchan, bool is_open = false) {
    if (end <= ts && !is_open) return kNoRow;
    told_.states.push_back({.ts = ts,
                            .dur = is_open ? -1 : end - ts,
                            .tid = tid_,
                            .cpu = cpu,
                            .state = state,
                            .end_state = "",
                            .wchan = wchan});
    return told_.states.size() - 1;
  }
  void EndRunning(std::size_t row, std::string_view state) {
    if (row != kNoRow) told_.states[row].end_state = state;
  }

  void FindGaps(const std::vector<const SwitchRecord*>& records) {
    // Alive at the beginning: a sample was taken right then, before any record.
    const bool was_there =
        !samples_->empty() && (records.empty() || samples_->front()->ts <= records.front()->ts);
    enum { kNotKnown, kOnCpu, kOffCpu } where = kNotKnown;
    std::int64_t since = begin_;
    bool is_since_known = was_there;
    std::string_view all_ready;
    std::int32_t cpu = -1;
    std::size_t running = kNoRow;
    for (const SwitchRecord* record : records) {
      const std::int64_t ts = record->ts;
      if (record->kind == SwitchKind::kBorn || record->kind == SwitchKind::kExit) {
        // Whoever has had this tid before is over.
        if (record->kind == SwitchKind::kExit && where == kOnCpu) {
          EndRunning(Put(since, ts, kRunning, cpu, 0), "X");
        }
        where = record->kind == SwitchKind::kBorn ? kOffCpu : kNotKnown;
        all_ready = kReady;
        is_since_known = record->kind == SwitchKind::kBorn;
        since = ts;
        running = kNoRow;
        continue;
      }
      const bool is_in = record->kind == SwitchKind::kIn;
      // A thread that is watched twice has each record twice, a moment apart.
      constexpr std::int64_t kTwinNs = 20'000;
      if (where != kNotKnown && is_in == (where == kOnCpu) && record->cpu == cpu &&
          ts - since < kTwinNs) {
        continue;
      }
      if (where == kNotKnown) {
        // What it did before its first record follows from that one.
        running = kNoRow;
        if (is_since_known && is_in) {
          gaps_.push_back({since, ts, "", true, 0, kNoRow});
        } else if (is_since_known) {
          running = Put(since, ts, kRunning, record->cpu, 0);
        }
      } else if (is_in == (where == kOnCpu)) {
        ++told_.unknown;
        Put(since, ts, "", -1, 0);
        running = kNoRow;
      } else if (is_in) {
        gaps_.push_back({since, ts, all_ready, true, 0, running});
      } else {
        running = Put(since, ts, kRunning, record->cpu, 0);
      }
      where = is_in ? kOnCpu : kOffCpu;
      all_ready = record->kind == SwitchKind::kOutPreempted ? kPreempted : "";
      is_since_known = true;
      since = ts;
      cpu = record->cpu;
    }
    if (!is_since_known) return;
    if (where == kOnCpu) {
      Put(since, end_, kRunning, cpu, 0, true);
    } else {
      gaps_.push_back({since, end_, all_ready, false, 0, running});
    }
  }

  // The kernel adds a wait for the CPU up when it ends. Between two looks at schedstat so many ns
  // were added for the gaps that ended there.
  void ShareRunDelay() {
    std::size_t sample = 0;
    for (std::size_t i = 0; i < gaps_.size();) {
      const std::int64_t at = gaps_[i].end;
      while (sample < samples_->size() && (*samples_)[sample]->ts < at) ++sample;
      std::size_t stop = i;
      if (sample == 0 || sample == samples_->size()) {
        // No look before, or none behind.
        while (stop < gaps_.size() && (sample != 0 || gaps_[stop].end <= FirstLook())) ++stop;
        stop = std::max(stop, i + 1);
        for (; i < stop; ++i) {
          if (gaps_[i].all_ready.empty() && gaps_[i].ends_on_cpu) ++told_.waits_unsplit;
        }
        continue;
      }
      const ThreadSample& before = *(*samples_)[sample - 1];
      const ThreadSample& behind = *(*samples_)[sample];
      while (stop < gaps_.size() && gaps_[stop].end <= behind.ts) ++stop;
      Share(i, stop,
            behind.wait_ns > before.wait_ns
                ? static_cast<std::int64_t>(behind.wait_ns - before.wait_ns)
                : 0);
      i = stop;
    }
  }
  std::int64_t FirstLook() const { return samples_->empty() ? end_ : samples_->front()->ts; }

  void Share(std::size_t first, std::size_t stop, std::int64_t delay) {
    std::vector<Gap*> open;
    for (std::size_t i = first; i < stop; ++i) {
      if (!gaps_[i].all_ready.empty()) {
        delay -= gaps_[i].end - gaps_[i].begin;
      } else if (gaps_[i].ends_on_cpu) {
        open.push_back(&gaps_[i]);
      }
    }
    if (open.size() > 1) told_.waits_shared += open.size();
    // Evenly, but none gets more than it is long: the shortest first.
    std::ranges::sort(open, {}, [](const Gap* gap) { return gap->end - gap->begin; });
    delay = std::max<std::int64_t>(delay, 0);
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto left = static_cast<std::int64_t>(open.size() - i);
      open[i]->ready_ns = std::min(delay / left, open[i]->end - open[i]->begin);
      delay -= open[i]->ready_ns;
    }
  }

  void WriteGap(const Gap& gap) {
    const bool is_open = !gap.ends_on_cpu;
    if (!gap.all_ready.empty()) {
      EndRunning(gap.running_row, gap.all_ready);
      Put(gap.begin, gap.end, gap.all_ready, -1, 0, is_open);
      return;
    }
    ++told_.waits;
    std::string_view state;
    std::uint32_t wchan = 0;
    const auto first = std::ranges::lower_bound(*samples_, gap.begin, {},
                                                [](const ThreadSample* s) { return s->ts; });
    for (auto it = first; it != samples_->end() && (*it)->ts < gap.end; ++it) {
      if (!IsOffCpu((*it)->state)) continue;
      state = StateText((*it)->state);
      wchan = (*it)->wchan;
      break;
    }
    const std::int64_t ready_at = gap.end - gap.ready_ns;
    if (state.empty()) {
      state = kSleeping;
      ++told_.waits_without_kind;
      told_.without_kind_ns += ready_at - gap.begin;
    }
    EndRunning(gap.running_row, state);
    Put(gap.begin, ready_at, state, -1, wchan, is_open);
    if (!is_open) Put(ready_at, gap.end, kReady, -1, 0);
  }

  std::int64_t begin_, end_;
  std::int32_t tid_;
  ToldStates& told_;
  const std::vector<const ThreadSample*>* samples_ = nullptr;
  std::vector<Gap> gaps_;
};

void Sort(ToldStates& told) {
  std::ranges::stable_sort(told.states, [](const ToldState& a, const ToldState& b) {
    return a.ts != b.ts ? a.ts < b.ts : a.tid < b.tid;
  });
}

}  // namespace

ToldStates StatesOfSwitches(std::int64_t begin, std::int64_t end,
                            const std::vector<SwitchRecord>& switches,
                            const std::vector<ThreadSample>& samples) {
  struct OfThread {
    std::vector<const SwitchRecord*> records;
    std::vector<const ThreadSample*> samples;
  };
  std::map<std::int32_t, OfThread> threads;
  for (const SwitchRecord& record : switches) threads[record.tid].records.push_back(&record);
  for (const ThreadSample& sample : samples) threads[sample.tid].samples.push_back(&sample);
  ToldStates told;
  for (const auto& [tid, thread] : threads) {
    Thread(begin, end, tid, told).Build(thread.records, thread.samples);
  }
  Sort(told);
  return told;
}

ToldStates StatesOfSamples(std::int64_t begin, std::int64_t end,
                           const std::vector<ThreadSample>& samples) {
  ToldStates told;
  std::map<std::int32_t, std::vector<const ThreadSample*>> threads;
  for (const ThreadSample& sample : samples) threads[sample.tid].push_back(&sample);
  for (const auto& [tid, looks] : threads) {
    std::size_t last = kNoRow;
    std::int64_t at = std::max(begin, looks.front()->ts);
    const auto put = [&, tid = tid](std::int64_t dur, std::string_view state, std::int32_t cpu,
                                    std::uint32_t wchan) {
      if (dur <= 0) return;
      ToldState* before = last == kNoRow ? nullptr : &told.states[last];
      if (before != nullptr && before->state == state && before->cpu == cpu &&
          before->wchan == wchan) {
        before->dur += dur;
      } else {
        told.states.push_back({at, dur, tid, cpu, state, "", wchan});
        last = told.states.size() - 1;
      }
      at += dur;
    };
    for (std::size_t i = 1; i < looks.size(); ++i) {
      const ThreadSample& from = *looks[i - 1];
      const ThreadSample& to = *looks[i];
      const std::int64_t window = to.ts - at;
      if (window <= 0) continue;
      const auto since = [](std::uint64_t a, std::uint64_t b) {
        return a > b ? static_cast<std::int64_t>(a - b) : 0;
      };
      const std::int64_t run = std::min(since(to.run_ns, from.run_ns), window);
      const std::int64_t wait = std::min(since(to.wait_ns, from.wait_ns), window - run);
      const std::int64_t rest = window - run - wait;
      const ThreadSample& sleeper = IsOffCpu(from.state) ? from : to;
      const std::string_view state = StateText(sleeper.state);
      const std::string_view blocked = state.empty() ? kSleeping : state;
      if (rest > 0) {
        ++told.waits;
        if (state.empty()) {
          ++told.waits_without_kind;
          told.without_kind_ns += rest;
        }
      }
      if (IsOffCpu(from.state)) {
        put(rest, blocked, -1, sleeper.wchan);
        put(wait, kReady, -1, 0);
        put(run, kRunning, to.cpu, 0);
      } else {
        put(run, kRunning, to.cpu, 0);
        put(wait, kReady, -1, 0);
        put(rest, blocked, -1, sleeper.wchan);
      }
    }
    // It stayed so until the end; one that ended has a last look of its own ('X').
    const ThreadSample& look = *looks.back();
    if (look.state == 'X' || look.state == 'Z') continue;
    if (IsOffCpu(look.state)) put(end - at, StateText(look.state), -1, look.wchan);
    if (last != kNoRow && told.states[last].ts + told.states[last].dur >= end) {
      told.states[last].dur = -1;
    }
  }
  Sort(told);
  return told;
}

}  // namespace culprit::capture
