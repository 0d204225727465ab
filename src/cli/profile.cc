// culprit profile: record with samples and draw at once: one picture in which time on CPUs and time
// off them stand side by side, both in time.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/atomic_file.h"
#include "base/text.h"
#include "cli/explain_live.h"
#include "cli/flame_options.h"
#include "cli/flame_source.h"
#include "cli/verbs.h"

namespace culprit::cli {
namespace {

using profile::FrameId;
using profile::FrameKind;
using profile::Profile;
using profile::StackId;

struct ProfileOptions {
  std::string output = "profile.svg";
  std::string duration;
  std::string hz = "99";
  std::string call_graph = "fp";
  std::int64_t pid = 0;
  std::vector<std::string> command_words;  // each with a '=' before it (program.cc)
};

// Samples of `from` below a frame `label` and one of their process, as time.
void AddBelow(const Profile& from, std::uint16_t metric, std::string_view label, Profile& into) {
  const FrameId top = into.InternFrame(label, "", FrameKind::kGroup);
  std::vector<StackId> moved;
  for (const profile::Sample& sample : from.samples) {
    if (sample.metric != metric) continue;
    const profile::Thread& thread = from.threads[sample.thread];
    std::vector<FrameId> chain;
    for (StackId at = sample.stack; at != 0; at = from.stacks[at].parent) {
      const profile::Frame& frame = from.frames[from.stacks[at].frame];
      chain.push_back(into.InternFrame(from.strings.Get(frame.name), from.strings.Get(frame.module),
                                       frame.kind));
    }
    const std::string_view comm = from.strings.Get(thread.comm);
    chain.push_back(into.InternFrame(comm.empty() ? "[unknown]" : comm, "", FrameKind::kGroup));
    chain.push_back(top);
    std::ranges::reverse(chain);
    profile::Sample copy = sample;
    copy.stack = into.InternStack(chain);
    copy.thread = into.AddThread({into.strings.Intern(comm),
                                  into.strings.Intern(from.strings.Get(thread.process)), thread.pid,
                                  thread.tid});
    copy.metric = 0;
    into.samples.push_back(copy);
  }
}

// `has_target`: waits are of chosen processes; all the threads that sleep on a machine say nothing.
Status Draw(const ProfileOptions& options, const std::string& trace, bool has_target) {
  FlameOptions flame;
  flame.output = options.output;
  CULPRIT_ASSIGN(const std::string format, OutputFormatOf(flame));
  Profile both;
  both.format = "trace";
  both.has_times = true;
  both.metrics.push_back({"time", "ns"});
  for (const char* type : {"on-cpu", "off-cpu"}) {
    flame.type = type;
    if (!has_target && flame.type == "off-cpu") continue;
    auto part = OpenFlameSource(trace, flame);
    if (!part) {
      both.notes.push_back({fmt::format("no {}: {}", type, part.error().ToString()), false});
      continue;
    }
    profile::Selection selection;
    CULPRIT_TRY(ChooseMetric(*part, flame, selection));
    const auto metric = selection.metric ? selection.metric : profile::MainMetric(*part);
    if (metric) AddBelow(*part, *metric, type, both);
    for (const profile::Note& note : part->notes) {
      const auto same = [&](const profile::Note& other) { return other.text == note.text; };
      if (std::ranges::none_of(both.notes, same)) both.notes.push_back(note);
    }
  }
  if (both.samples.empty()) {
    return Error{"nothing ran and nothing waited while it was recorded", "record longer: --for"};
  }
  profile::Selection selection;
  selection.grouping = profile::Grouping::kMerged;
  CULPRIT_ASSIGN(const auto tree, profile::BuildCallTree(both, selection));
  const views::FlameView view{.profile = both,
                              .tree = tree,
                              .title = "on-CPU and off-CPU time",
                              .source = "culprit profile"};
  const std::string bytes = format == "svg"          ? views::FlameSvg(view)
                            : format == "html"       ? views::FlameHtml(view)
                            : format == "folded"     ? views::FlameFolded(view)
                            : format == "pprof"      ? views::FlamePprof(view)
                            : format == "speedscope" ? views::FlameSpeedscope(view)
                                                     : views::FlameText(view);
  CULPRIT_ASSIGN(auto file, AtomicFile::Create(options.output));
  CULPRIT_TRY(WriteAll(file.fd(), bytes, options.output));
  CULPRIT_TRY(file.Commit());
  fmt::print("{}: {}\n", SafeForTerminal(options.output),
             views::FormatTotal(tree, both.metrics.front()));
  for (const profile::Note& note : both.notes) {
    fmt::print("  {}{}\n", note.is_loss ? "LOST: " : "", SafeForTerminal(note.text));
  }
  return {};
}

int RunProfile(const ProfileOptions& options) {
  LiveOptions live;
  live.duration = options.duration;
  if (options.pid > 0) live.pid = options.pid;
  for (const std::string& word : options.command_words) live.command.push_back(word.substr(1));
  const bool has_target = live.pid || !live.command.empty();
  if (live.duration.empty() && live.command.empty()) live.duration = "10s";
  // Widths are time, so a clock is what is sampled.
  live.record_words = {"sched",     "--sample=" + options.hz, "--event",
                       "cpu-clock", "--call-graph",           options.call_graph};
  if (has_target) live.record_words.emplace_back("--off-cpu");
  auto recording = LiveRecording::Make(live);
  if (!recording) return Fail(recording.error());
  if (!has_target) {
    fmt::print(stderr,
               "culprit: waits are shown of chosen processes alone: --pid PID or -- COMMAND\n");
  }
  if (const Status drawn = Draw(options, recording->path(), has_target); !drawn)
    return Fail(drawn.error());
  return live.command.empty() ? kExitOk : recording->exit_status();
}

}  // namespace

Action DeclareProfile(CLI::App& app) {
  auto options = std::make_shared<ProfileOptions>();
  app.add_option("--for", options->duration,
                 "profile for so long (default: 10s, or until the command ends, or ^C)")
      ->type_name("TIME");
  app.add_option("-p,--pid", options->pid, "this process, with its threads and later children")
      ->type_name("PID")
      ->check(CLI::PositiveNumber);
  app.add_option("--sample", options->hz, "looks a second at each CPU")
      ->type_name("HZ")
      ->capture_default_str();
  app.add_option("--call-graph", options->call_graph, "as of culprit record")
      ->check(CLI::IsMember({"fp", "dwarf", "auto"}))
      ->capture_default_str();
  app.add_option("-o,--output", options->output,
                 "the picture: .svg, .html, .folded, .speedscope.json, .pb.gz or .txt")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--command-word", options->command_words)->group("")->allow_extra_args(false);
  return [options] { return RunProfile(*options); };
}

}  // namespace culprit::cli
