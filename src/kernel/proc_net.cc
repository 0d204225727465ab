#include "kernel/proc_net.h"

#include <array>

#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::kernel {

bool ParseNetDev(std::string_view text, std::vector<NetDevStat>& interfaces) {
  interfaces.clear();
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    // "eth0:1234 ..." of old kernels has no blank; an alias "eth0:1" has a colon in its name, so
    // the last one that is followed by 16 numbers counts.
    const auto colon = line.rfind(':');
    if (colon == line.npos) continue;
    NetDevStat stat;
    stat.name = TrimBlanks(line.substr(0, colon));
    std::array<std::uint64_t, 16> columns{};
    WordCursor words(line.substr(colon + 1));
    bool whole = !stat.name.empty();
    for (auto& column : columns) {
      const auto value = words.Number();
      whole = whole && value.has_value();
      column = value.value_or(0);
    }
    if (!whole) continue;
    stat.rx = {columns[0], columns[1], columns[2], columns[3],
               columns[4], columns[5], columns[6], columns[7]};
    stat.tx = {columns[8],  columns[9],  columns[10], columns[11],
               columns[12], columns[13], columns[14], columns[15]};
    interfaces.push_back(stat);
  }
  return !interfaces.empty();
}

bool ParseSoftnet(std::string_view text, std::vector<SoftnetStat>& cpus) {
  cpus.clear();
  std::uint32_t line_number = 0;
  LineCursor lines(text);
  for (std::string_view line; lines.Next(line); ++line_number) {
    std::array<std::uint64_t, 15> columns{};
    std::size_t count = 0;
    WordCursor words(line);
    for (; count < columns.size(); ++count) {
      const auto value = words.Number(16);
      if (!value) break;
      columns[count] = *value;
    }
    if (count < 9) continue;
    // Column 13 is the CPU since 5.10 (offline CPUs have no line, so the line number misleads).
    const auto cpu = count >= 13 ? static_cast<std::uint32_t>(columns[12]) : line_number;
    cpus.push_back({cpu, columns[0], columns[1], columns[2]});
  }
  return !cpus.empty();
}

void ParseProtocolValues(std::string_view text, std::vector<ProtocolValue>& values) {
  values.clear();
  LineCursor lines(text);
  std::string_view names;
  std::string_view numbers;
  while (lines.Next(names) && lines.Next(numbers)) {
    WordCursor name_words(names);
    WordCursor number_words(numbers);
    std::string_view protocol = name_words.Word();
    if (protocol != number_words.Word() || !protocol.ends_with(':')) continue;
    protocol.remove_suffix(1);
    for (std::string_view name = name_words.Word(); !name.empty(); name = name_words.Word()) {
      const std::string_view number = number_words.Word();
      if (number.empty()) break;
      if (const auto value = ParseInteger<std::uint64_t>(number)) {
        values.push_back({protocol, name, *value});
      }
    }
  }
}

std::optional<std::uint64_t> FindProtocolValue(const std::vector<ProtocolValue>& values,
                                               std::string_view protocol, std::string_view name) {
  for (const ProtocolValue& value : values) {
    if (value.name == name && value.protocol == protocol) return value.value;
  }
  return std::nullopt;
}

}  // namespace culprit::kernel
