// Names of training and serving programs and of their threads: who is looked at when nobody says
// whom to look at. Adding one is a line in victim_names_table.cc.
#pragma once

#include <span>
#include <string_view>

#include "analysis/explanation.h"

namespace culprit::analysis {

struct VictimName {
  std::string_view glob;  // of the thread's comm or the process's name (its last path component)
  VictimRole role;        // kMain: what it does is what the node is for; others feed it
  std::string_view what;
};

std::span<const VictimName> VictimNames();

// The first row that fits; nullptr: none.
const VictimName* FindVictimName(std::string_view name);

// '*' any run of characters, '?' one, [abc] and [a-z] one of these; case counts.
bool GlobMatches(std::string_view glob, std::string_view text);

}  // namespace culprit::analysis
