// What Perfetto's TraceConfig has and culprit does not follow, so that a user is told which of the
// two it is: a field of Perfetto's, or a typing mistake. Names alone; nothing here parses.
#pragma once

#include <span>
#include <string_view>

namespace culprit::capture {

struct ForeignField {
  std::string_view message;  // "FtraceConfig"
  std::string_view field;
  std::string_view note;  // what happens instead; empty when there is nothing to add
};

std::span<const ForeignField> ForeignFields();

struct ForeignDataSource {
  std::string_view name;
  std::string_view note;
};

std::span<const ForeignDataSource> ForeignDataSources();

}  // namespace culprit::capture
