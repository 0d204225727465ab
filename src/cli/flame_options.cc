#include "cli/flame_options.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace culprit::cli {
namespace {

struct OutputFormat {
  std::string_view name;
  std::string_view suffix;
};
constexpr std::array kOutputFormats = {
    OutputFormat{"svg", ".svg"},       OutputFormat{"html", ".html"},
    OutputFormat{"folded", ".folded"}, OutputFormat{"speedscope", ".speedscope.json"},
    OutputFormat{"pprof", ".pb.gz"},   OutputFormat{"txt", ".txt"},
};

struct GroupName {
  std::string_view name;
  profile::Grouping grouping;
};
constexpr std::array kGroups = {
    GroupName{"comm", profile::Grouping::kComm},
    GroupName{"process", profile::Grouping::kProcess},
    GroupName{"thread", profile::Grouping::kThread},
    GroupName{"cpu", profile::Grouping::kCpu},
    GroupName{"merged", profile::Grouping::kMerged},
};

template <class Table>
std::vector<std::string> Names(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}

Status Compile(const std::vector<std::string>& expressions, std::vector<profile::Regex>& out) {
  for (const std::string& expression : expressions) {
    CULPRIT_ASSIGN(auto regex, profile::Regex::Compile(expression));
    out.push_back(std::move(regex));
  }
  return {};
}

}  // namespace

void DeclareFlameOptions(CLI::App& app, FlameOptions& options) {
  app.add_option("input", options.inputs,
                 "a trace, a .duckdb file, perf.data, perf script text, folded stacks, pprof, "
                 "speedscope or .cpuprofile; or diff and two of them")
      ->type_name("INPUT")
      ->required()
      ->expected(1, 3);
  app.add_option("-o,--output", options.output,
                 "the file to make; its suffix says the format: .svg .html .folded "
                 ".speedscope.json .pb.gz .txt; without it text goes to standard output")
      ->type_name("FILE");
  app.add_option("--format", options.format, "the format, whatever the suffix is")
      ->check(CLI::IsMember(Names(kOutputFormats)))
      ->type_name("FORMAT");
  app.add_option("--title", options.title, "what stands above the picture")->type_name("TEXT");
  app.add_option("--type", options.type,
                 "what the widths are: on-cpu, off-cpu, wait, runnable, waker, counter:EVENT; "
                 "without it what runs on CPUs, or the first event of the input")
      ->type_name("TYPE");
  app.add_option("--thread", options.threads,
                 "only this thread: a name, with * and ?, or a tid (may be repeated)")
      ->type_name("THREAD");
  app.add_option("--process", options.processes,
                 "only this process: a name, with * and ?, or a pid (may be repeated)")
      ->type_name("PROCESS");
  app.add_option("--cpu", options.cpus, "only samples of this CPU (may be repeated)")
      ->type_name("CPU")
      ->delimiter(',');
  app.add_option("--from", options.from, "only from this time on, since the first sample: 1.5s")
      ->type_name("TIME");
  app.add_option("--to", options.to, "only before this time, since the first sample")
      ->type_name("TIME");
  app.add_option("--state", options.states,
                 "off-CPU: only waits in these states, by letter: S, D, R ...; DS is both")
      ->type_name("STATES");
  app.add_option("--min-us", options.min_us, "off-CPU: only waits of at least so many microseconds")
      ->type_name("US")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--group", options.group,
                 "what the stacks stand on: comm (name of the thread; the default), process, "
                 "thread, cpu, or merged for nothing")
      ->check(CLI::IsMember(Names(kGroups)))
      ->type_name("GROUP");
  app.add_flag("--reverse", options.reverse,
               "merge the stacks from the innermost function: who calls it, drawn downward");
  app.add_flag("--inverted", options.inverted, "turn the picture over: the root at the top");
  app.add_option("--filter", options.filter,
                 "only stacks with a function that matches (may be repeated: all have to)")
      ->type_name("REGEX");
  app.add_option("--remove", options.remove,
                 "take matching functions out of their stacks (may be repeated)")
      ->type_name("REGEX");
  app.add_option("--collapse", options.collapse,
                 "count what matching functions call as their own time (may be repeated)")
      ->type_name("REGEX");
  app.add_option("--unknown", options.unknown,
                 "code without a symbol: offset ([module+0x1f], the default), module, address")
      ->check(CLI::IsMember({"offset", "module", "address"}))
      ->type_name("STYLE");
  app.add_option("--annotate", options.annotate,
                 "folded: mark functions of these kinds by _[k], _[j], _[i]")
      ->check(CLI::IsMember({"kernel", "jit", "inlined"}))
      ->type_name("KINDS")
      ->delimiter(',');
  app.add_flag("--full-names", options.full_names, "C++ names with their parameters");
  app.add_flag("--no-inlines", options.no_inlines,
               "perf.data: do not look up inlined functions in debug information");
  app.add_flag("--all", options.all,
               "wait: also threads that sleep in their own idle loop for nearly all of the trace");
  app.add_option("--normalize", options.normalize,
                 "diff: what both are scaled to: total (the share of each; the default), samples, "
                 "time (weight a second), work (weight a unit of --work), none")
      ->check(CLI::IsMember({"total", "samples", "time", "work", "none"}))
      ->type_name("BY");
  app.add_option("--work", options.work,
                 "diff: how much work each side did, for --normalize work: its steps or requests")
      ->type_name("BEFORE,AFTER")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::PositiveNumber);
  app.add_option("--root", options.root, "perf.data: where its programs and libraries are")
      ->type_name("DIR");
}

Result<profile::Selection> SelectionOf(const FlameOptions& options) {
  profile::Selection selection;
  selection.threads = options.threads;
  selection.processes = options.processes;
  selection.cpus = options.cpus;
  if (!options.from.empty()) {
    CULPRIT_ASSIGN(selection.from, ParseDuration(options.from));
  }
  if (!options.to.empty()) {
    CULPRIT_ASSIGN(selection.to, ParseDuration(options.to));
  }
  if (selection.from && selection.to && *selection.to <= *selection.from) {
    return Error{"--to lies before --from", ""};
  }
  selection.states = options.states;
  selection.min_weight = static_cast<std::int64_t>(options.min_us * 1000);
  CULPRIT_TRY(Compile(options.filter, selection.filter));
  CULPRIT_TRY(Compile(options.remove, selection.remove));
  CULPRIT_TRY(Compile(options.collapse, selection.collapse));
  const auto* group = std::ranges::find(kGroups, options.group, &GroupName::name);
  if (group != kGroups.end()) selection.grouping = group->grouping;
  selection.reverse = options.reverse;
  return selection;
}

profile::ReadOptions ReadOptionsOf(const FlameOptions& options) {
  profile::ReadOptions read;
  if (options.full_names) read.names = symbols::NameStyle::kFull;
  if (options.unknown == "module") read.unknown = profile::UnknownStyle::kModule;
  if (options.unknown == "address") read.unknown = profile::UnknownStyle::kAddress;
  read.inlines = !options.no_inlines;
  read.root = options.root;
  return read;
}

views::Annotations AnnotationsOf(const FlameOptions& options) {
  const auto has = [&](std::string_view kind) {
    return std::ranges::find(options.annotate, kind) != options.annotate.end();
  };
  return {.kernel = has("kernel"), .jit = has("jit"), .inlined = has("inlined")};
}

Result<std::string> OutputFormatOf(const FlameOptions& options) {
  if (!options.format.empty()) return options.format;
  if (options.output.empty() || options.output == "-") return std::string("txt");
  for (const OutputFormat& format : kOutputFormats) {
    if (options.output.ends_with(format.suffix)) return std::string(format.name);
  }
  return Error{
      "the suffix of " + options.output + " says no format",
      "end it in .svg, .html, .folded, .speedscope.json, .pb.gz or .txt, or give --format"};
}

}  // namespace culprit::cli
