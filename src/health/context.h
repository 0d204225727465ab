// Context: what a check may look at: two moments of a node and the facts that do not change.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "health/moment.h"

namespace culprit::health {

// Hardware and link states of a good day, saved by --save-baseline: key -> value.
using Baseline = std::map<std::string, std::string>;

struct NodeFacts {
  std::string host;
  std::string boot_id;
  bool live = true;            // not a captured tree
  bool is_root = true;         // effective uid 0
  std::string container;       // why we think we are inside one; "" outside
  std::string started_cgroup;  // of culprit itself
};

struct Context {
  const NodeFacts& node;
  const Moment& before;
  const Moment& after;   // the same object as `before` when there is one sample only
  bool two = true;       // two samples: differences have a meaning
  double seconds = 0;    // between them
  std::size_t cpus = 1;  // online
  const std::vector<StuckProbe>& stuck;
  const Baseline* baseline = nullptr;
  // key -> since when something holds, over the rounds of --watch; see HeldFor.
  std::map<std::string, TimeNs>* held_since = nullptr;

  // For how long `key` holds, in seconds: at least the sample when it holds now; 0 when it does
  // not.
  double HeldFor(const std::string& key, bool holds) const;

  // Says why there is no difference and returns false; for checks that live on one.
  bool NeedTwo(Readings& out) const {
    if (two && seconds > 0) return true;
    out.Unknown(two ? "the time between the two samples is not known"
                    : "needs two samples (give a second tree with --root-next)");
    return false;
  }
  // Says why `path` was not read and returns false. `absent` replaces "no such file".
  bool NeedFile(Readings& out, std::string_view path, std::string_view absent = "") const;
};

// after - before; nothing when a side is absent or the counter fell (it was reset or wrapped).
inline std::optional<double> Delta(std::optional<std::uint64_t> before,
                                   std::optional<std::uint64_t> after) {
  if (!before || !after || *after < *before) return std::nullopt;
  return static_cast<double>(*after - *before);
}

std::optional<double> VmstatDelta(const Context& context, std::string_view name);
std::optional<std::uint64_t> MeminfoBytes(const Context& context, std::string_view name);

}  // namespace culprit::health
