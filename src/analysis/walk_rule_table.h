// The rules over what the walk through the wakers sums up: which share of a victim's time makes a
// finding, and why that much. Rules over counters and events are SQL files (rules/).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace culprit::analysis {

struct WalkRule {
  std::string_view id;
  std::string_view kind;
  // Of a victim's time in the window. Above kNever there is no such level.
  double warn_share;
  double critical_share;
  std::int64_t least_ns;  // shorter sums are no more than info, whatever their share
  std::string_view meaning;
  std::string_view why;     // why these thresholds
  std::string_view remedy;  // a sentence
  std::string_view needs;   // events of the recording
};
inline constexpr double kNever = 2;
// Of the window; what is smaller is not reported at all.
inline constexpr double kLeastShare = 0.01;

namespace rule {
inline constexpr std::string_view kNeighbour = "cpu.neighbour";
inline constexpr std::string_view kInversion = "cpu.priority_inversion";
inline constexpr std::string_view kKernelThread = "cpu.kernel";
inline constexpr std::string_view kOversubscribed = "cpu.oversubscribed";
inline constexpr std::string_view kIrq = "cpu.irq";
inline constexpr std::string_view kThrottled = "cpu.throttled";
inline constexpr std::string_view kIdle = "cpu.idle";
inline constexpr std::string_view kHolder = "lock.holder";
inline constexpr std::string_view kConvoy = "lock.convoy";
inline constexpr std::string_view kBusy = "producer.busy";
inline constexpr std::string_view kSleeps = "producer.sleeps";
inline constexpr std::string_view kChild = "child.wait";
inline constexpr std::string_view kDisk = "disk.wait";
inline constexpr std::string_view kBlocked = "dstate.wait";
inline constexpr std::string_view kStopped = "stopped.signal";
inline constexpr std::string_view kNetwork = "network.wait";
inline constexpr std::string_view kInterrupt = "interrupt.wait";
inline constexpr std::string_view kConsumer = "consumer.busy";
}  // namespace rule

std::span<const WalkRule> WalkRules();
const WalkRule& FindWalkRule(std::string_view id);  // one of the above

}  // namespace culprit::analysis
