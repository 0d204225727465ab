// TraceStats: what was lost, skipped or wrong in a trace, by name and, where it makes sense, by
// CPU: the rows of the stats table. Names are Perfetto's where it has one (stats_table.cc documents
// all).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace culprit::load {

enum class Severity : std::uint8_t { kInfo, kDataLoss, kError };

struct StatKind {
  std::string_view name;
  Severity severity;
  bool is_from_trace;  // the recorder counted it; else the loader
  std::string_view description;
};

// What is known of a name; a kind for unknown ones too.
const StatKind& FindStatKind(std::string_view name);

class TraceStats {
 public:
  static constexpr std::int64_t kNoIndex = -1;

  void Add(std::string_view name, std::int64_t amount = 1, std::int64_t index = kNoIndex);
  void Set(std::string_view name, std::int64_t value, std::int64_t index = kNoIndex);
  std::int64_t Get(std::string_view name, std::int64_t index = kNoIndex) const;

  // By name, then index.
  const std::map<std::pair<std::string, std::int64_t>, std::int64_t, std::less<>>& values() const {
    return values_;
  }

 private:
  std::map<std::pair<std::string, std::int64_t>, std::int64_t, std::less<>> values_;
};

}  // namespace culprit::load
