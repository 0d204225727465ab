#include "health/kmsg.h"

#include <algorithm>

#include "base/text.h"
#include "kernel/proc_scan.h"

namespace culprit::health {
namespace {

bool MatchesInOrder(std::string_view text, std::string_view parts) {
  while (!parts.empty()) {
    const auto star = parts.find('*');
    const std::string_view part = parts.substr(0, star);
    const auto at = text.find(part);
    if (at == text.npos) return false;
    text.remove_prefix(at + part.size());
    parts.remove_prefix(star == parts.npos ? parts.size() : star + 1);
  }
  return true;
}

// The PCI address at the start or in the middle: "0000:9b:00", without the function, so that lines
// that leave ".0" away are of the same GPU.
std::string PciAddress(std::string_view text) {
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  for (std::size_t at = 0; at + 10 <= text.size(); ++at) {
    std::size_t domain = 0;
    while (domain < 8 && at + domain < text.size() && is_hex(text[at + domain])) ++domain;
    if (domain != 4 && domain != 8) {
      at += domain;
      continue;
    }
    const std::string_view rest = text.substr(at + domain);
    if (rest.size() >= 6 && rest[0] == ':' && is_hex(rest[1]) && is_hex(rest[2]) &&
        rest[3] == ':' && is_hex(rest[4]) && is_hex(rest[5])) {
      std::string address(text.substr(at, domain + 6));
      if (domain == 8) address.erase(0, 4);  // 00000000:9b:00 of NVML
      std::ranges::transform(address, address.begin(), [](char c) {
        return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
      });
      return address;
    }
    at += domain;
  }
  return "";
}

class XidCollector {
 public:
  void Add(std::string gpu, std::uint32_t code, std::string_view detail, double time_s,
           bool is_switch) {
    // Of NVLink events the link tells them apart: "Link 04" of the text.
    std::string link;
    if (const auto at = detail.find("Link "); at != detail.npos) link = detail.substr(at, 7);
    XidEvents& events = rows_[{gpu, code, link, is_switch}];
    if (events.count == 0) {
      events.gpu = std::move(gpu);
      events.code = code;
      events.detail = TrimBlanks(detail.substr(0, 300));
      events.first_s = time_s;
      events.is_switch = is_switch;
    }
    ++events.count;
    events.last_s = time_s;
    constexpr std::string_view kCause = "previous Xid";
    if (const auto at = detail.find(kCause); at != detail.npos) {
      std::string_view number = TrimBlanks(detail.substr(at + kCause.size()));
      number = number.substr(0, number.find_first_not_of("0123456789"));
      if (const auto cause = ParseInteger<std::uint32_t>(number)) events.caused_by = *cause;
    }
  }
  std::vector<XidEvents> Take() {
    std::vector<XidEvents> all;
    for (auto& [key, events] : rows_) all.push_back(std::move(events));
    return all;
  }
  bool Knows(const std::string& gpu, std::uint32_t code) const {
    return std::ranges::any_of(
        rows_, [&](const auto& row) { return row.second.gpu == gpu && row.second.code == code; });
  }

 private:
  std::map<std::tuple<std::string, std::uint32_t, std::string, bool>, XidEvents> rows_;
};

}  // namespace

std::vector<KmsgRecord> ParseKmsg(std::string_view text) {
  std::vector<KmsgRecord> records;
  kernel::LineCursor lines(text);
  for (std::string_view line; lines.Next(line);) {
    if (line.empty() || line.front() == ' ') continue;
    const auto semicolon = line.find(';');
    if (semicolon == line.npos) continue;
    std::string_view head = line.substr(0, semicolon);
    const auto field = [&head] {
      const auto comma = head.find(',');
      const auto value = ParseInteger<std::uint64_t>(head.substr(0, comma));
      head.remove_prefix(comma == head.npos ? head.size() : comma + 1);
      return value;
    };
    const auto priority = field();
    const auto sequence = field();
    const auto time_us = field();
    if (!priority || !sequence || !time_us) continue;
    records.push_back({static_cast<int>(*priority & 7), *sequence,
                       static_cast<double>(*time_us) / 1e6, line.substr(semicolon + 1)});
  }
  return records;
}

const KmsgPattern* MatchKmsg(std::string_view message) {
  for (const KmsgPattern& pattern : KmsgPatterns()) {
    if (MatchesInOrder(message, pattern.all_of)) return &pattern;
  }
  return nullptr;
}

std::vector<XidEvents> FindXids(const std::vector<KmsgRecord>& records) {
  XidCollector collector;
  std::string off_the_bus;  // lines of one message that the driver wrote as several records
  double off_since_s = 0;
  for (const KmsgRecord& record : records) {
    const std::string_view message = record.message;
    if (message.find("NVRM") == message.npos && message.find("nvidia-nvswitch") == message.npos) {
      off_the_bus.clear();
      continue;
    }
    // "NVRM: Xid (PCI:0000:9b:00): 79, pid=..., GPU has fallen off the bus."
    // "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    const auto at = message.find("Xid (PCI:");
    if (at != message.npos) {
      const auto end = message.find("):", at);
      if (end == message.npos) continue;
      std::string_view rest = TrimBlanks(message.substr(end + 2));
      const auto digits = rest.find_first_not_of("0123456789");
      const auto code = ParseInteger<std::uint32_t>(rest.substr(0, digits));
      const std::string gpu = PciAddress(message.substr(at));
      if (!code || *code == 0 || gpu.empty()) continue;
      rest.remove_prefix(digits == rest.npos ? rest.size() : digits);
      while (!rest.empty() && (rest.front() == ',' || rest.front() == ' ')) rest.remove_prefix(1);
      collector.Add(gpu, *code, rest, record.time_s, at > 0 && message[at - 1] == 'S');
      off_the_bus.clear();
      continue;
    }
    // The same fact without an Xid: "NVRM: The NVIDIA GPU 0000:b3:00.0 / (PCI ID: ...) installed in
    // this system has / fallen off the bus and is not responding to commands."
    if (message.find("The NVIDIA GPU") != message.npos ||
        message.find("GPU at PCI:") != message.npos) {
      off_the_bus.clear();
      off_since_s = record.time_s;
    }
    off_the_bus += " " + std::string(TrimBlanks(message));
    if (off_the_bus.find("fallen off the bus") == off_the_bus.npos) continue;
    const std::string gpu = PciAddress(off_the_bus);
    if (!gpu.empty() && !collector.Knows(gpu, 79)) {
      collector.Add(gpu, 0, "GPU has fallen off the bus",
                    off_since_s > 0 ? off_since_s : record.time_s, false);
    }
    off_the_bus.clear();
  }
  return collector.Take();
}

FindingStatus StatusOfXid(const XidEvents& events) {
  if (events.is_switch) {
    return events.detail.find("Non-fatal") != std::string::npos ||
                   events.detail.find("Nonfatal") != std::string::npos
               ? FindingStatus::kWarning
               : FindingStatus::kCritical;
  }
  if (events.code >= 144 && events.code <= 150) {
    const std::string& text = events.detail;
    const bool nonfatal =
        text.find("Nonfatal") != std::string::npos || text.find("Non-fatal") != std::string::npos;
    if (events.code == 149 && text.find("BER") != std::string::npos) return FindingStatus::kOk;
    if (text.find("link down") != std::string::npos ||
        text.find("Link down") != std::string::npos ||
        text.find("LINK_DOWN") != std::string::npos) {
      return FindingStatus::kCritical;
    }
    if (!nonfatal && text.find("Fatal") != std::string::npos) return FindingStatus::kCritical;
    return FindingStatus::kWarning;
  }
  return MeaningOfXid(events.code).status;
}

}  // namespace culprit::health
