// culprit export: a trace in other programs' formats.
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "base/atomic_file.h"
#include "cli/cancellable.h"
#include "cli/verbs.h"
#include "query/export.h"

namespace culprit::cli {
namespace {

struct ExportOptions {
  std::string trace;
  std::string output;
  std::string format;
};

struct ExportFormat {
  std::string_view name;
  std::string_view summary;
  // Text formats; the others make their files themselves.
  Status (*write)(query::Session& session, query::Output& output);
};

constexpr std::array kFormats = {
    ExportFormat{"parquet", "a folder with a Parquet file a table", nullptr},
    ExportFormat{"duckdb", "a database, as culprit load makes it", nullptr},
    ExportFormat{"json", "Chrome's trace format", query::ExportChromeJson},
    ExportFormat{"ftrace-text", "the text of /sys/kernel/tracing/trace", query::ExportFtraceText},
};

// -o - is standard output, for the text formats.
Status WriteText(query::Session& session, const ExportFormat& format, const std::string& path,
                 Cancellable& cancellable) {
  if (path == "-") {
    cancellable.HideProgress();
    query::Output output(STDOUT_FILENO, "standard output");
    output.set_cancelled(&cancellable.cancelled());
    return format.write(session, output);
  }
  CULPRIT_ASSIGN(auto file, AtomicFile::Create(path));
  query::Output output(file.fd(), path);
  output.set_cancelled(&cancellable.cancelled());
  CULPRIT_TRY(format.write(session, output));
  return file.Commit();
}

Status RunExport(const ExportOptions& options, const ExportFormat& format,
                 Cancellable& cancellable) {
  if (format.name == "duckdb") {
    if (query::IsDatabaseFile(options.trace)) {
      return query::CopyDatabase(options.trace, options.output);
    }
    load::LoadOptions load_options;
    load_options.groups = load::kCore | load::kRaw;
    load_options.progress = cancellable.OnLoadProgress();
    CULPRIT_ASSIGN(const auto summary,
                   query::ExportDatabase(options.trace, options.output, load_options));
    static_cast<void>(summary);
    return {};
  }
  query::SessionOptions session_options;
  session_options.on_load_progress = cancellable.OnLoadProgress();
  CULPRIT_ASSIGN(auto session, query::Session::Open(options.trace, std::move(session_options)));
  cancellable.Watch(&session);
  const auto status = format.write == nullptr
                          ? query::ExportParquet(session, options.output)
                          : WriteText(session, format, options.output, cancellable);
  cancellable.Watch(nullptr);
  return status;
}

int Export(const ExportOptions& options) {
  const auto* format = std::ranges::find(kFormats, options.format, &ExportFormat::name);
  CULPRIT_CHECK(format != kFormats.end());  // CLI11 checked it
  auto cancellable = Cancellable::Open();
  if (!cancellable.ok()) return Fail(cancellable.error());
  Status status;
  cancellable->Run([&] { status = RunExport(options, *format, *cancellable); });
  if (cancellable->cancelled()) return kExitCancelled;
  return status.ok() ? kExitOk : Fail(status.error());
}

}  // namespace

Action DeclareExport(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  app.add_option("trace", options->trace, "the trace (or .duckdb file)")
      ->type_name("TRACE")
      ->required();
  app.add_option(
         "-o,--output", options->output,
         "the file to make, for parquet a folder; - is standard output for the text formats")
      ->type_name("FILE")
      ->required();
  std::vector<std::string> names;
  std::string summary = "the format:";
  for (const auto& format : kFormats) {
    names.emplace_back(format.name);
    summary += fmt::format("{} {} ({})", names.size() == 1 ? "" : ",", format.name, format.summary);
  }
  app.add_option("--format", options->format, summary)
      ->check(CLI::IsMember(names))
      ->type_name("FORMAT")
      ->required();
  return [options] { return Export(*options); };
}

}  // namespace culprit::cli
