#include "load/ftrace_text/line.h"

#include <algorithm>

#include "base/text.h"

namespace culprit::load::ftrace_text {
namespace {

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

std::string_view TakeWord(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
  rest.remove_prefix(word.size());
  return word;
}

// The task before the CPU: "COMM-TID", "COMM-TID (TGID)", "COMM TID", "COMM TGID/TID".
bool ParseTask(std::string_view task, Line& line) {
  task = TrimBlanks(task);
  if (task.ends_with(')')) {
    const std::size_t open = task.rfind('(');
    if (open == std::string_view::npos) return false;
    const std::string_view tgid = TrimBlanks(task.substr(open + 1, task.size() - open - 2));
    if (AllDigits(tgid)) {
      line.tgid = ParseInteger<std::int64_t>(tgid).value_or(-1);
    } else if (tgid.find_first_not_of('-') != std::string_view::npos) {
      return false;  // "(-----)" is a process that the kernel did not know
    }
    task = TrimBlanks(task.substr(0, open));
  }
  std::size_t digits = task.size();
  while (digits > 0 && IsDigit(task[digits - 1])) --digits;
  const auto tid = ParseInteger<std::int64_t>(task.substr(digits));
  if (!tid.has_value() || digits == 0) return false;
  line.tid = *tid;
  const char before = task[digits - 1];
  std::string_view comm = task.substr(0, digits - 1);
  if (before == '/') {
    std::size_t first = comm.size();
    while (first > 0 && IsDigit(comm[first - 1])) --first;
    const auto tgid = ParseInteger<std::int64_t>(comm.substr(first));
    if (!tgid.has_value() || first == 0 || comm[first - 1] != ' ') return false;
    line.tgid = *tgid;
    comm = comm.substr(0, first - 1);
  } else if (before != '-' && before != ' ') {
    return false;
  }
  line.comm = TrimBlanks(comm);
  return true;
}

// What stands behind the CPU: flags (or none), the time, the name, the arguments.
bool ParseRest(std::string_view rest, Line& line) {
  std::string_view word = TakeWord(rest);
  if (!word.ends_with(':')) {
    line.flags = word;
    word = TakeWord(rest);
  }
  if (!word.ends_with(':')) return false;
  word.remove_suffix(1);
  if (line.flags.empty() && word.size() > 5 && !IsDigit(word.front())) {
    // Large times leave no blank behind the flags, of which there are four or (5.17 on) five.
    const std::size_t flags = IsDigit(word[4]) ? 4 : 5;
    line.flags = word.substr(0, flags);
    word.remove_prefix(flags);
  }
  const auto ts = ParseTimestamp(word);
  if (!ts.has_value()) return false;
  line.ts = *ts;
  rest = TrimBlanks(rest);
  if (rest == "<stack trace>" || rest.starts_with("<stack trace>")) {
    line.name = "kernel_stack";
    return true;
  }
  // "name: arguments"; perf puts the group before the name, and a period before both.
  std::size_t colon = rest.find(": ");
  if (colon == std::string_view::npos) {
    if (!rest.ends_with(':')) return false;
    colon = rest.size() - 1;
  }
  std::string_view name = rest.substr(0, colon);
  if (const std::size_t blank = name.rfind(' '); blank != std::string_view::npos) {
    if (!AllDigits(TrimBlanks(name.substr(0, blank)))) return false;
    name = name.substr(blank + 1);
  }
  line.name = name.substr(name.rfind(':') + 1);
  line.arguments = TrimBlanks(rest.substr(colon + 1));
  return !line.name.empty();
}

}  // namespace

std::optional<std::int64_t> ParseTimestamp(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return ParseInteger<std::int64_t>(text);
  const auto seconds = ParseInteger<std::int64_t>(text.substr(0, dot));
  const std::string_view digits = text.substr(dot + 1);
  if (!seconds.has_value() || *seconds < 0 || !AllDigits(digits) || digits.size() > 9) {
    return std::nullopt;
  }
  std::int64_t fraction = 0;
  for (std::size_t i = 0; i < 9; ++i) {
    fraction = fraction * 10 + (i < digits.size() ? digits[i] - '0' : 0);
  }
  std::int64_t ns;
  if (__builtin_mul_overflow(*seconds, std::int64_t{1'000'000'000}, &ns) ||
      __builtin_add_overflow(ns, fraction, &ns)) {
    return std::nullopt;
  }
  return ns;
}

std::optional<Line> ParseLine(std::string_view text) {
  // A comm may hold brackets and blanks: the CPU is the first bracketed number that the rest of the
  // line agrees with.
  for (std::size_t open = text.find('['); open != std::string_view::npos;
       open = text.find('[', open + 1)) {
    const std::size_t close = text.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view number = text.substr(open + 1, close - open - 1);
    Line line;
    const auto cpu = ParseInteger<std::uint32_t>(number);
    if (!AllDigits(number) || !cpu.has_value() || *cpu >= 65536) continue;
    line.cpu = *cpu;
    if (ParseTask(text.substr(0, open), line) && ParseRest(text.substr(close + 1), line)) {
      return line;
    }
  }
  return std::nullopt;
}

std::optional<LostLine> ParseLostLine(std::string_view text) {
  text = TrimBlanks(text);
  if (!text.starts_with("CPU:") || !text.ends_with("]")) return std::nullopt;
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) return std::nullopt;
  const auto cpu = ParseInteger<std::uint32_t>(TrimBlanks(text.substr(4, open - 4)));
  const std::string_view what = text.substr(open + 1, text.size() - open - 2);
  if (!cpu.has_value() || *cpu >= 65536) return std::nullopt;
  if (what.find("LOST") == std::string_view::npos &&
      what.find("DROPPED") == std::string_view::npos) {
    return std::nullopt;
  }
  LostLine lost{*cpu, std::nullopt};
  for (const std::string_view word : SplitWords(what)) {
    if (AllDigits(word)) lost.events = ParseInteger<std::int64_t>(word);
  }
  return lost;
}

}  // namespace culprit::load::ftrace_text
