#include "cli/flame_source.h"

#include "base/text.h"
#include "profile/trace_profile.h"
#include "query/session.h"

namespace culprit::cli {
namespace {

constexpr std::string_view kCounter = "counter:";

Result<profile::Profile> OpenTrace(const std::string& path, const FlameOptions& options) {
  auto session = query::Session::Open(path);
  if (!session.ok()) {
    const Error& error = session.error();
    return Error{error.what +
                     " (and it is no profile that culprit knows: perf.data, perf script "
                     "text, folded stacks, pprof, speedscope, .cpuprofile)",
                 error.remedy};
  }
  const profile::TraceProfileOptions trace_options{
      .type = options.type, .all = options.all, .read = ReadOptionsOf(options)};
  auto profile = profile::ReadTraceProfile(session->connection(), trace_options);
  if (!profile.ok()) return Error{path + ": " + profile.error().what, profile.error().remedy};
  return profile;
}

}  // namespace

Result<profile::Profile> OpenFlameSource(const std::string& path, const FlameOptions& options) {
  if (path != "-") {
    CULPRIT_ASSIGN(const auto format, profile::DetectFile(path));
    if (format == profile::Format::kUnknown) return OpenTrace(path, options);
  }
  return profile::ReadProfile(path, ReadOptionsOf(options));
}

Status ChooseMetric(const profile::Profile& profile, const FlameOptions& options,
                    profile::Selection& selection) {
  if (options.type.empty()) return {};
  // Of a recording of samples on-cpu is its main event; a trace's profile has what was asked for.
  if (options.type == "on-cpu" && profile::MainMetric(profile)) return {};
  const std::string_view type = options.type;
  const std::string_view wanted = type.starts_with(kCounter) ? type.substr(kCounter.size()) : type;
  std::string there;
  for (std::size_t i = 0; i < profile.metrics.size(); ++i) {
    if (profile.metrics[i].name == wanted) {
      selection.metric = static_cast<std::uint16_t>(i);
      return {};
    }
    there += (there.empty() ? "" : ", ") + SafeForTerminal(profile.metrics[i].name);
  }
  return Error{"there is no " + options.type + " in the input",
               there.empty() ? "" : "it has these, as counter:NAME: " + there};
}

}  // namespace culprit::cli
