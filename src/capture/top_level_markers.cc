#include "capture/top_level_markers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace culprit::capture {
namespace {

// More of the buffer's text than this is not looked through.
constexpr std::size_t kMostText = std::size_t{8} << 20;

// "  bash-4711    [001] .....  12.345678: tracing_mark_write: text": true for every other event. A
// line without the head is the rest of a marker with several lines.
bool IsOtherEvent(std::string_view line) {
  const auto cpu = line.find("] ");
  if (line.starts_with('#') || cpu == line.npos) return false;
  const auto time_end = line.find(": ", cpu);
  if (time_end == line.npos || time_end == 0) return false;
  const char before = line[time_end - 1];
  if (before < '0' || before > '9') return false;
  return !line.substr(time_end + 2).starts_with("tracing_mark_write:");
}

// Whether the buffer holds anything but markers.
Result<bool> HoldsOtherEvents(const kernel::TraceDirectory& top) {
  CULPRIT_ASSIGN(const UniqueFd fd, OpenFile(top.PathOf("trace"), O_RDONLY));
  std::string text;
  std::vector<char> block(std::size_t{1} << 16);
  while (text.size() < kMostText) {
    const ssize_t got = read(fd.get(), block.data(), block.size());
    if (got < 0) return ErrnoError("read", top.PathOf("trace"), errno);
    if (got == 0) break;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
  const auto lines = Split(text, '\n');
  return std::ranges::any_of(lines, IsOtherEvent);
}

Result<std::string> Control(const kernel::TraceDirectory& top, std::string_view name) {
  CULPRIT_ASSIGN(const std::string text, top.Read(name));
  return std::string(TrimBlanks(text));
}

// "local global [boot] mono": the one in brackets.
std::string CurrentOf(std::string_view choices) {
  const auto begin = choices.find('[');
  const auto end = choices.find(']', begin);
  if (begin == choices.npos || end == choices.npos) return "";
  return std::string(choices.substr(begin + 1, end - begin - 1));
}

Error InTheWay(std::string what) {
  return Error{"markers go to the kernel's top-level trace buffer, " + std::move(what),
               "end that tracing (trace-cmd reset) if nobody needs it"};
}

}  // namespace

Result<TopLevelMarkers> TopLevelMarkers::Inspect(const kernel::TraceDirectory& top,
                                                 std::uint32_t page_bytes) {
  TopLevelMarkers markers(top);
  CULPRIT_ASSIGN(markers.lock_, OpenFile(top.path(), O_RDONLY | O_DIRECTORY));
  if (flock(markers.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    return Error{"another culprit record reads the markers of the top-level trace buffer",
                 "stop it first: culprit record --status"};
  }
  CULPRIT_ASSIGN(const std::string tracer, Control(top, "current_tracer"));
  if (tracer != "nop") return InTheWay("where the tracer " + tracer + " is on");
  CULPRIT_ASSIGN(const std::string enabled, Control(top, "events/enable"));
  if (enabled != "0") return InTheWay("where events are enabled");
  CULPRIT_ASSIGN(const std::string tracing_on, Control(top, "tracing_on"));
  if (tracing_on != "1") return InTheWay("where somebody has stopped a trace");
  if (top.SubBufferBytes() != page_bytes) {
    return InTheWay("whose sub-buffers somebody has made larger");
  }
  CULPRIT_ASSIGN(const bool others, HoldsOtherEvents(top));
  if (others) return InTheWay("which holds events of somebody's trace");
  CULPRIT_ASSIGN(const std::string clocks, Control(top, "trace_clock"));
  CULPRIT_ASSIGN(const std::string size, Control(top, "buffer_size_kb"));
  // "7 (expanded: 1408)": never used so far, and it cannot be made that small again.
  markers.ring_kb_ = ParseInteger<std::uint64_t>(size).value_or(0);
  markers.restores_.push_back({top.PathOf("trace_clock"), CurrentOf(clocks)});
  if (markers.ring_kb_ != 0) {
    markers.restores_.push_back({top.PathOf("buffer_size_kb"), size});
  }
  return markers;
}

TopLevelMarkers::TopLevelMarkers(TopLevelMarkers&& other) noexcept
    : top_(other.top_),
      lock_(std::move(other.lock_)),
      restores_(std::move(other.restores_)),
      ring_kb_(other.ring_kb_),
      is_borrowed_(std::exchange(other.is_borrowed_, false)) {}

Status TopLevelMarkers::Begin(std::string_view clock, std::uint64_t ring_bytes) {
  is_borrowed_ = true;
  CULPRIT_TRY(top_.Write("trace_clock", clock));
  if (ring_kb_ < ring_bytes / 1024) CULPRIT_TRY(top_.SetBufferBytesPerCpu(ring_bytes));
  // The same clock again has emptied nothing.
  CULPRIT_TRY(OpenFile(top_.PathOf("trace"), O_WRONLY | O_TRUNC));
  return {};
}

bool TopLevelMarkers::IsAlone() const {
  const auto tracer = Control(top_, "current_tracer");
  const auto enabled = Control(top_, "events/enable");
  return tracer && *tracer == "nop" && enabled && *enabled == "0";
}

void TopLevelMarkers::End() {
  if (!std::exchange(is_borrowed_, false)) return;
  if (!IsAlone()) return;
  for (const ControlWrite& restore : restores_) {
    static_cast<void>(WriteControlFile(restore.path, restore.text));
  }
}

}  // namespace culprit::capture
