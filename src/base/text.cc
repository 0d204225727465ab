#include "base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace culprit {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\v\f";

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kTimeUnits[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},
                               {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
constexpr Unit kByteUnits[] = {
    {"b", 1}, {"k", 1024.0}, {"m", 1048576.0}, {"g", 1073741824.0}, {"t", 1099511627776.0}};

struct NumberAndUnit {
  double number;
  std::string_view unit;
};

std::optional<NumberAndUnit> SplitUnit(std::string_view text) {
  const auto end = text.find_first_not_of("0123456789.");
  const auto number = ParseNumber(text.substr(0, end));
  if (!number) return std::nullopt;
  return NumberAndUnit{*number, end == text.npos ? "" : TrimBlanks(text.substr(end))};
}

std::string Print(const char* format, double value) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

// The length of the valid UTF-8 sequence of printable text at the start; 0 when there is none.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  unsigned code = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<unsigned, 5> kLeastOfLength = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  // C1 controls and the bidirectional controls can reorder what a person reads.
  const bool control = code < 0xa0 || (code >= 0x202a && code <= 0x202e) ||
                       (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f;
  if (code < kLeastOfLength[length] || surrogate || control || code > 0x10ffff) return 0;
  return length;
}

}  // namespace

std::optional<double> ParseNumber(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::string_view TrimBlanks(std::string_view text) {
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const auto end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == text.npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  for (;;) {
    const auto begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return words;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(kBlanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::vector<std::string_view> SplitLines(std::string_view text) {
  auto lines = Split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

Result<DurationNs> ParseDuration(std::string_view text) {
  const Error bad{"not a duration: '" + SafeForTerminal(text) + "'",
                  "write a number and a unit, such as 30s, 500ms or 5m"};
  const auto parts = SplitUnit(TrimBlanks(text));
  if (!parts) return bad;
  const std::string_view unit = parts->unit.empty() ? "s" : parts->unit;
  for (const Unit& known : kTimeUnits) {
    if (known.name != unit) continue;
    const double ns = parts->number * known.factor;
    if (ns > 9.2e18) return bad;
    return DurationNs{std::llround(ns)};
  }
  return bad;
}

Result<std::uint64_t> ParseBytes(std::string_view text) {
  const Error bad{"not a size: '" + SafeForTerminal(text) + "'",
                  "write a number and a unit, such as 512k, 64M or 2G"};
  const auto parts = SplitUnit(TrimBlanks(text));
  if (!parts) return bad;
  std::string unit(parts->unit);
  std::ranges::transform(unit, unit.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  if (unit.size() > 1 && unit.ends_with("b")) unit.pop_back();
  if (unit.size() > 1 && unit.ends_with("i")) unit.pop_back();
  if (unit.empty()) unit = "b";
  for (const Unit& known : kByteUnits) {
    if (known.name != unit) continue;
    const double bytes = parts->number * known.factor;
    if (bytes > 9.2e18) return bad;
    return static_cast<std::uint64_t>(bytes);
  }
  return bad;
}

std::string FormatDuration(DurationNs duration) {
  const auto ns = static_cast<double>(duration.value);
  const double size = std::fabs(ns);
  if (size < 1e3) return Print("%.0f ns", ns);
  if (size < 1e6) return Print("%.1f us", ns / 1e3);
  if (size < 1e9) return Print("%.2f ms", ns / 1e6);
  return Print("%.2f s", ns / 1e9);
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array kNames = {"%.0f B", "%.1f KiB", "%.1f MiB", "%.1f GiB", "%.1f TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  return Print(kNames[unit], value);
}

std::string FormatCount(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string SafeForTerminal(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    if (c >= 0x20 && c < 0x7f) {
      safe.push_back(static_cast<char>(c));
      text.remove_prefix(1);
    } else if (const std::size_t length = c < 0x80 ? 0 : Utf8Length(text); length > 0) {
      safe.append(text.substr(0, length));
      text.remove_prefix(length);
    } else {
      switch (c) {
        case '\n':
          safe.append("\\n");
          break;
        case '\t':
          safe.append("\\t");
          break;
        case '\r':
          safe.append("\\r");
          break;
        default:
          safe.append("\\x").push_back(kHex[c >> 4]);
          safe.push_back(kHex[c & 15]);
      }
      text.remove_prefix(1);
    }
  }
  return safe;
}

std::vector<std::string> NearNames(std::string_view word, std::span<const std::string> candidates) {
  struct Ranked {
    std::size_t distance;
    std::string_view name;
  };
  std::vector<Ranked> ranked;
  std::vector<std::size_t> row;
  for (const std::string& name : candidates) {
    // Levenshtein distance, one row at a time.
    row.resize(name.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < name.size(); ++j) {
        const std::size_t substitute = diagonal + (word[i] == name[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
      }
    }
    std::size_t distance = row.back();
    // A part of a name ("switch" of "sched/sched_switch") is near, however long the rest.
    if (word.size() >= 3 && name.find(word) != name.npos)
      distance = std::min<std::size_t>(distance, 2);
    if (distance <= std::max<std::size_t>(2, word.size() / 3)) ranked.push_back({distance, name});
  }
  std::ranges::stable_sort(ranked, {}, &Ranked::distance);
  std::vector<std::string> names;
  for (const Ranked& r : ranked) {
    if (names.size() == 3) break;
    names.emplace_back(r.name);
  }
  return names;
}

}  // namespace culprit
