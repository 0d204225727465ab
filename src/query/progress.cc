#include "query/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"

namespace culprit::query {
namespace {

constexpr DurationNs kQuiet = Milliseconds(500);
constexpr int kBarWidth = 30;

}  // namespace

ProgressLine::ProgressLine() {
  const char* term = std::getenv("TERM");
  enabled_ = isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

void ProgressLine::Show(std::string_view what, std::optional<double> percent, DurationNs elapsed) {
  if (!enabled_ || elapsed < kQuiet) return;
  std::string line = fmt::format("\r{} ", what);
  if (percent) {
    const double part = std::clamp(*percent, 0.0, 100.0);
    const auto filled = static_cast<std::size_t>(part / 100 * kBarWidth);
    line += fmt::format("[{:<{}}] {:3.0f} % ", std::string(filled, '#'), kBarWidth, part);
  }
  line += fmt::format("{:.1f} s\x1b[K", ToSeconds(elapsed));
  static_cast<void>(WriteAll(STDERR_FILENO, line, "stderr"));
  drawn_ = true;
}

void ProgressLine::Clear() {
  if (!drawn_) return;
  static_cast<void>(WriteAll(STDERR_FILENO, "\r\x1b[K", "stderr"));
  drawn_ = false;
}

}  // namespace culprit::query
