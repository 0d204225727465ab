// One line on a terminal that says how far long work is. Silent when stderr is no terminal.
#pragma once

#include <optional>
#include <string_view>

#include "base/units.h"

namespace culprit::query {

class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  bool visible() const { return enabled_; }
  // Draws once the work has taken half a second; percent may be unknown.
  void Show(std::string_view what, std::optional<double> percent, DurationNs elapsed);
  void Clear();

 private:
  bool enabled_;
  bool drawn_ = false;
};

}  // namespace culprit::query
