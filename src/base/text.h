// Small text helpers: splitting, exact number parsing, human sizes and times, safe display of
// hostile strings, near names for typing mistakes. No locale, no regular expressions.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace culprit {

// The whole of `text` as a number in `base`; nothing for an empty, partial or out-of-range text.
template <std::integral T>
std::optional<T> ParseInteger(std::string_view text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value, base);
  if (failure != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}
std::optional<double> ParseNumber(std::string_view text);

std::string_view TrimBlanks(std::string_view text);
// Pieces between single separators; "a,,b" has an empty one.
std::vector<std::string_view> Split(std::string_view text, char separator);
// Words between runs of blanks, tabs and newlines.
std::vector<std::string_view> SplitWords(std::string_view text);
// Lines without their "\n"; a last line without one counts, an empty rest does not.
std::vector<std::string_view> SplitLines(std::string_view text);
// Views of a temporary string would dangle in the loop over them.
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> Split(Temporary&& text, char separator) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> SplitWords(Temporary&& text) = delete;
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> SplitLines(Temporary&& text) = delete;

// "30s", "500ms", "5m", "2h", "1d", "100us", "10ns", also fractions ("1.5s"); a bare number is
// seconds.
[[nodiscard]] Result<DurationNs> ParseDuration(std::string_view text);
// "64M", "2G", "512k", "4096": binary multiples, an optional "B" or "iB" behind.
[[nodiscard]] Result<std::uint64_t> ParseBytes(std::string_view text);

// "1.50 s", "12.3 ms", "870 us", "15 ns".
std::string FormatDuration(DurationNs duration);
// "1.2 GiB", "64.0 MiB", "812 B".
std::string FormatBytes(std::uint64_t bytes);
// "1,234,567".
std::string FormatCount(std::uint64_t count);

// A string from a trace, a comm or a file as it may be shown on a terminal: control characters,
// escape sequences and invalid UTF-8 become \n, \x1b and the like; nothing can move the cursor.
std::string SafeForTerminal(std::string_view text);

// Up to three of `candidates` nearest to `word` by edit distance, best first; none that are far
// off.
std::vector<std::string> NearNames(std::string_view word, std::span<const std::string> candidates);

}  // namespace culprit
