#include "tables/enums.h"

namespace culprit::tables {

std::string SchedStateText(SchedState state) {
  if (state == kStateRunning) return "Running";
  std::string text;
  for (std::size_t bit = 0; bit < kSchedStateLetters.size(); ++bit) {
    if (state >> bit & 1) text += kSchedStateLetters[bit];
  }
  if (text.empty()) text = "R";
  if (state & kStatePreempted) text += '+';
  return text;
}

}  // namespace culprit::tables
