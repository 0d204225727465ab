// What a scenario did, as it measured it itself: the known truth that `culprit explain` and
// `culprit check` are graded by. docs/lab.md documents the JSON. No judgement is made here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "lab/board.h"

namespace culprit::lab {

struct Party {
  pid_t pid = 0;
  std::vector<pid_t> tids;
  std::string name;
};

struct TrueCulprit {
  std::string kind = "none";   // kCulpritKinds of docs/lab.md: "preempted-by", "lock-holder", ...
  std::vector<Party> parties;  // who; the first is the one to name
  std::string device;          // "vda" or "254:0", of kind disk
  std::string cgroup;          // path below its hierarchy's root, of kinds throttle, reclaim, swap
  double share = 0;            // 0 .. 1: lost_ns over the victims' window
  std::int64_t lost_ns = 0;    // what the victims lost to it, summed over the victims
  std::string share_of;        // the definition in words
  std::string measured_by;     // clocks and files
};

// Scenarios for `culprit check`: which check has to fire.
struct ExpectedCheck {
  std::string id;
  std::string subject;
};

struct Truth {
  std::string scenario;
  std::string fault;  // empty where the scenario has none
  std::int64_t scale = 0;
  DurationNs duration;
  std::uint64_t seed = 0;
  TimeNs begin, end;  // BOOTTIME
  bool interrupted = false;
  std::vector<Slot> victims;
  TrueCulprit culprit;
  std::optional<ExpectedCheck> check;
  std::vector<std::pair<std::string, double>> figures;  // more that was measured: "batches"
  std::vector<std::string> notes;
};

// "lock", "queue-full", ...
const char* WaitName(Wait wait);
std::string ToJson(const Truth& truth);
// One sentence for a person.
std::string ToSentence(const Truth& truth);

}  // namespace culprit::lab
