// culprit flame: flame graphs and other views of profiles.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/flame_options.h"
#include "cli/verbs.h"

namespace culprit::cli {
namespace {

Status WriteOutput(const std::string& path, std::string_view bytes) {
  if (path.empty() || path == "-") return WriteAll(STDOUT_FILENO, bytes, "standard output");
  CULPRIT_ASSIGN(auto file, AtomicFile::Create(path));
  CULPRIT_TRY(WriteAll(file.fd(), bytes, path));
  return file.Commit();
}

// What is chosen by --type: a metric of the profile.
Status ChooseMetric(const profile::Profile& profile, const FlameOptions& options,
                    profile::Selection& selection) {
  if (options.type.empty() || options.type == "on-cpu") return {};
  constexpr std::string_view kCounter = "counter:";
  const std::string_view wanted = options.type.starts_with(kCounter)
                                      ? std::string_view(options.type).substr(kCounter.size())
                                      : std::string_view(options.type);
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

std::string Render(const views::FlameView& view, const std::string& format) {
  if (format == "folded") return views::FlameFolded(view);
  if (format == "svg") return views::FlameSvg(view);
  if (format == "html") return views::FlameHtml(view);
  return views::FlameText(view);
}

// What the picture shows, and what it does not: to standard error when the output is a stream.
void PrintSummary(const profile::Profile& profile, const profile::CallTree& tree,
                  const FlameOptions& options) {
  const bool to_file = !options.output.empty() && options.output != "-";
  std::FILE* stream = to_file ? stdout : stderr;
  const profile::Metric& metric = profile.metrics[tree.metric];
  fmt::print(stream, "{}{}: {} in {} samples{}\n", to_file ? options.output + ": " : "",
             SafeForTerminal(metric.name), views::FormatWeight(tree.total, metric),
             FormatCount(tree.samples),
             profile.has_threads ? fmt::format(" of {} threads", FormatCount(tree.threads)) : "");
  if (tree.samples_left_out > 0) {
    fmt::print(stream, "  left out by the selection: {} samples\n",
               FormatCount(tree.samples_left_out));
  }
  for (std::uint16_t i = 0; i < profile.metrics.size(); ++i) {
    const std::size_t count = i == tree.metric ? 0 : profile.CountSamples(i);
    if (count == 0) continue;
    fmt::print(stream, "  not shown: {} samples of {} (--type counter:{})\n", FormatCount(count),
               SafeForTerminal(profile.metrics[i].name), SafeForTerminal(profile.metrics[i].name));
  }
  for (const profile::Note& note : profile.notes) {
    fmt::print(stream, "  {}{}\n", note.is_loss ? "LOST: " : "", SafeForTerminal(note.text));
  }
}

Status RunFlame(const FlameOptions& options) {
  CULPRIT_ASSIGN(auto selection, SelectionOf(options));
  CULPRIT_ASSIGN(const auto format, OutputFormatOf(options));
  CULPRIT_ASSIGN(auto profile,
                 profile::ReadProfile(options.inputs.front(), ReadOptionsOf(options)));
  CULPRIT_TRY(ChooseMetric(profile, options, selection));
  if (!profile.has_threads && options.group.empty()) {
    selection.grouping = profile::Grouping::kMerged;
  }
  CULPRIT_ASSIGN(const auto tree, profile::BuildCallTree(profile, selection));
  const std::string source =
      options.inputs.front() == "-"
          ? "standard input"
          : std::filesystem::path(options.inputs.front()).filename().string();
  const views::FlameView view{
      .profile = profile,
      .tree = tree,
      .title = options.title.empty()
                   ? fmt::format("{}: {}", source, profile.metrics[tree.metric].name)
                   : options.title,
      .source = source,
      .inverted = options.inverted != options.reverse,
      .annotate = AnnotationsOf(options)};
  CULPRIT_TRY(WriteOutput(options.output, Render(view, format)));
  PrintSummary(profile, tree, options);
  return {};
}

}  // namespace

Action DeclareFlame(CLI::App& app) {
  auto options = std::make_shared<FlameOptions>();
  DeclareFlameOptions(app, *options);
  return [options] {
    const Status status = RunFlame(*options);
    return status.ok() ? kExitOk : Fail(status.error());
  };
}

}  // namespace culprit::cli
