// culprit explain as Markdown, for an issue or a chat: the report in its order, without pictures.
#include <fmt/format.h>

#include <iterator>

#include "base/text.h"
#include "views/explain/explain_view.h"

namespace culprit::views {
namespace {

using namespace analysis;  // NOLINT(google-build-using-namespace): this file is about its types

constexpr int kMostDepth = 12;

// Names of a recording must neither make markup nor break a table.
std::string E(std::string_view text) {
  std::string escaped;
  for (const char c : SafeForTerminal(text)) {
    if (c == '<') {
      escaped += "&lt;";
      continue;
    }
    if (std::string_view("\\`*_{}[]#|!@").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// Between fences, which no line may end.
std::string Fenced(std::string_view text, std::string_view language) {
  std::string block = fmt::format("```{}\n", language);
  for (const std::string_view line : SplitLines(text)) {
    std::string safe = SafeForTerminal(line);
    for (auto at = safe.find("```"); at != std::string::npos; at = safe.find("```"))
      safe.erase(at, 3);
    block += safe + "\n";
  }
  return block + "```\n";
}

class Writer {
 public:
  explicit Writer(const Explanation& made) : made_(made) {}

  std::string Write(bool show_sql) {
    Add("**{}** {}\n\n", VerdictName(made_), E(made_.verdict));
    if (made_.level >= Level::kWarning) Remedy(made_.findings.front().remedy);
    Victims();
    Add("## Culprits\n\n");
    if (made_.findings.empty()) Add("none\n\n");
    for (const ExplainFinding& finding : made_.findings) Finding(finding, show_sql);
    Add("## Wait chains\n\n");
    for (const Chain& chain : made_.chains) {
      if (!chain.is_total) {
        Add("The wait of {} at {:.6f} s:\n\n", FormatDuration({chain.time.length()}),
            At(chain.time.begin));
      }
      Tree(chain.tree, 0);
      Add("\n");
    }
    Evidence();
    return std::move(text_);
  }

 private:
  template <class... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  static std::string Task(const TaskName& task) {
    return fmt::format("{} (tid {})", E(task.thread), task.tid);
  }
  double At(std::int64_t ts) const { return static_cast<double>(ts - made_.trace.begin) / 1e9; }

  void Remedy(const analysis::Remedy& remedy) {
    Add("What to do: {}; it wins {} at most.\n\n", E(remedy.text),
        FormatDuration({remedy.wins_at_most_ns}));
    if (!remedy.command.empty()) text_ += Fenced(remedy.command, "sh") + "\n";
  }

  void Victims() {
    Add("## Time of the victims\n\n");
    for (const ExplainVictim& victim : made_.victims) {
      Add("### {} of {} (pid {})\n\n{}\n\n| share | time | what |\n|---:|---:|---|\n",
          Task(victim.name), E(victim.name.process), victim.name.pid, E(victim.why));
      for (const BudgetRow& row : victim.budget) {
        Add("| {:.1f} % | {} | {} |\n",
            made_.examined_ns > 0
                ? 100.0 * static_cast<double>(row.ns) / static_cast<double>(made_.examined_ns)
                : 0.0,
            FormatDuration({row.ns}), E(row.name));
      }
      Add("\n");
    }
  }

  void Finding(const ExplainFinding& finding, bool show_sql) {
    const Amount& amount = finding.victims.front().waited;
    Add("### {} {}\n\n{}\n\n{} ({:.1f} %) in {} waits, longest {} at {:.6f} s; confidence {:.0f} "
        "%: "
        "{}\n\n",
        LevelName(finding.level), E(finding.id), E(finding.summary), FormatDuration({amount.ns}),
        100 * finding.share(), FormatCount(static_cast<std::uint64_t>(amount.count)),
        FormatDuration({amount.worst_ns}), At(amount.worst_ts), 100 * finding.confidence,
        E(finding.confidence_why));
    for (const std::string& line : finding.evidence) Add("- {}\n", E(line));
    if (!finding.evidence.empty()) Add("\n");
    if (finding.level >= Level::kWarning) Remedy(finding.remedy);
    if (show_sql && !finding.sql.empty()) text_ += Fenced(finding.sql, "sql") + "\n";
  }

  void Tree(const ChainTree& tree, int depth) {
    const std::string indent(static_cast<std::size_t>(2 * depth), ' ');
    Add("{}- {}{}: {}\n", indent, depth == 0 ? "" : "woken by ", Task(tree.thread),
        FormatDuration({tree.waited.ns}));
    for (const ChainCause& cause : tree.causes) {
      Add("{}  - {}: {}\n", indent, FormatDuration({cause.amount.ns}), E(cause.text));
    }
    if (depth >= kMostDepth) return;
    for (const ChainTree& child : tree.children) Tree(child, depth + 1);
  }

  void Evidence() {
    const analysis::Evidence& evidence = made_.evidence;
    Add("## Evidence\n\n- {} events lost\n", FormatCount(evidence.lost_events));
    for (const LostGap& gap : evidence.lost) {
      Add("- CPU {}: {} events lost within {} at {:.6f} s\n", gap.cpu, FormatCount(gap.events),
          FormatDuration({gap.time.length()}), At(gap.time.begin));
    }
    Add("- {:.1f} % of the victims' time is not known\n- {} waits are cut at the edges of the "
        "window\n- {} of {} waits in D have a stack\n",
        100 * evidence.unknown_share, evidence.cut_waits, evidence.blocked_waits_with_stack,
        evidence.blocked_waits);
    for (const std::string& note : evidence.notes) Add("- {}\n", E(note));
    for (const std::string& line : made_.examined) {
      if (line.find("not examined") != std::string::npos) Add("- {}\n", E(line));
    }
  }

  const Explanation& made_;
  std::string text_;
};

}  // namespace

std::string ExplainMarkdown(const Explanation& made, const std::string& file, bool show_sql) {
  return "# culprit explain " + E(file) + "\n\n" + Writer(made).Write(show_sql);
}

}  // namespace culprit::views
