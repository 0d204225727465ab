// Facts about the tables of a trace that rewriting rests on; the tables themselves are in
// tables/schema. They hold for no table that a user makes under the same name.
#pragma once

#include <array>
#include <string_view>

namespace culprit::query {

// Columns that Perfetto's table of this name does not have.
struct OwnColumn {
  std::string_view table;
  std::string_view column;
};
inline constexpr std::array kOwnColumns = {
    OwnColumn{"cpu", "idle_name"}, OwnColumn{"sched", "upid"}, OwnColumn{"sched", "thread_state"},
    OwnColumn{"sched_slice", "upid"}, OwnColumn{"sched_slice", "thread_state"}};

// Columns whose value no two rows of the table share.
struct KeyColumn {
  std::string_view table;
  std::string_view column;
};
inline constexpr std::array kKeyColumns = {
    KeyColumn{"sched", "id"},        KeyColumn{"sched_slice", "id"},
    KeyColumn{"thread", "utid"},     KeyColumn{"thread", "id"},
    KeyColumn{"process", "upid"},    KeyColumn{"process", "id"},
    KeyColumn{"thread_state", "id"}, KeyColumn{"slice", "id"},
    KeyColumn{"counter", "id"},      KeyColumn{"track", "id"},
    KeyColumn{"thread_track", "id"}, KeyColumn{"process_track", "id"},
    KeyColumn{"counter_track", "id"}};

// What is loaded only once a statement mentions it: load::kRaw.
inline constexpr std::array<std::string_view, 3> kRawTables = {"ftrace_event", "raw", "args"};
inline constexpr std::array<std::string_view, 1> kRawFunctions = {"extract_arg"};

}  // namespace culprit::query
