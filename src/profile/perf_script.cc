// The text that `perf script` prints, with any of its usual fields.
//
//   comm  pid/tid [cpu] seconds:  period event:  payload, or address symbol (module)
//           address symbol+0xoffset (module)         innermost first
//           address symbol (inlined)
//   (an empty line)
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "base/text.h"
#include "profile/kind_table.h"
#include "profile/names.h"
#include "profile/read.h"

namespace culprit::profile {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdef";

struct Header {
  std::string_view comm;
  std::int32_t pid = -1;  // -1: the text has only tids
  std::int32_t tid = -1;
  std::int32_t cpu = -1;
  std::int64_t ts = 0;
  bool has_time = false;
  std::string_view rest;  // behind the time, or behind the ids where no time is printed
};

// Reads a text from its front; each Take is all or nothing.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  std::string_view rest() const { return text_; }
  void SkipBlanks() { text_.remove_prefix(std::min(text_.find_first_not_of(" \t"), text_.size())); }
  std::string_view TakeAny(std::string_view characters) {
    const std::size_t size = std::min(text_.find_first_not_of(characters), text_.size());
    const std::string_view taken = text_.substr(0, size);
    text_.remove_prefix(size);
    return taken;
  }
  bool Take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

 private:
  std::string_view text_;
};

// "[003]"; old kernels print it in front of the time.
bool TakeCpu(Cursor& cursor, std::int32_t& cpu) {
  Cursor probe = cursor;
  if (!probe.Take('[')) return true;
  const std::string_view digits = probe.TakeAny(kDigits);
  if (digits.empty() || !probe.Take(']')) return false;
  cpu = ParseInteger<std::int32_t>(digits).value_or(-1);
  probe.SkipBlanks();
  cursor = probe;
  return true;
}

// "441995.133575:" to nanoseconds; perf prints six digits, or nine with --ns.
std::optional<std::int64_t> TakeTime(Cursor& cursor) {
  Cursor probe = cursor;
  const std::string_view seconds = probe.TakeAny(kDigits);
  if (seconds.empty() || !probe.Take('.')) return std::nullopt;
  std::string fraction(probe.TakeAny(kDigits).substr(0, 9));
  if (fraction.empty() || !probe.Take(':')) return std::nullopt;
  fraction.resize(9, '0');
  const auto whole = ParseInteger<std::int64_t>(seconds);
  if (!whole || *whole > INT64_MAX / 1'000'000'000 - 1) return std::nullopt;
  cursor = probe;
  return *whole * 1'000'000'000 + ParseInteger<std::int64_t>(fraction).value_or(0);
}

// The ids at `cursor` ("27409/28744" or "27409") and what follows, if they are followed by a time,
// or, with `without_time`, by an event.
std::optional<Header> TakeIds(Cursor cursor, bool without_time) {
  Header header;
  const auto first = ParseInteger<std::int32_t>(cursor.TakeAny(kDigits));
  if (!first) return std::nullopt;
  header.tid = *first;
  if (cursor.Take('/')) {
    const auto second = ParseInteger<std::int32_t>(cursor.TakeAny(kDigits));
    if (!second) return std::nullopt;
    header.pid = *first;
    header.tid = *second;
  }
  const std::size_t before = cursor.rest().size();
  cursor.SkipBlanks();
  if (cursor.rest().size() == before) return std::nullopt;
  if (!TakeCpu(cursor, header.cpu)) return std::nullopt;
  if (const auto time = TakeTime(cursor)) {
    header.ts = *time;
    header.has_time = true;
  } else if (!without_time) {
    return std::nullopt;
  }
  header.rest = TrimBlanks(cursor.rest());
  return header;
}

// A comm can have blanks and numbers in it ("worker 12"), so the ids are where the rest fits: the
// first number behind a blank that is followed by [cpu] and a time.
std::optional<Header> ParseHeader(std::string_view line) {
  line = TrimBlanks(line);
  for (const bool without_time : {false, true}) {
    for (std::size_t at = line.find_first_of(" \t"); at != std::string_view::npos;
         at = line.find_first_of(" \t", at + 1)) {
      auto header = TakeIds(Cursor(line.substr(at + 1)), without_time);
      if (!header) continue;
      if (without_time && header->rest.find(':') == std::string_view::npos) continue;
      header->comm = TrimBlanks(line.substr(0, at));
      if (!header->comm.empty()) return header;
    }
  }
  return std::nullopt;
}

struct FrameLine {
  std::uint64_t address = 0;
  std::string_view name;
  std::string_view module;
};

// "ffffffff81054fbf native_write_msr+0x6 ([kernel.kallsyms])": names and modules may have blanks
// and parentheses, so the module is the last group of balanced ones.
std::optional<FrameLine> ParseFrame(std::string_view line) {
  line = TrimBlanks(line);
  const std::size_t blank = line.find_first_of(" \t");
  if (blank == std::string_view::npos || !line.ends_with(')')) return std::nullopt;
  if (line.substr(0, blank).find_first_not_of(kHexDigits) != std::string_view::npos) {
    return std::nullopt;
  }
  FrameLine frame;
  const auto address = ParseInteger<std::uint64_t>(line.substr(0, blank), 16);
  if (!address) return std::nullopt;
  frame.address = *address;
  const std::string_view text = TrimBlanks(line.substr(blank));
  std::size_t depth = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] != '(' || --depth != 0) continue;
    frame.name = TrimBlanks(text.substr(0, at));
    frame.module = text.substr(at + 1, text.size() - at - 2);
    // "+0x1f" behind a name is the offset within the function.
    if (const std::size_t plus = frame.name.rfind("+0x");
        plus != std::string_view::npos && plus > 0 &&
        frame.name.find_first_not_of(kHexDigits, plus + 3) == std::string_view::npos) {
      frame.name = frame.name.substr(0, plus);
    }
    return frame;
  }
  return std::nullopt;
}

// "Ljava/io/PrintStream;::print": perf-map-agent's names of Java's methods.
bool IsJavaSignature(std::string_view name) {
  if (!name.starts_with('L')) return false;
  const std::size_t end = std::min(name.find_first_of(" :*~()"), name.size());
  const std::string_view path = name.substr(0, end);
  return path.find('/') != std::string_view::npos && path.find(';') != std::string_view::npos;
}

class Parser {
 public:
  explicit Parser(const ReadOptions& options) : options_(options) {
    profile_.format = "perf script text";
  }

  void Line(std::string_view line) {
    if (line.starts_with('#')) return;
    if (TrimBlanks(line).empty()) return Finish();
    const bool indented = line.front() == ' ' || line.front() == '\t';
    // Comms are right-aligned, so headers can be indented, too; a frame never looks like one.
    if (open_ && indented) {
      if (const auto frame = ParseFrame(line)) return AddFrame(*frame);
    }
    if (auto header = ParseHeader(line)) {
      Finish();
      return Begin(*header);
    }
    // Lines of source (-F +srcline) stand between frames; anything else is not ours.
    if (!open_ || !indented) ++unknown_lines_;
  }

  Result<Profile> End() {
    Finish();
    if (samples_seen_ == 0) {
      return Error{"no line is a sample of perf script", "make the text with: perf script"};
    }
    profile_.has_threads = true;
    for (Thread& thread : profile_.threads) {
      // Samples before the first one of the main thread.
      const auto found = processes_.find(thread.pid);
      if (thread.process == 0 && found != processes_.end()) thread.process = found->second;
    }
    if (unknown_lines_ > 0) {
      profile_.notes.push_back(
          {FormatCount(unknown_lines_) + " lines are not perf script's and were left out", true});
    }
    return std::move(profile_);
  }

 private:
  void Begin(const Header& header) {
    ++samples_seen_;
    open_ = true;
    frames_.clear();
    Cursor cursor(header.rest);
    const std::string_view period = cursor.TakeAny(kDigits);
    std::int64_t weight = 1;
    bool has_period = false;
    if (!period.empty() && (cursor.rest().starts_with(' ') || cursor.rest().starts_with('\t'))) {
      weight = ParseInteger<std::int64_t>(period).value_or(1);
      has_period = true;
      cursor.SkipBlanks();
    } else {
      cursor = Cursor(header.rest);
    }
    const std::string_view rest = cursor.rest();
    // "cycles:u:" ends with the colon that a blank or the line's end follows.
    std::size_t colon = rest.find(": ");
    if (colon == std::string_view::npos && rest.ends_with(':')) colon = rest.size() - 1;
    const bool has_event =
        colon != std::string_view::npos && rest.find_first_of(" \t") >= colon && colon > 0;
    const std::string_view event = has_event ? rest.substr(0, colon) : "samples";
    const std::string_view behind =
        has_event ? rest.substr(std::min(colon + 1, rest.size())) : rest;
    const bool is_time = event.starts_with("cpu-clock") || event.starts_with("task-clock");
    // perf prints a period of 0 where the event has none; the sample still is one.
    sample_ = {.ts = header.ts,
               .weight = weight == 0 ? 1 : weight,
               .thread = ThreadOf(header),
               .cpu = header.cpu,
               .metric = profile_.InternMetric(event, !has_period ? "samples"
                                                      : is_time   ? "ns"
                                                                  : "")
                             .value_or(0)};
    profile_.has_times |= header.has_time;
    // Without call chains the one frame stands in the same line.
    own_frame_ = ParseFrame(behind);
  }

  void AddFrame(const FrameLine& frame) {
    if (frame.name.starts_with('(')) return;  // perf's old way to say the process again
    // perf-map-agent names inlined Java as "caller->inlined->inlined".
    std::string_view rest = frame.name;
    std::size_t first = frames_.size();
    for (bool inlined = false;; inlined = true) {
      const std::size_t arrow =
          IsJitModule(frame.module) ? rest.find("->") : std::string_view::npos;
      frames_.push_back(MakeFrame(frame, rest.substr(0, arrow), inlined));
      if (arrow == std::string_view::npos) break;
      rest.remove_prefix(arrow + 2);
    }
    std::reverse(frames_.begin() + static_cast<std::ptrdiff_t>(first), frames_.end());
  }

  FrameId MakeFrame(const FrameLine& frame, std::string_view name, bool inlined) {
    if (name == "[unknown]" || name.empty()) {
      const std::string_view module = frame.module == "[unknown]" ? "" : frame.module;
      return profile_.InternFrame(
          UnknownName(module, frame.address, std::nullopt, options_.unknown), frame.module,
          IsKernelModule(frame.module) ? FrameKind::kKernel : FrameKind::kUnknown);
    }
    if (inlined || frame.module == "inlined") {
      return profile_.InternFrame(ShownName(name, options_), "", FrameKind::kInlined);
    }
    const FrameKind kind = KindOf(name, frame.module);
    const bool is_java = kind == FrameKind::kJit && IsJavaSignature(name);
    return profile_.InternFrame(ShownName(is_java ? name.substr(1) : name, options_), frame.module,
                                kind);
  }

  ThreadId ThreadOf(const Header& header) {
    const auto comm = profile_.strings.Intern(header.comm);
    // A process is called as its main thread is at that time: exec gives it another name.
    if (header.pid >= 0 && header.pid == header.tid) processes_[header.pid] = comm;
    const auto process = processes_.find(header.pid);
    const StringId process_name = process == processes_.end() ? 0 : process->second;
    const auto [entry, added] =
        threads_.try_emplace({header.pid, header.tid, comm, process_name}, ThreadId{0});
    if (added) {
      entry->second = profile_.AddThread(
          {.comm = comm, .process = process_name, .pid = header.pid, .tid = header.tid});
    }
    return entry->second;
  }

  void Finish() {
    if (!open_) return;
    open_ = false;
    if (frames_.empty() && own_frame_) AddFrame(*own_frame_);
    std::reverse(frames_.begin(), frames_.end());
    sample_.stack = profile_.InternStack(frames_);
    profile_.samples.push_back(sample_);
  }

  const ReadOptions& options_;
  Profile profile_;
  Sample sample_;
  std::vector<FrameId> frames_;  // of the open sample, innermost first
  std::optional<FrameLine> own_frame_;
  std::map<std::tuple<std::int32_t, std::int32_t, StringId, StringId>, ThreadId> threads_;
  std::map<std::int32_t, StringId> processes_;
  std::size_t samples_seen_ = 0;
  std::size_t unknown_lines_ = 0;
  bool open_ = false;
};

}  // namespace

Result<Profile> ReadPerfScript(std::string_view text, const ReadOptions& options) {
  Parser parser(options);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    parser.Line(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parser.End();
}

}  // namespace culprit::profile
