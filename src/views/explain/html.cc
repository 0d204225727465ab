// culprit explain as one HTML file: no script, nothing fetched, every string of the recording
// escaped.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "base/embedded_file.h"
#include "base/text.h"
#include "views/explain/explain_view.h"
#include "views/explain/picture_svg.h"
#include "views/flame/markup.h"

namespace culprit::views {

extern const std::span<const EmbeddedFile> kPageFiles;

namespace {

using namespace analysis;  // NOLINT(google-build-using-namespace): this file is about its types

// Of a hostile recording; the walk's own trees are flat enough.
constexpr int kMostDepth = 40;

double Percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

// The colour of a row of a budget.
std::string_view ClassOf(std::string_view name) {
  if (name == "running") return "run";
  if (name == "preempted" || name == "runnable" || name == "irq" || name == "softirq")
    return "ready";
  if (name.starts_with("disk_wait") || name.starts_with("blocked")) return "blocked";
  if (name.starts_with("sleep")) return "sleep";
  return name == "stopped" ? "stop" : "unkn";
}

class Page {
 public:
  Page(const Explanation& made, const std::string& file) : made_(made), file_(file) {}

  std::string Write() {
    Head();
    Verdict();
    Victims();
    Findings();
    Chains();
    Evidence();
    html_ += "</body></html>\n";
    return std::move(html_);
  }

 private:
  template <class... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Args>(args)...);
  }
  static std::string E(std::string_view text) { return EscapeMarkup(text); }
  static std::string Task(const TaskName& task) {
    return fmt::format("{} (tid {})", E(task.thread), task.tid);
  }
  double At(std::int64_t ts) const { return static_cast<double>(ts - made_.trace.begin) / 1e9; }

  void Head() {
    std::string_view css;
    for (const EmbeddedFile& page_file : kPageFiles) {
      if (page_file.name == "explain.css") css = page_file.text;
    }
    Add("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\">"
        "<title>culprit explain {0}</title>\n<style>\n{1}</style></head>\n<body>\n"
        "<h1>culprit explain {0}</h1>\n",
        E(file_), css);
  }

  void Command(const Remedy& remedy) {
    Add("<p>What to do: {}; it wins {} at most.</p>\n", E(remedy.text),
        FormatDuration({remedy.wins_at_most_ns}));
    if (!remedy.command.empty()) Add("<pre>{}</pre>\n", E(remedy.command));
  }

  void Verdict() {
    const std::string_view level = VerdictName(made_);
    Add("<div class=\"verdict level-{0}\"><span class=\"badge {0}\">{0}</span>{1}", level,
        E(made_.verdict));
    if (made_.level >= Level::kWarning) Command(made_.findings.front().remedy);
    Add("</div>\n<p class=\"dim\">Examined: {} of {}; victims: {}.</p>\n",
        FormatDuration({made_.examined_ns}), FormatDuration({made_.trace.length()}),
        E(made_.selection_reason));
  }

  void Victims() {
    Add("<h2>Time of the victims</h2>\n<p class=\"legend\">");
    constexpr std::pair<std::string_view, std::string_view> kLegend[] = {
        {"run", "running"},
        {"ready", "ready, not running"},
        {"blocked", "uninterruptible"},
        {"sleep", "asleep"},
        {"stop", "stopped"},
        {"unkn", "not alive, not known"}};
    for (const auto& [css, label] : kLegend) Add("<span><i class=\"{}\"></i>{}</span>", css, label);
    Add("</p>\n");
    for (const ExplainVictim& victim : made_.victims) {
      Add("<h3>{} of {} (pid {})</h3><p class=\"dim\">{}</p>\n<div class=\"bar\">",
          Task(victim.name), E(victim.name.process), victim.name.pid, E(victim.why));
      for (const BudgetRow& row : victim.budget) {
        Add("<span class=\"{}\" style=\"width:{:.3f}%\" title=\"{}: {}\"></span>",
            ClassOf(row.name), Percent(row.ns, made_.examined_ns), E(row.name),
            FormatDuration({row.ns}));
      }
      Add("</div>\n<details><summary>in numbers</summary><table>\n");
      for (const BudgetRow& row : victim.budget) {
        Add("<tr><td class=\"n\">{:.1f} %</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
            Percent(row.ns, made_.examined_ns), FormatDuration({row.ns}), E(row.name));
      }
      Add("</table></details>\n");
    }
  }

  void Findings() {
    Add("<h2>Culprits</h2>\n");
    if (made_.findings.empty()) Add("<p>none</p>\n");
    for (std::size_t i = 0; i < made_.findings.size(); ++i) Finding(i);
    Add("<details><summary>What was examined</summary><ul>\n");
    for (const std::string& line : made_.examined) Add("<li>{}</li>\n", E(line));
    Add("</ul></details>\n");
  }

  void Finding(std::size_t index) {
    const ExplainFinding& finding = made_.findings[index];
    const Amount& amount = finding.victims.front().waited;
    Add("<div class=\"finding\"><h3><span class=\"badge {0}\">{0}</span>{1}</h3>\n<p>{2}</p>\n",
        LevelName(finding.level), E(finding.id), E(finding.summary));
    Add("<p class=\"dim\">{} ({:.1f} %) in {} waits, longest {} at {:.6f} s; confidence {:.0f} %: "
        "{}</p>\n",
        FormatDuration({amount.ns}), 100 * finding.share(),
        FormatCount(static_cast<std::uint64_t>(amount.count)), FormatDuration({amount.worst_ns}),
        At(amount.worst_ts), 100 * finding.confidence, E(finding.confidence_why));
    if (!finding.evidence.empty()) {
      Add("<ul>\n");
      for (const std::string& line : finding.evidence) Add("<li>{}</li>\n", E(line));
      Add("</ul>\n");
    }
    if (finding.level >= Level::kWarning) Command(finding.remedy);
    for (const Picture& picture : made_.pictures) {
      if (picture.finding != index) continue;
      Add("<p class=\"legend\">The longest wait: <span><i class=\"run\"></i>victim</span>"
          "<span><i class=\"culprit\"></i>culprit</span><span><i class=\"other\"></i>others on the "
          "CPU</span><span><i class=\"req\"></i>requests</span></p>\n");
      html_ += PictureSvg(made_, picture);
    }
    if (!finding.sql.empty()) {
      Add("<details><summary>the SQL that shows it</summary><pre>{}</pre></details>\n",
          Lines(finding.sql));
    }
    Add("</div>\n");
  }

  // Escaped, with its line breaks.
  static std::string Lines(std::string_view text) {
    std::string escaped;
    for (const std::string_view line : SplitLines(text)) escaped += E(line) + "\n";
    return escaped;
  }

  void Chains() {
    if (made_.chains.empty()) return;
    Add("<h2>Wait chains</h2>\n");
    for (const Chain& chain : made_.chains) {
      Add("<details{}><summary>", &chain == &made_.chains.front() ? " open" : "");
      if (chain.is_total) {
        Add("{}, in total", Task(chain.victim));
      } else {
        Add("{}, its wait of {} at {:.6f} s", Task(chain.victim),
            FormatDuration({chain.time.length()}), At(chain.time.begin));
      }
      Add("</summary>\n<ul class=\"tree\">");
      Tree(chain.tree, chain.tree.waited.ns, 0);
      Add("</ul></details>\n");
    }
  }

  void Tree(const ChainTree& tree, std::int64_t whole, int depth) {
    Add("<li>{}{}: {} ({:.1f} %){}<ul class=\"tree\">\n", depth == 0 ? "" : "← woken by ",
        Task(tree.thread), FormatDuration({tree.waited.ns}), Percent(tree.waited.ns, whole),
        tree.is_blocked ? ", uninterruptible" : "");
    for (const ChainCause& cause : tree.causes) {
      Add("<li><span class=\"dim\">{} ({:.1f} %)</span> {}</li>\n",
          FormatDuration({cause.amount.ns}), Percent(cause.amount.ns, whole), E(cause.text));
    }
    if (depth < kMostDepth) {
      for (const ChainTree& child : tree.children) Tree(child, whole, depth + 1);
    }
    Add("</ul></li>\n");
  }

  void Evidence() {
    const analysis::Evidence& evidence = made_.evidence;
    Add("<h2>Evidence</h2>\n<ul>\n<li>{} events lost</li>\n", FormatCount(evidence.lost_events));
    for (const LostGap& gap : evidence.lost) {
      Add("<li>CPU {}: {} events lost within {} at {:.6f} s</li>\n", gap.cpu,
          FormatCount(gap.events), FormatDuration({gap.time.length()}), At(gap.time.begin));
    }
    Add("<li>{:.1f} % of the victims' time is not known</li>\n<li>{} waits are cut at the edges of "
        "the window</li>\n<li>{} of {} waits in D have a stack</li>\n",
        100 * evidence.unknown_share, evidence.cut_waits, evidence.blocked_waits_with_stack,
        evidence.blocked_waits);
    if (!evidence.has_irqs) Add("<li>interrupts were not recorded</li>\n");
    if (!evidence.has_disk) Add("<li>disk requests were not recorded, or there were none</li>\n");
    for (const std::string& note : evidence.notes) Add("<li>{}</li>\n", E(note));
    Add("</ul>\n");
  }

  const Explanation& made_;
  const std::string& file_;
  std::string html_;
};

}  // namespace

std::string ExplainHtml(const Explanation& made, const std::string& file) {
  return Page(made, file).Write();
}

}  // namespace culprit::views
