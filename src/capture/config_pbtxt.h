// Reads Perfetto's TraceConfig in its text form into a RecordConfig. What it does not follow is
// returned as warnings with their place; nothing is passed over in silence, nothing is printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/record_config.h"

namespace culprit::capture {

struct ConfigMessage {
  int line = 0;    // from 1; 0 when it is about the whole text
  int column = 0;  // from 1, a tab counts as one
  std::string message;

  // "name:line:column: message", safe for a terminal.
  std::string ToString(std::string_view name) const;
};

struct ParsedConfig {
  RecordConfig config;
  std::vector<ConfigMessage> warnings;  // in the order of the text
};

// `name` is the file's, for the Error ("c.pbtxt:3:14: expected ...") and for the origins of events.
[[nodiscard]] Result<ParsedConfig> ParseConfig(std::string_view text, std::string_view name);

}  // namespace culprit::capture
