// Diff: two profiles laid into one, so that one call tree shows what weighs more after than before.
#pragma once

#include <string>
#include <vector>

#include "profile/call_tree.h"

namespace culprit::profile {

enum class Normalize {
  kTotal,    // the share of each stack: the second is scaled to the first's total
  kSamples,  // by the number of samples
  kTime,     // weight a second of the recording
  kWork,     // weight a unit of work, of which the caller knows how many there were
  kNone,
};

struct Diff {
  Profile profile;
  CallTree tree;  // weights are the mean of both sides: what is in one only has a width, too
  struct Side {
    std::int64_t before = 0;
    std::int64_t after = 0;
  };
  std::vector<Side> nodes;  // totals, beside tree.nodes
  std::vector<Side> self;   // own weights, beside tree.nodes
  double scale = 1;         // what the second's weights were multiplied by
  std::int64_t before_total = 0;
  std::int64_t after_total = 0;  // scaled
};

// Each side under its own selection's metric; grouping comes from `selection`, whose pids, tids and
// times are those of each side. `work_ratio`: work done before by work done after. The two profiles
// are used up.
Result<Diff> MakeDiff(Profile before, Profile after, const Selection& selection,
                      Normalize normalize, double work_ratio = 1);

struct FunctionChange {
  FrameId frame = 0;
  Diff::Side self;
  Diff::Side total;
};
// The largest changes of own weight first.
std::vector<FunctionChange> ChangedFunctions(const Diff& diff);

}  // namespace culprit::profile
