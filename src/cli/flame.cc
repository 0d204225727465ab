// culprit flame: flame graphs and other views of profiles.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/flame_options.h"
#include "cli/flame_source.h"
#include "cli/verbs.h"
#include "profile/diff.h"

namespace culprit::cli {
namespace {

constexpr std::size_t kChangesShown = 10;
constexpr std::size_t kChangesInText = 40;

bool WritesFile(const FlameOptions& options) {
  return !options.output.empty() && options.output != "-";
}

Status WriteOutput(const FlameOptions& options, std::string_view bytes) {
  if (!WritesFile(options)) return WriteAll(STDOUT_FILENO, bytes, "standard output");
  CULPRIT_ASSIGN(auto file, AtomicFile::Create(options.output));
  CULPRIT_TRY(WriteAll(file.fd(), bytes, options.output));
  return file.Commit();
}

std::string Render(const views::FlameView& view, std::string_view format) {
  if (format == "folded") return views::FlameFolded(view);
  if (format == "svg") return views::FlameSvg(view);
  if (format == "html") return views::FlameHtml(view);
  if (format == "pprof") return views::FlamePprof(view);
  if (format == "speedscope") return views::FlameSpeedscope(view);
  return views::FlameText(view);
}

std::string Plural(std::uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", FormatCount(count), word, count == 1 ? "" : "s");
}

void PrintNotes(const profile::Profile& profile, std::FILE* stream) {
  for (const profile::Note& note : profile.notes) {
    fmt::print(stream, "  {}{}\n", note.is_loss ? "LOST: " : "", SafeForTerminal(note.text));
  }
}

// What the picture shows, and what it does not: to standard error when the output is a stream.
void PrintSummary(const profile::Profile& profile, const profile::CallTree& tree,
                  const FlameOptions& options) {
  std::FILE* stream = WritesFile(options) ? stdout : stderr;
  const profile::Metric& metric = profile.metrics[tree.metric];
  fmt::print(stream, "{}{}: {}{}\n", WritesFile(options) ? options.output + ": " : "",
             SafeForTerminal(metric.name), views::FormatTotal(tree, metric),
             profile.has_threads ? " of " + Plural(tree.threads, "thread") : "");
  if (tree.samples_left_out > 0) {
    fmt::print(stream, "  left out by the selection: {}\n",
               Plural(tree.samples_left_out, "sample"));
  }
  for (std::uint16_t i = 0; i < profile.metrics.size(); ++i) {
    const std::size_t count = i == tree.metric ? 0 : profile.CountSamples(i);
    if (count == 0) continue;
    const std::string name = SafeForTerminal(profile.metrics[i].name);
    fmt::print(stream, "  not shown: {} of {} (--type counter:{})\n", Plural(count, "sample"), name,
               name);
  }
  PrintNotes(profile, stream);
}

std::string SourceName(const std::string& input) {
  return input == "-" ? "standard input" : std::filesystem::path(input).filename().string();
}

Status RunOne(const FlameOptions& options) {
  CULPRIT_ASSIGN(auto selection, SelectionOf(options));
  CULPRIT_ASSIGN(const auto format, OutputFormatOf(options));
  CULPRIT_ASSIGN(auto profile, OpenFlameSource(options.inputs.front(), options));
  CULPRIT_TRY(ChooseMetric(profile, options, selection));
  if (!profile.has_threads && options.group.empty()) {
    selection.grouping = profile::Grouping::kMerged;
  }
  auto tree = profile::BuildCallTree(profile, selection);
  if (!tree.ok()) {
    return Error{options.inputs.front() + ": " + tree.error().what, tree.error().remedy};
  }
  const std::string source = SourceName(options.inputs.front());
  const views::FlameView view{
      .profile = profile,
      .tree = *tree,
      .title = options.title.empty()
                   ? fmt::format("{}: {}", source, profile.metrics[tree->metric].name)
                   : options.title,
      .source = source,
      .inverted = options.inverted != options.reverse,
      .annotate = AnnotationsOf(options)};
  CULPRIT_TRY(WriteOutput(options, Render(view, format)));
  PrintSummary(profile, *tree, options);
  return {};
}

profile::Normalize NormalizeOf(const FlameOptions& options) {
  if (options.normalize == "samples") return profile::Normalize::kSamples;
  if (options.normalize == "time") return profile::Normalize::kTime;
  if (options.normalize == "work") return profile::Normalize::kWork;
  if (options.normalize == "none") return profile::Normalize::kNone;
  return profile::Normalize::kTotal;
}

Status RunDiff(const FlameOptions& options) {
  CULPRIT_ASSIGN(auto selection, SelectionOf(options));
  CULPRIT_ASSIGN(const auto format, OutputFormatOf(options));
  if ((options.normalize == "work") != !options.work.empty()) {
    return Error{"--normalize work and --work BEFORE,AFTER belong together", ""};
  }
  CULPRIT_ASSIGN(auto before, OpenFlameSource(options.inputs[1], options));
  CULPRIT_ASSIGN(auto after, OpenFlameSource(options.inputs[2], options));
  CULPRIT_TRY(ChooseMetric(before, options, selection));
  // Pids and tids are other ones in each run, so names are what can be compared.
  if (!before.has_threads || !after.has_threads) selection.grouping = profile::Grouping::kMerged;
  const double ratio = options.work.empty() ? 1 : options.work[0] / options.work[1];
  CULPRIT_ASSIGN(const auto diff, profile::MakeDiff(std::move(before), std::move(after), selection,
                                                    NormalizeOf(options), ratio));
  const views::FlameView view{
      .profile = diff.profile,
      .tree = diff.tree,
      .title = options.title.empty()
                   ? fmt::format("{} compared with {}: {}", SourceName(options.inputs[2]),
                                 SourceName(options.inputs[1]), diff.profile.metrics[0].name)
                   : options.title,
      .source = SourceName(options.inputs[2]),
      .inverted = options.inverted != options.reverse,
      .annotate = AnnotationsOf(options),
      .changes = &diff.nodes};
  CULPRIT_TRY(WriteOutput(options, format == "txt"      ? views::FlameDiffText(diff, kChangesInText)
                                   : format == "folded" ? views::FlameDiffFolded(diff)
                                                        : Render(view, format)));
  if (WritesFile(options)) {
    fmt::print("{}\n{}", options.output, views::FlameDiffText(diff, kChangesShown));
  }
  PrintNotes(diff.profile, WritesFile(options) ? stdout : stderr);
  return {};
}

int RunFlame(const FlameOptions& options) {
  if (options.inputs.size() > 1 && !options.is_diff()) {
    return Fail({"one input, or: culprit flame diff BEFORE AFTER", "see culprit flame --help"},
                kExitUsage);
  }
  const Status status = options.is_diff() ? RunDiff(options) : RunOne(options);
  return status.ok() ? kExitOk : Fail(status.error());
}

}  // namespace

Action DeclareFlame(CLI::App& app) {
  auto options = std::make_shared<FlameOptions>();
  DeclareFlameOptions(app, *options);
  return [options] { return RunFlame(*options); };
}

}  // namespace culprit::cli
