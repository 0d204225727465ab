// Apply and Rollback: write what an audit advises, and take it back exactly. Every write is in the
// journal first, read back after, and reported; neither asks nor prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "health/tune/audit.h"
#include "health/tune/journal.h"

namespace culprit::tune {

enum class StepOutcome : std::uint8_t {
  kDone,     // written and read back (or, in a dry run, would be)
  kNothing,  // was as wanted already
  kRefused,  // left alone, for the reason
  kFailed,   // the kernel or the file system refused, for the reason
};
std::string_view StepOutcomeName(StepOutcome outcome);

// What became of one file of a knob.
struct Step {
  std::string key;
  std::string path;
  std::string from;
  std::string to;
  StepOutcome outcome = StepOutcome::kDone;
  std::string reason;  // one line; for kDone a warning, or empty
};

struct ChangeReport {
  bool dry_run = false;
  std::vector<Step> steps;
  std::vector<std::string> files;  // drop-ins written or removed: "wrote /etc/sysctl.d/..."
  bool ok() const;                 // nothing refused or failed
};

struct ApplyOptions {
  bool dry_run = false;
};
// Applies the items (of kChange). An Error: nothing was changed.
Result<ChangeReport> Apply(const RootFiles& files, const std::vector<const AuditItem*>& items,
                           const ApplyOptions& options);

struct RollbackOptions {
  bool dry_run = false;
  bool force = false;                  // also what somebody changed since
  std::vector<std::string> keys = {};  // none: all of the journal
};
// An Error: nothing was changed (a key that the journal does not have, a damaged journal).
Result<ChangeReport> Rollback(const RootFiles& files, const RollbackOptions& options);

// The other key of a bytes/ratio pair, or empty: "vm.dirty_bytes" <-> "vm.dirty_ratio".
std::string_view PairedKey(std::string_view key);

}  // namespace culprit::tune
