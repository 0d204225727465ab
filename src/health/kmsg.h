// The kernel log of this boot: records of /dev/kmsg, and the lines in them that mean a fault, by a
// table. Xid events of the NVIDIA driver are decoded and counted by GPU.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace culprit::health {

struct KmsgRecord {
  int priority = 0;  // syslog level, 0 to 7
  std::uint64_t sequence = 0;
  double time_s = 0;         // since boot
  std::string_view message;  // escapes as the kernel wrote them ("\x0a")
};

// "4,1200,5000000,-;text"; lines that begin with a blank are keys of the record before. Records
// that cannot be understood are left out.
std::vector<KmsgRecord> ParseKmsg(std::string_view text);

// What a line of the log is about.
enum class KmsgTopic { kLockup, kHungTask, kDisk, kNfs };
struct KmsgPattern {
  KmsgTopic topic;
  std::string_view all_of;  // parts of the message in this order, "*" between
  FindingStatus status;
  std::string_view meaning;
};
std::span<const KmsgPattern> KmsgPatterns();
// The first pattern that the message matches, or nullptr.
const KmsgPattern* MatchKmsg(std::string_view message);

// Events of one kind on one GPU.
struct XidEvents {
  std::string gpu;         // "0000:9b:00"
  std::uint32_t code = 0;  // 0: fallen off the bus without an Xid
  std::string detail;      // rest of the first message
  std::uint64_t count = 0;
  double first_s = 0, last_s = 0;
  std::optional<std::uint32_t> caused_by;  // "caused by previous Xid N" (of a 45)
  bool is_switch = false;                  // SXid: an NVSwitch
};
std::vector<XidEvents> FindXids(const std::vector<KmsgRecord>& records);

struct XidMeaning {
  std::uint32_t code;
  FindingStatus status;  // kOk: it informs
  std::string_view meaning;
  std::string_view advice;
};
// The row of a code; unknown codes have a row of their own: a warning, "not in the table".
const XidMeaning& MeaningOfXid(std::uint32_t code);

// Status of an event: the table's, corrected by what the message itself says (NVLink 5, BER).
FindingStatus StatusOfXid(const XidEvents& events);

}  // namespace culprit::health
