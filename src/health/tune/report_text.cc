#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "health/tune/report.h"

namespace culprit::tune {
namespace {

constexpr std::size_t kWidth = 100;  // of the paragraphs, as log viewers and terminals like it

// "  why     text ...", wrapped at blanks and indented behind the label.
void Paragraph(std::string& out, std::string_view label, std::string_view text) {
  if (text.empty()) return;
  constexpr std::size_t kIndent = 12;
  std::string line = fmt::format("  {:<{}}", label, kIndent - 2);
  bool first_word = true;
  for (const auto word : SplitWords(text)) {
    if (!first_word && line.size() + 1 + word.size() > kWidth) {
      out.append(line).push_back('\n');
      line.assign(kIndent, ' ');
      first_word = true;
    }
    if (!first_word) line.push_back(' ');
    line.append(word);
    first_word = false;
  }
  out.append(line).push_back('\n');
}

std::string Wanted(const AuditItem& item) {
  return std::string(RelationText(item.advice.relation)) + item.advice.value;
}

void Details(std::string& out, const AuditItem& item) {
  const auto safe = [](const std::string& text) { return SafeForTerminal(text); };
  if (!item.current.empty()) Paragraph(out, "now", safe(OriginText(item)));
  if (!item.advice.value.empty()) Paragraph(out, "advised", safe(Wanted(item)));
  Paragraph(out, "here", safe(item.reason));
  Paragraph(out, "why", safe(item.why));
  Paragraph(out, "profiles", safe(item.by_profile));
  Paragraph(out, "breaks", safe(item.breaks));
  Paragraph(out, "default", safe(item.kernel_default));
  Paragraph(out, "source", safe(item.source));
}

struct Group {
  ItemStatus status;
  std::string_view title;
};
constexpr Group kGroups[] = {{ItemStatus::kOk, "as advised"},
                             {ItemStatus::kLeave, "to be left as it is"},
                             {ItemStatus::kUnknown, "not known"},
                             {ItemStatus::kNotApplicable, "not applicable"}};

void ShortLine(std::string& out, const AuditItem& item, std::size_t key_width) {
  const bool has_value = !item.current.empty();
  std::string text = has_value ? OriginText(item) : "";
  if (!item.reason.empty()) text += (has_value ? ": " : "") + item.reason;
  out += fmt::format("  {:<{}}  {}\n", SafeForTerminal(item.key), key_width, SafeForTerminal(text));
}

std::string Counts(const Audit& audit) {
  const auto count = [&](ItemStatus status) { return audit.Count(status); };
  const auto change = count(ItemStatus::kChange);
  std::string text = change == 0 ? "nothing to change" : fmt::format("{} to change", change);
  if (const auto obsolete = count(ItemStatus::kObsolete); obsolete > 0) {
    text += fmt::format(", {} obsolete line{}", obsolete, obsolete == 1 ? "" : "s");
  }
  return text + fmt::format(", {} as advised, {} to be left, {} not known, {} not applicable",
                            count(ItemStatus::kOk), count(ItemStatus::kLeave),
                            count(ItemStatus::kUnknown), count(ItemStatus::kNotApplicable));
}

}  // namespace

std::string OriginText(const AuditItem& item) {
  const Setting& set_by = item.origin.set_by;
  std::string text = item.current;
  switch (set_by.kind) {
    case OriginKind::kKernelDefault:
      text += ", the kernel's default";
      break;
    case OriginKind::kSizedAtBoot:
      if (item.place != Place::kLimit) text += ", set by no file (kernel or run time)";
      break;
    case OriginKind::kRunTime:
      if (item.place != Place::kLimit) text += ", written at run time";
      break;
    default:
      text += ", from " + set_by.place;
  }
  if (item.origin.at_boot) {
    text += "; next boot: " + OneLine(item.origin.at_boot->value) + " from " +
            item.origin.at_boot->place;
  }
  return text;
}

std::string AuditText(const Audit& audit, const TextOptions& options) {
  std::string out;
  if (options.policy.empty()) {
    const auto profile = kProfileNames[static_cast<std::size_t>(audit.profile)];
    out += fmt::format("tune: {} (profile {})\n", Counts(audit), profile);
  } else {
    out += fmt::format("tune: {} (policy {})\n", Counts(audit), SafeForTerminal(options.policy));
  }
  out += SafeForTerminal(audit.node.Summary()) + "\n";
  if (!audit.tuned_profile.empty()) {
    out += "tuned profile: " + SafeForTerminal(audit.tuned_profile) + "\n";
  }
  for (const std::string& problem : audit.problems) {
    out += "not read: " + SafeForTerminal(problem) + "\n";
  }
  for (const AuditItem& item : audit.items) {
    if (item.status == ItemStatus::kChange) {
      out += fmt::format("\nCHANGE {}: {} -> {}\n", SafeForTerminal(item.key),
                         SafeForTerminal(item.current), SafeForTerminal(Wanted(item)));
      Details(out, item);
    } else if (item.status == ItemStatus::kObsolete) {
      out += fmt::format("\nOBSOLETE {}\n", SafeForTerminal(item.key));
      Paragraph(out, "here", SafeForTerminal(item.reason));
    }
  }
  std::size_t key_width = 0;
  for (const AuditItem& item : audit.items) {
    key_width = std::max(key_width, std::min<std::size_t>(item.key.size(), 40));
  }
  for (const Group& group : kGroups) {
    if (audit.Count(group.status) == 0) continue;
    out += fmt::format("\n{}\n", group.title);
    for (const AuditItem& item : audit.items) {
      if (item.status != group.status) continue;
      if (options.every_detail) {
        out += fmt::format(" {}\n", SafeForTerminal(item.key));
        Details(out, item);
      } else {
        ShortLine(out, item, key_width);
      }
    }
  }
  return out;
}

std::string ChangeText(const ChangeReport& report, const std::string& verb) {
  std::string out;
  std::size_t done = 0;
  for (const Step& step : report.steps) {
    const std::string name = SafeForTerminal(step.key.empty() ? step.path : step.key);
    const bool own_file = step.key.empty() || step.path.starts_with("/proc/sys/");
    const std::string place = own_file ? "" : " (" + SafeForTerminal(step.path) + ")";
    const std::string reason = SafeForTerminal(step.reason);
    const std::string change =
        SafeForTerminal(step.from) + " -> " + SafeForTerminal(step.to.empty() ? "-" : step.to);
    switch (step.outcome) {
      case StepOutcome::kDone:
        ++done;
        out += fmt::format("{}{}{}: {}", report.dry_run ? "would write " : "", name, place, change);
        if (!reason.empty()) out += (verb == "apply" ? "; but " : "; ") + reason;
        out += "\n";
        break;
      case StepOutcome::kNothing:
        out += fmt::format("{}{}: {}\n", name, place, reason);
        break;
      case StepOutcome::kRefused:
        out += fmt::format("REFUSED {}{}: {}\n", name, place, reason);
        break;
      case StepOutcome::kFailed:
        out += fmt::format("FAILED {}{}: {}\n", name, place, reason);
        break;
    }
  }
  for (const std::string& file : report.files) out += SafeForTerminal(file) + "\n";
  const auto bad = static_cast<std::size_t>(std::ranges::count_if(report.steps, [](const Step& s) {
    return s.outcome == StepOutcome::kRefused || s.outcome == StepOutcome::kFailed;
  }));
  if (verb == "rollback" && report.steps.empty() && report.files.empty()) {
    return out + "rollback: nothing to take back: tune has applied nothing here\n";
  }
  out += fmt::format("{}: {} value{} {}", verb, done, done == 1 ? "" : "s",
                     report.dry_run       ? "would be written; nothing was"
                     : verb == "rollback" ? "restored"
                                          : "written and read back");
  if (bad > 0) out += fmt::format(", {} not", bad);
  return out + "\n";
}

}  // namespace culprit::tune
