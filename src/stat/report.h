// What culprit stat found, and it as text, JSON (docs/stat.schema.json) and CSV. Counts and judges
// nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stat/interpretation.h"
#include "stat/meter.h"
#include "stat/metrics.h"

namespace culprit::stat {

struct Report {
  std::string target;  // "the machine (64 CPUs)", "process 123 (python3)", "make -j8"
  std::vector<EventStatus> events;
  std::vector<Sample> intervals;  // each the difference to the one before
  Sample total;
  Metrics metrics;  // of the total
  std::vector<Verdict> verdicts;
  std::vector<std::string> notes;
  std::optional<int> exit_status;  // of a command
};

std::string FormatText(const Report& report);
// One interval, as it comes: lines that begin with the seconds since counting began.
std::string FormatIntervalText(const std::vector<EventStatus>& events, const Sample& sample);

std::string FormatJson(const Report& report);

// A line an event and row; the head is a line of its own.
std::string CsvHead();
std::string FormatCsv(const std::vector<EventStatus>& events, const Sample& sample);

// The table of thresholds as text.
std::string ThresholdText();

}  // namespace culprit::stat
