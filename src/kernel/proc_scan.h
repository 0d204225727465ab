// Cursors over the lines and words of /proc and /sys text, and the "name value" files that need no
// more. Nothing is copied or allocated: what is returned points into the text that was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace culprit::kernel {

// The lines of a text, without their "\n".
class LineCursor {
 public:
  explicit LineCursor(std::string_view text) : rest_(text) {}

  bool Next(std::string_view& line) {
    if (rest_.empty()) return false;
    const auto end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == rest_.npos ? rest_.size() : end + 1);
    return true;
  }

 private:
  std::string_view rest_;
};

// The words of a line, between blanks and tabs.
class WordCursor {
 public:
  explicit WordCursor(std::string_view line) : rest_(line) {}

  // The next word; empty at the end.
  std::string_view Word() {
    Skip();
    std::size_t end = 0;
    while (end < rest_.size() && !IsBlank(rest_[end])) ++end;
    const auto word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }

  // The next word as a number; nothing at the end and for what is no number of 64 bits.
  std::optional<std::uint64_t> Number(int base = 10) {
    return ParseInteger<std::uint64_t>(Word(), base);
  }

  // What is left, without leading blanks.
  std::string_view Rest() {
    Skip();
    return rest_;
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  void Skip() {
    std::size_t at = 0;
    while (at < rest_.size() && IsBlank(rest_[at])) ++at;
    rest_.remove_prefix(at);
  }

  std::string_view rest_;
};

// One number of a "name value" file. A value in kB is given in bytes.
struct NamedValue {
  std::string_view name;
  std::uint64_t value = 0;
};

// Lines of "name value" or "name: value [kB]" (vmstat, meminfo, cpu.stat, memory.events, io of a
// task) in file order. Lines that are not of that form are left out ("max" of a cgroup file too).
void ParseNamedValues(std::string_view text, std::vector<NamedValue>& values);

// The value of that name, or nothing: absent is not 0.
std::optional<std::uint64_t> FindValue(const std::vector<NamedValue>& values,
                                       std::string_view name);

// A file that holds one number, with blanks around it allowed; nothing for "max", "-1" and the
// like.
std::optional<std::uint64_t> ParseSingle(std::string_view text);

// "0-3,8,10-11" -> the CPUs or nodes, ascending, at most `kMostListed`; nothing when it is not such
// a list. An empty list is valid.
inline constexpr std::size_t kMostListed = 65536;
std::optional<std::vector<std::uint32_t>> ParseCpuList(std::string_view text);

}  // namespace culprit::kernel
