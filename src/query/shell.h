// The interactive SQL shell: line editing, history, completion, commands, progress, ^C.
// Opens nothing: the session is the caller's.
#pragma once

#include <string>

#include "base/result.h"
#include "base/signal_watch.h"
#include "query/format.h"
#include "query/session.h"

namespace culprit::query {

struct ShellOptions {
  Format format = Format::kTable;
  std::string title;  // what is open, for the greeting
};

// Reads from the terminal until .quit or ^D. An Error is only one of the terminal; those of
// statements are shown and the shell goes on.
Status RunShell(Session& session, SignalWatch& signals, const ShellOptions& options);

}  // namespace culprit::query
