#include "tables/enums.h"

namespace culprit::tables {

std::string SchedStateText(SchedState state) {
  if (state == kStateRunning) return "Running";
  if (state == kStatePreempted) return "R+";
  std::string text;
  for (std::size_t bit = 0; bit < kSchedStateLetters.size(); ++bit) {
    if (state >> bit & 1) text += kSchedStateLetters[bit];
  }
  return text.empty() ? "R" : text;
}

}  // namespace culprit::tables
