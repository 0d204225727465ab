// Folded stacks: "outermost;...;innermost COUNT", a line a stack.
#include <charconv>

#include "base/text.h"
#include "profile/kind_table.h"
#include "profile/names.h"
#include "profile/read.h"

namespace culprit::profile {
namespace {

// "main;f 12": the stack and its count. Fractions, which some tools write, are rounded.
struct FoldedLine {
  std::string_view stack;
  std::int64_t weight = 0;
};

std::optional<FoldedLine> ParseLine(std::string_view line) {
  line = TrimBlanks(line);
  const std::size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) return std::nullopt;
  const std::string_view count = line.substr(blank + 1);
  std::int64_t weight = 0;
  if (const auto whole = ParseInteger<std::int64_t>(count)) {
    weight = *whole;
  } else if (const auto fraction = ParseNumber(count);
             fraction && *fraction >= 0 && *fraction < 9e18) {
    weight = static_cast<std::int64_t>(*fraction + 0.5);
  } else {
    return std::nullopt;
  }
  if (weight < 0) return std::nullopt;
  return FoldedLine{TrimBlanks(line.substr(0, blank)), weight};
}

}  // namespace

Result<Profile> ReadFolded(std::string_view text, const ReadOptions& options) {
  Profile profile;
  profile.format = "folded stacks";
  const ThreadId thread = profile.AddThread({});
  const auto metric = profile.InternMetric("samples", "samples");
  std::size_t wrong = 0;
  std::vector<FrameId> frames;
  for (const std::string_view line : SplitLines(text)) {
    if (TrimBlanks(line).empty() || line.starts_with('#')) continue;
    const auto parsed = ParseLine(line);
    if (!parsed) {
      ++wrong;
      continue;
    }
    frames.clear();
    for (const std::string_view name : Split(parsed->stack, ';')) {
      if (name.empty()) continue;
      const auto annotated = AnnotatedKind(name);
      // "[libc.so.6]" and "[libc.so.6+0x12]" are how code without a symbol is called.
      const bool unknown = name.size() > 2 && name.front() == '[' && name.back() == ']';
      const FrameKind kind = annotated ? *annotated
                             : unknown ? FrameKind::kUnknown
                                       : KindOf(name, "");
      frames.push_back(profile.InternFrame(
          annotated ? std::string(name) : symbols::Demangle(name, options.names), "", kind));
    }
    profile.samples.push_back({.weight = parsed->weight,
                               .stack = profile.InternStack(frames),
                               .thread = thread,
                               .metric = *metric});
  }
  if (profile.samples.empty() && wrong > 0) {
    return Error{"no line is a folded stack", "each is FRAME;FRAME;FRAME COUNT"};
  }
  if (wrong > 0) {
    profile.notes.push_back(
        {FormatCount(wrong) + " lines are no folded stacks and were left out", true});
  }
  return profile;
}

}  // namespace culprit::profile
