// BundleWriter: gathers the events of one CPU, in the order in which they come, into one
// FtraceEventBundle and writes it as a framed packet. It decides nothing about where a bundle ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/encode_interner.h"
#include "capture/encode_plan.h"
#include "kernel/ring_page.h"
#include "tracefile/wire.h"

namespace culprit::capture {

// Task names of one bundle's compact events: 16 bytes -> index of the intern table.
class CommInterner {
 public:
  CommInterner() { Clear(); }
  std::uint32_t Intern(const std::byte* comm);
  // The names, in order of their index; the views hold until the next change.
  std::size_t size() const { return names_.size(); }
  std::string_view name(std::size_t index) const;
  void Clear();

 private:
  // The bytes as two words, zero behind the NUL.
  struct Name {
    std::uint64_t low = 0, high = 0;
    friend bool operator==(const Name&, const Name&) = default;
  };
  std::uint32_t Insert(const Name& name);

  std::vector<Name> names_;
  std::vector<std::uint32_t> slots_;  // open addressing; index + 1, zero for a free one
};

class BundleWriter {
 public:
  BundleWriter(const EncodePlan& plan, LazySymbols& symbols, std::uint32_t ftrace_clock)
      : plan_(plan), interner_(symbols), ftrace_clock_(ftrace_clock) {}

  // The CPU of the bundles to come. Between bundles only.
  void SetCpu(int cpu) { cpu_ = cpu; }

  // Takes a record of at least event.least_bytes. False when a part of it did not lie inside; the
  // rest is written.
  bool Add(const EventPlan& event, std::uint64_t time_ns, std::span<const std::byte> record);
  // A page or record that could not be read: FtraceParseStatus and the time before it.
  void AddError(std::uint64_t time_ns, std::uint32_t status);
  void SetLostEvents() { lost_events_ = true; }

  bool empty() const { return event_count_ == 0 && errors_.empty() && !lost_events_; }
  // About the bytes that the packet will have.
  std::size_t size_bytes() const { return events_.size() + compact_count_ * 14; }
  std::uint64_t first_ns() const { return first_ns_; }
  std::uint64_t last_ns() const { return last_ns_; }

  // Appends the framed packet to `out` and starts the next bundle.
  void Finish(std::string& out);

  std::uint64_t stacks() const { return stacks_; }  // of all bundles

 private:
  struct SwitchColumns {
    tracefile::WireBuffer timestamp, prev_state, next_pid, next_prio, next_comm;
  };
  struct WakingColumns {
    tracefile::WireBuffer timestamp, pid, target_cpu, prio, comm, common_flags;
  };

  void AddSwitch(const EventPlan& event, std::uint64_t time_ns, const std::byte* record);
  void AddWaking(const EventPlan& event, std::uint64_t time_ns, const std::byte* record);
  void AddMessage(std::uint64_t time_ns, std::span<const std::byte> record, std::uint32_t field_id,
                  std::string_view body);
  bool AddStack(const EventPlan& event, std::uint64_t time_ns, std::span<const std::byte> record);
  void WriteCompact(tracefile::WireBuffer& out);

  const EncodePlan& plan_;
  Interner interner_;
  CommInterner comms_;
  int cpu_ = 0;
  std::uint32_t ftrace_clock_;
  SwitchColumns switches_;
  WakingColumns wakings_;
  tracefile::WireBuffer events_, errors_;
  tracefile::WireBuffer body_, compact_, bundle_, packet_;  // scratch
  std::vector<std::uint64_t> addresses_;                    // scratch
  std::uint64_t last_switch_ns_ = 0, last_waking_ns_ = 0;
  std::uint64_t first_ns_ = 0, last_ns_ = 0;
  std::uint64_t event_count_ = 0, compact_count_ = 0;
  std::uint64_t stacks_ = 0;
  bool lost_events_ = false;
};

}  // namespace culprit::capture
