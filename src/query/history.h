// Where the shell keeps what was typed: $XDG_STATE_HOME/culprit/query_history, else below
// ~/.local/state. Finds and makes the place; reading and writing is readline's.
#pragma once

#include <optional>
#include <string>

namespace culprit::query {

// The path, with its folder made (0700); nothing without a home, or where none can be made.
std::optional<std::string> HistoryPath();

}  // namespace culprit::query
