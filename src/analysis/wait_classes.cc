#include "analysis/wait_classes.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/stack_class.h"
#include "tables/database.h"
#include "tables/query_result.h"

namespace culprit::analysis {
namespace {

// A stack of a hostile trace may be a ring.
constexpr std::size_t kMostFrames = 256;

// How a task goes to sleep, whatever for. /proc/PID/stack leaves these out, recorded stacks have
// them.
constexpr std::string_view kSleepFrames[] = {"__schedule",       "schedule",
                                             "schedule_timeout", "schedule_preempt_disabled",
                                             "io_schedule",      "io_schedule_timeout",
                                             "bit_wait",         "bit_wait_io",
                                             "__wait_on_bit",    "__wait_on_bit_lock"};

bool IsSleep(std::string_view function) {
  return std::ranges::find(kSleepFrames, function) != std::end(kSleepFrames);
}

struct Callsite {
  std::int64_t parent = -1;
  std::string function;
};

Status ForEachRow(tables::Connection& connection, std::string_view sql,
                  const std::function<void(const tables::QueryResult&, std::size_t)>& on_row) {
  CULPRIT_ASSIGN(tables::QueryResult result, connection.Query(sql, {}, tables::Fetch::kStreaming));
  while (true) {
    CULPRIT_ASSIGN(const bool more, result.Next());
    if (!more) return {};
    for (std::size_t row = 0; row < result.chunk_rows(); ++row) on_row(result, row);
  }
}

}  // namespace

Result<WaitClasses> WaitClasses::Load(tables::Connection& connection) {
  WaitClasses made;
  CULPRIT_TRY(ForEachRow(connection,
                         "SELECT thread_state_id, callsite_id FROM blocked_stack "
                         "WHERE thread_state_id IS NOT NULL ORDER BY thread_state_id",
                         [&](const auto& result, std::size_t row) {
                           made.callsite_of_[result.Integer(0, row)] = result.Integer(1, row);
                           made.class_of_.try_emplace(result.Integer(1, row));
                         }));
  if (made.callsite_of_.empty()) return made;
  std::unordered_map<std::int64_t, Callsite> callsites;
  CULPRIT_TRY(ForEachRow(
      connection,
      "SELECT c.id, coalesce(c.parent_id, -1), f.name FROM stack_profile_callsite AS c "
      "JOIN stack_profile_frame AS f ON c.frame_id = f.id ORDER BY c.id",
      [&](const auto& result, std::size_t row) {
        callsites[result.Integer(0, row)] = {
            result.Integer(1, row), result.IsNull(2, row) ? "" : std::string(result.Text(2, row))};
      }));
  for (auto& [callsite, name] : made.class_of_) {
    std::vector<std::string> frames;
    auto at = callsites.find(callsite);
    for (std::size_t i = 0; at != callsites.end() && i < kMostFrames; ++i) {
      if (!IsSleep(at->second.function)) frames.push_back(at->second.function);
      at = callsites.find(at->second.parent);
    }
    name = WaitClass(frames);
  }
  return made;
}

const std::string& WaitClasses::Of(std::int64_t thread_state_id) const {
  const auto callsite = callsite_of_.find(thread_state_id);
  if (callsite == callsite_of_.end()) return none_;
  return class_of_.at(callsite->second);
}

}  // namespace culprit::analysis
