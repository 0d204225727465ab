// culprit load: a trace as a database file that opens at once.
#include <fmt/core.h>

#include <memory>

#include "base/text.h"
#include "cli/cancellable.h"
#include "cli/verbs.h"
#include "query/export.h"

namespace culprit::cli {
namespace {

struct LoadVerbOptions {
  std::string trace;
  std::string output;
  bool no_raw = false;
  bool quiet = false;
};

int Load(const LoadVerbOptions& options) {
  auto cancellable = Cancellable::Open();
  if (!cancellable.ok()) return Fail(cancellable.error());
  Result<load::LoadSummary> summary = Error{};
  const TimeNs start = NowBoottime();
  cancellable->Run([&] {
    load::LoadOptions load_options;
    load_options.groups = options.no_raw ? load::kCore : load::kCore | load::kRaw;
    load_options.progress = cancellable->OnLoadProgress();
    summary = query::ExportDatabase(options.trace, options.output, load_options);
  });
  if (cancellable->cancelled()) return kExitCancelled;
  if (!summary.ok()) return Fail(summary.error());
  if (options.quiet) return kExitOk;
  fmt::print(stderr, "{}: {} events in {}\n", SafeForTerminal(options.output),
             FormatCount(summary->events), FormatDuration(NowBoottime() - start));
  if (summary->lost_events != 0) {
    fmt::print(stderr, "culprit: {} events were lost while recording; see table stats\n",
               FormatCount(summary->lost_events));
  }
  return kExitOk;
}

}  // namespace

Action DeclareLoad(CLI::App& app) {
  auto options = std::make_shared<LoadVerbOptions>();
  app.add_option("trace", options->trace, "the trace")->type_name("TRACE")->required();
  app.add_option("-o,--output", options->output, "the database to make")
      ->type_name("FILE.duckdb")
      ->required();
  app.add_flag("--no-raw", options->no_raw,
               "leave out ftrace_event and the args of events: smaller and faster");
  app.add_flag("--quiet", options->quiet, "print nothing when all goes well");
  return [options] { return Load(*options); };
}

}  // namespace culprit::cli
