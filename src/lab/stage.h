// What a scenario's script works with: its options, its crew, and what must be cleaned up after it.
// The helpers at the end fill the truth in the one way that all scenarios share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/caretaker.h"
#include "lab/crew.h"
#include "lab/scenario.h"
#include "lab/truth.h"

namespace culprit::lab {

class Stage {
 public:
  Stage(const Options& options, Caretaker& caretaker, Crew& crew)
      : options_(options), caretaker_(caretaker), crew_(crew), cpus_(AllowedCpus()) {}

  const Options& options() const { return options_; }
  std::int64_t scale() const { return options_.scale; }
  const std::string& fault() const { return options_.fault; }
  Crew& crew() { return crew_; }
  Board& board() { return crew_.board(); }
  Caretaker& caretaker() { return caretaker_; }

  // The CPU that pinned scenarios fight for: the first one allowed; and another one, where there
  // is.
  int cpu() const { return cpus_.front(); }
  int other_cpu() const { return cpus_.back(); }
  const std::vector<int>& cpus() const { return cpus_; }

  // The private folder, made at the first call, with room for `bytes` and a tenth of the disk to
  // spare; an Error on a file system without a disk when `on_disk`.
  Result<std::string> Folder(std::uint64_t bytes, bool on_disk);

  // Runs the crew and notes the window.
  Status Run(Truth& truth);

 private:
  const Options& options_;
  Caretaker& caretaker_;
  Crew& crew_;
  std::vector<int> cpus_;
  std::string folder_;
};

// Adds those slots as the truth's victims.
void AddVictims(Truth& truth, const std::vector<const Slot*>& slots);
// The slots' processes (one Party each), in the order of the board.
std::vector<Party> PartiesOf(const std::vector<const Slot*>& slots);
// Sets culprit.lost_ns and share = lost_ns over the summed windows of the victims.
void SetShare(Truth& truth, std::int64_t lost_ns);
// "vda": the whole disk below a folder; "major:minor" where /sys does not say.
std::string DiskOf(const std::string& folder);

}  // namespace culprit::lab
