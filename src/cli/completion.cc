// Completion scripts of bash, zsh and fish, from the same data as the manual.
#include <fmt/core.h>

#include <algorithm>

#include "cli/manual.h"

namespace culprit::cli {
namespace {

enum class Kind { kNothing, kWords, kFile, kDirectory, kPid };

Kind KindOf(const OptionDoc& option) {
  if (!option.choices.empty()) return Kind::kWords;
  const std::string& value = option.value;
  const auto holds = [&value](std::string_view word) { return value.find(word) != value.npos; };
  if (holds("FILE") || holds("TRACE") || holds("CONFIG")) return Kind::kFile;
  if (holds("DIR")) return Kind::kDirectory;
  if (holds("PID")) return Kind::kPid;
  return Kind::kNothing;
}

std::string Joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(separator)) + word;
  return text;
}

// One word for a shell, in single quotes.
std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// The first sentence or clause: completions show one short line.
std::string_view Short(std::string_view description) {
  return description.substr(0, std::min(description.find(';'), description.find(". ")));
}

std::string BashReply(const OptionDoc& option) {
  switch (KindOf(option)) {
    case Kind::kWords:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))",
                         Quote(Joined(option.choices, " ")));
    case Kind::kFile:
      return "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$word\"))";
    case Kind::kDirectory:
      return "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$word\"))";
    case Kind::kPid:
      return "COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$word\"))";
    case Kind::kNothing:
      return "COMPREPLY=()";
  }
  return "";
}

// What zsh does with a value: "words:(a b)", "file:_files".
std::string ZshAction(const OptionDoc& option) {
  switch (KindOf(option)) {
    case Kind::kWords:
      return "(" + Joined(option.choices, " ") + ")";
    case Kind::kFile:
      return "_files";
    case Kind::kDirectory:
      return "_files -/";
    case Kind::kPid:
      return "_pids";
    case Kind::kNothing:
      return " ";
  }
  return "";
}

// Inside of a spec, brackets and colons have a meaning.
std::string ZshText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string FishValue(const OptionDoc& option) {
  if (option.value.empty()) return "";
  switch (KindOf(option)) {
    case Kind::kWords:
      return " -x -a " + Quote(Joined(option.choices, " "));
    case Kind::kFile:
      return " -r -F";
    case Kind::kDirectory:
      return " -x -a '(__fish_complete_directories)'";
    case Kind::kPid:
      return " -x -a '(__fish_complete_pids)'";
    case Kind::kNothing:
      return " -x";
  }
  return "";
}

}  // namespace

std::string BashCompletion(const std::vector<VerbDoc>& verbs) {
  std::vector<std::string> names;
  std::string cases;
  for (const VerbDoc& verb : verbs) {
    names.emplace_back(verb.verb->name);
    std::vector<std::string> flags = {"--help"};
    std::string values;
    for (const OptionDoc& option : verb.options) {
      flags.insert(flags.end(), option.flags.begin(), option.flags.end());
      if (option.value.empty()) continue;
      values +=
          fmt::format("        {}) {}; return ;;\n", Joined(option.flags, "|"), BashReply(option));
    }
    cases += fmt::format("    {})\n", verb.verb->name);
    if (!values.empty()) cases += fmt::format("      case $before in\n{}      esac\n", values);
    cases += fmt::format(
        "      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$word\")); return; fi\n",
        Quote(Joined(flags, " ")));
    if (!verb.positionals.empty()) cases += "      " + BashReply(verb.positionals.back()) + "\n";
    cases += "      ;;\n";
  }
  return fmt::format(
      "# bash completion of culprit; written by `culprit help --completion bash`\n"
      "_culprit() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}  esac\n"
      "}}\n"
      "complete -F _culprit culprit\n",
      Quote(Joined(names, " ") + " --help --version"), cases);
}

std::string ZshCompletion(const std::vector<VerbDoc>& verbs) {
  std::string list, cases;
  for (const VerbDoc& verb : verbs) {
    list += fmt::format("    {}\n",
                        Quote(fmt::format("{}:{}", verb.verb->name, ZshText(verb.verb->summary))));
    cases += fmt::format("    {})\n      _arguments -s", verb.verb->name);
    for (const OptionDoc& option : verb.options) {
      for (const std::string& flag : option.flags) {
        // A repeated option starts with a star; a long one may take its value behind '='.
        std::string spec = (option.repeated ? "*" : "") + flag;
        if (!option.value.empty()) spec += flag.starts_with("--") ? "=" : "+";
        spec += "[" + ZshText(Short(option.description)) + "]";
        if (!option.value.empty()) spec += ":" + ZshText(option.value) + ":" + ZshAction(option);
        cases += " \\\n        " + Quote(spec);
      }
    }
    for (const OptionDoc& positional : verb.positionals) {
      cases += " \\\n        " + Quote((positional.repeated ? "*:" : ":") +
                                       ZshText(positional.value) + ":" + ZshAction(positional));
    }
    cases += " \\\n        '--help[explain this verb]'\n      ;;\n";
  }
  return fmt::format(
      "#compdef culprit\n# zsh completion of culprit; written by `culprit help --completion zsh`\n"
      "_culprit() {{\n"
      "  local -a verbs\n"
      "  verbs=(\n{}  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe verb verbs\n"
      "    return\n"
      "  fi\n"
      "  local verb=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $verb in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _culprit ]]; then _culprit \"$@\"; else compdef _culprit culprit; "
      "fi\n",
      list, cases);
}

std::string FishCompletion(const std::vector<VerbDoc>& verbs) {
  std::string text =
      "# fish completion of culprit; written by `culprit help --completion fish`\ncomplete -c "
      "culprit -f\n";
  for (const VerbDoc& verb : verbs) {
    text += fmt::format("complete -c culprit -n __fish_use_subcommand -a {} -d {}\n",
                        verb.verb->name, Quote(verb.verb->summary));
    const std::string seen = Quote(fmt::format("__fish_seen_subcommand_from {}", verb.verb->name));
    for (const OptionDoc& option : verb.options) {
      text += "complete -c culprit -n " + seen;
      for (const std::string& flag : option.flags) {
        text += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
      }
      text += FishValue(option) + " -d " + Quote(Short(option.description)) + "\n";
    }
    for (const OptionDoc& positional : verb.positionals) {
      const Kind kind = KindOf(positional);
      if (kind == Kind::kNothing) continue;
      const std::string what = kind == Kind::kFile ? " -F" : FishValue(positional);
      text += fmt::format("complete -c culprit -n {}{}\n", seen, what);
    }
  }
  return text;
}

}  // namespace culprit::cli
