// The report of culprit explain for a person: verdict, time, culprits, chains, evidence.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "views/explain/explain_view.h"

namespace culprit::views {
namespace {

using namespace analysis;  // NOLINT(google-build-using-namespace): this file is about its types

constexpr std::size_t kMostGapsShown = 5;
constexpr int kMostDepthShown = 7;

std::string_view ColourOf(Level level) {
  switch (level) {
    case Level::kCritical:
      return "\x1b[1;31m";
    case Level::kWarning:
      return "\x1b[33m";
    case Level::kInfo:
      return "\x1b[2m";
    case Level::kOk:
      return "\x1b[32m";
  }
  return "";
}

std::string Percent(std::int64_t part, std::int64_t whole) {
  return fmt::format(
      "{:5.1f} %",
      whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0);
}

class Printer {
 public:
  Printer(const Explanation& made, const ExplainTextOptions& options)
      : made_(made), options_(options) {}

  std::string Print() {
    Verdict();
    Victims();
    Findings();
    Chains();
    Evidence();
    return std::move(text_);
  }

 private:
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void Heading(std::string_view title) {
    text_ += '\n';
    text_ +=
        options_.colour ? fmt::format("\x1b[1m{}\x1b[0m\n", title) : fmt::format("{}\n", title);
  }
  std::string Painted(Level level, std::string_view text) const {
    if (!options_.colour) return std::string(text);
    return fmt::format("{}{}\x1b[0m", ColourOf(level), text);
  }
  std::string At(std::int64_t ts) const {
    return fmt::format("{:.6f} s", static_cast<double>(ts - made_.trace.begin) / 1e9);
  }
  static std::string Task(const TaskName& task) {
    return fmt::format("{} (tid {})", SafeForTerminal(task.thread), task.tid);
  }

  void Verdict() {
    Line("{}  {}", Painted(made_.level, fmt::format("{:<4}", Upper(VerdictName(made_)))),
         SafeForTerminal(made_.verdict));
    if (made_.level < Level::kWarning) return;
    const Remedy& remedy = made_.findings.front().remedy;
    Line("      {}; it wins {} at most{}", SafeForTerminal(remedy.text),
         FormatDuration({remedy.wins_at_most_ns}), remedy.command.empty() ? "" : ":");
    if (!remedy.command.empty()) Line("        {}", SafeForTerminal(remedy.command));
  }

  static std::string Upper(std::string_view text) {
    std::string upper(text);
    std::ranges::transform(upper, upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return upper;
  }

  void Victims() {
    Heading("Time of the victims");
    Line("  examined: {} of {}, {}", FormatDuration({made_.examined_ns}),
         FormatDuration({made_.trace.length()}),
         made_.victims.empty() ? "no thread" : SafeForTerminal(made_.selection_reason));
    std::size_t shown = 0;
    for (const ExplainVictim& victim : made_.victims) {
      if (++shown > options_.top) {
        Line("  and {} more (--top)", made_.victims.size() - options_.top);
        break;
      }
      Line("  {} of {} (pid {}), {}", Task(victim.name), SafeForTerminal(victim.name.process),
           victim.name.pid, SafeForTerminal(victim.why));
      for (const BudgetRow& row : victim.budget) {
        Line("    {}  {:>9}  {}", Percent(row.ns, made_.examined_ns), FormatDuration({row.ns}),
             SafeForTerminal(row.name));
      }
    }
  }

  void Findings() {
    Heading("Culprits");
    if (made_.findings.empty()) Line("  none");
    std::size_t infos = 0;
    for (const ExplainFinding& finding : made_.findings) {
      if (finding.level <= Level::kInfo && ++infos > options_.top) continue;
      Finding(finding);
    }
    if (infos > options_.top) Line("  and {} more of level info (--top)", infos - options_.top);
    if (made_.level >= Level::kWarning) return;
    Line("  examined, and below its threshold or not there:");
    for (const std::string& line : made_.examined) Line("    {}", SafeForTerminal(line));
  }

  void Finding(const ExplainFinding& finding) {
    Line("  {}  {}  {}", Painted(finding.level, fmt::format("{:<4}", LevelName(finding.level))),
         finding.id, SafeForTerminal(finding.summary));
    const Amount& amount = finding.victims.front().waited;
    Line("        {} ({}) in {} waits, longest {} at {}; confidence {:.0f} %: {}",
         FormatDuration({amount.ns}), fmt::format("{:.1f} %", 100 * finding.share()),
         FormatCount(static_cast<std::uint64_t>(amount.count)), FormatDuration({amount.worst_ns}),
         At(amount.worst_ts), 100 * finding.confidence, SafeForTerminal(finding.confidence_why));
    if (finding.level >= Level::kWarning) {
      for (const std::string& line : finding.evidence) Line("        {}", SafeForTerminal(line));
      if (finding.threads.size() > 1) {
        for (const ThreadShare& row : finding.threads) {
          Line("        {:>9}  {}", FormatDuration({row.wait_ns}), Task(row.thread));
        }
      }
      Line("        what to do: {}", SafeForTerminal(finding.remedy.text));
      if (!finding.remedy.command.empty()) {
        Line("          {}", SafeForTerminal(finding.remedy.command));
      }
    }
    if (options_.show_sql && !finding.sql.empty()) {
      for (const std::string_view line : SplitLines(finding.sql)) {
        Line("        | {}", SafeForTerminal(line));
      }
    }
  }

  void Chains() {
    if (made_.chains.empty()) return;
    Heading("Wait chains");
    bool has_total = false, has_longest = false;
    for (const Chain& chain : made_.chains) {
      bool& has_one = chain.is_total ? has_total : has_longest;
      if (has_one && !options_.all_chains) continue;
      has_one = true;
      if (chain.is_total) {
        Line("  in total:");
      } else {
        Line("  the wait of {} at {}:", FormatDuration({chain.time.length()}),
             At(chain.time.begin));
      }
      Tree(chain.tree, 2, chain.tree.waited.ns);
    }
  }

  void Tree(const ChainTree& tree, int depth, std::int64_t whole) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    if (depth == 2) {
      Line("{}{}: {}", indent, Task(tree.thread), FormatDuration({tree.waited.ns}));
    } else {
      Line("{}<- {} {} woke it: {} in {} waits{}", indent, Percent(tree.waited.ns, whole),
           Task(tree.thread), FormatDuration({tree.waited.ns}),
           FormatCount(static_cast<std::uint64_t>(tree.waited.count)),
           tree.is_blocked ? ", uninterruptible" : "");
    }
    for (const ChainCause& cause : tree.causes) {
      Line("{}   {} {} {}", indent, Percent(cause.amount.ns, whole),
           FormatDuration({cause.amount.ns}), SafeForTerminal(cause.text));
    }
    if (depth > kMostDepthShown) return;
    for (const ChainTree& child : tree.children) Tree(child, depth + 1, whole);
  }

  void Evidence() {
    Heading("Evidence");
    const auto& evidence = made_.evidence;
    if (evidence.lost.empty()) {
      Line("  no event was lost");
    } else {
      Line("  {} events were lost:", FormatCount(evidence.lost_events));
      for (std::size_t i = 0; i < evidence.lost.size() && i < kMostGapsShown; ++i) {
        const LostGap& gap = evidence.lost[i];
        Line("    CPU {} at {} for {}", gap.cpu, At(gap.time.begin),
             FormatDuration({gap.time.length()}));
      }
      if (evidence.lost.size() > kMostGapsShown) {
        Line("    and {} stretches more", evidence.lost.size() - kMostGapsShown);
      }
    }
    Line(
        "  {:.1f} % of the victims' time is unknown; {} waits are cut off by the edges of the time",
        100 * evidence.unknown_share, evidence.cut_waits);
    for (const std::string& note : evidence.notes) Line("  {}", SafeForTerminal(note));
  }

  const Explanation& made_;
  const ExplainTextOptions& options_;
  std::string text_;
};

}  // namespace

std::string ExplainText(const Explanation& explanation, const ExplainTextOptions& options) {
  return Printer(explanation, options).Print();
}

}  // namespace culprit::views
