// The manual as a terminal, man(1) and a Markdown viewer show it.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "cli/manual.h"

namespace culprit::cli {
namespace {

// Words filled into lines of at most `columns`, the lines after the first indented.
std::string Fill(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string filled;
  std::size_t column = indent;
  for (const auto word : SplitWords(text)) {
    if (!filled.empty()) {
      if (column + 1 + word.size() > columns) {
        filled += "\n" + std::string(indent, ' ');
        column = indent;
      } else {
        filled += ' ';
        ++column;
      }
    }
    filled += word;
    column += word.size();
  }
  return filled;
}

std::string Description(const OptionDoc& option) {
  std::string text = option.description;
  if (!option.choices.empty() && option.value != "CATEGORY" && option.value != "VERB") {
    text += ": ";
    for (std::size_t i = 0; i < option.choices.size(); ++i) {
      if (i > 0) text += ", ";
      text += option.choices[i];
    }
  }
  if (!option.default_value.empty()) text += " (default: " + option.default_value + ")";
  return text;
}

// Names in a column of their own; a long one stands above its description.
std::string TextList(const std::vector<OptionDoc>& options) {
  constexpr std::size_t kLongestColumn = 26;
  std::size_t widest = 0;
  for (const OptionDoc& option : options) {
    const std::size_t width = option.Names().size();
    if (width <= kLongestColumn) widest = std::max(widest, width);
  }
  const std::size_t indent = widest + 4;
  std::string text;
  for (const OptionDoc& option : options) {
    const std::string names = option.Names();
    text += "  " + names;
    text += names.size() <= widest ? std::string(indent - 2 - names.size(), ' ')
                                   : "\n" + std::string(indent, ' ');
    text += Fill(Description(option), indent, kTextColumns) + "\n";
  }
  return text;
}

std::string Paragraphs(std::string_view details) {
  std::string text;
  std::string paragraph;
  const auto flush = [&] {
    if (!paragraph.empty()) text += Fill(paragraph, 0, kTextColumns) + "\n";
    paragraph.clear();
  };
  for (const auto line : SplitLines(details)) {
    if (line.empty() ||
        line.starts_with("  ")) {  // a blank line ends one; an indented line is kept
      flush();
      text.append(line).append("\n");
    } else {
      paragraph.append(line).append(" ");
    }
  }
  flush();
  return text;
}

std::string_view WithoutLastNewline(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// Text in roff: a backslash, a leading dot or quote, and minus signs that must stay ASCII.
std::string Roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    line_start = c == '\n';
  }
  return escaped;
}

std::string RoffVerbatim(std::string_view text) {
  return ".nf\n" + Roff(WithoutLastNewline(text)) + "\n.fi\n";
}

std::string RoffList(const std::vector<OptionDoc>& options) {
  std::string text;
  for (const OptionDoc& option : options) {
    text += ".TP\n.B " + Roff(option.Names()) + "\n" + Roff(Description(option)) + "\n";
  }
  return text;
}

// Text in Markdown outside of code: what could open markup.
std::string Md(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<' || c == '*' || c == '_' || c == '[' || c == '`' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string MdList(const std::vector<OptionDoc>& options) {
  std::string text;
  for (const OptionDoc& option : options) {
    text += fmt::format("- `{}`: {}\n", option.Names(), Md(Description(option)));
  }
  return text;
}

}  // namespace

std::string HelpText(const VerbDoc& verb) {
  std::string text;
  for (const std::string& usage : verb.Usages()) {
    const std::size_t indent = usage.find(' ', sizeof("culprit")) + sizeof("Usage: ");
    text += (text.empty() ? "Usage: " : "       ") +
            Fill(usage, std::min<std::size_t>(indent, 24), kTextColumns) + "\n";
  }
  text += fmt::format("\n{}\n", Fill(verb.verb->summary, 0, kTextColumns));
  if (!verb.verb->details.empty()) text += "\n" + Paragraphs(verb.verb->details);
  if (!verb.positionals.empty()) text += "\nArguments:\n" + TextList(verb.positionals);
  if (!verb.options.empty()) text += "\nOptions:\n" + TextList(verb.options);
  if (!verb.verb->examples.empty()) text += fmt::format("\nExamples:\n{}", verb.verb->examples);
  return text;
}

std::string ProgramHelpText(const std::vector<VerbDoc>& verbs) {
  std::size_t widest = 0;
  for (const VerbDoc& verb : verbs) widest = std::max(widest, verb.verb->name.size());
  std::string text =
      fmt::format("{}\n\nUsage: culprit VERB [ARGUMENT]...\n\nVerbs:\n", kProgramSummary);
  for (const VerbDoc& verb : verbs) {
    text += fmt::format("  {:<{}}  {}\n", verb.verb->name, widest,
                        Fill(verb.verb->summary, widest + 4, kTextColumns));
  }
  text += fmt::format(
      "\nExamples:\n{}\nculprit VERB --help explains a verb, culprit help --man prints the whole "
      "manual, "
      "and\nculprit --version the version.\n",
      kProgramExamples);
  return text;
}

std::string ManPage(const std::vector<VerbDoc>& verbs, std::string_view version) {
  std::string page = fmt::format(
      ".TH CULPRIT 1 \"\" \"culprit {}\" \"User Commands\"\n.SH NAME\nculprit \\- find what makes "
      "the work "
      "on a Linux node wait\n.SH SYNOPSIS\n.nf\n",
      Roff(version));
  for (const VerbDoc& verb : verbs) {
    for (const std::string& usage : verb.Usages()) page += Roff(usage) + "\n";
  }
  page += fmt::format(".fi\n.SH DESCRIPTION\n{}\n.SH EXAMPLES\n{}.SH VERBS\n",
                      Roff(kProgramSummary), RoffVerbatim(kProgramExamples));
  for (const VerbDoc& verb : verbs) {
    page += fmt::format(".SS culprit {}\n", verb.verb->name);
    for (const std::string& usage : verb.Usages()) page += RoffVerbatim(usage);
    page += fmt::format(".PP\n{}\n", Roff(verb.verb->summary));
    if (!verb.verb->details.empty()) page += ".PP\n" + RoffVerbatim(Paragraphs(verb.verb->details));
    page += RoffList(verb.positionals) + RoffList(verb.options);
    if (!verb.verb->examples.empty())
      page += ".PP\nExamples:\n" + RoffVerbatim(verb.verb->examples);
  }
  page += ".SH EXIT STATUS\n";
  for (const auto& [status, meaning] : kExitStatuses) {
    page += fmt::format(".TP\n{}\n{}\n", status, Roff(meaning));
  }
  page += ".SH ENVIRONMENT\n.TP\nNO_COLOR\nno colours, whatever its value\n";
  return page;
}

std::string Markdown(const std::vector<VerbDoc>& verbs) {
  std::string text = fmt::format(
      "# The command line\n\nWritten by `culprit help --markdown`; `./dev bless` renews "
      "it.\n\n{}\n\n```\n{}```\n\n"
      "| verb | |\n|---|---|\n",
      Md(kProgramSummary), kProgramExamples);
  for (const VerbDoc& verb : verbs) {
    text += fmt::format("| [{0}](#culprit-{0}) | {1} |\n", verb.verb->name, Md(verb.verb->summary));
  }
  text += "\n| exit status | |\n|---|---|\n";
  for (const auto& [status, meaning] : kExitStatuses) {
    text += fmt::format("| {} | {} |\n", status, Md(meaning));
  }
  for (const VerbDoc& verb : verbs) {
    text += fmt::format("\n## culprit {}\n\n{}\n\n```\n", verb.verb->name, Md(verb.verb->summary));
    for (const std::string& usage : verb.Usages()) text += usage + "\n";
    text += "```\n";
    if (!verb.verb->details.empty()) {
      text += fmt::format("\n```\n{}\n```\n", WithoutLastNewline(Paragraphs(verb.verb->details)));
    }
    if (!verb.positionals.empty()) text += "\n" + MdList(verb.positionals);
    if (!verb.options.empty()) text += "\n" + MdList(verb.options);
    if (!verb.verb->examples.empty()) {
      text += fmt::format("\n```\n{}\n```\n", WithoutLastNewline(verb.verb->examples));
    }
  }
  return text;
}

}  // namespace culprit::cli
