// The header of a perf.data file: its events, their ids and names, build ids, and where the records
// lie. Reads no records: those of a pipe, which carry the same facts, are given to AddRecord.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace culprit::profile::perf_data {

// Bits of perf_event_attr::sample_type, in the kernel's order (include/uapi/linux/perf_event.h).
enum SampleBit : std::uint64_t {
  kIp = 1U << 0U,
  kTid = 1U << 1U,
  kTime = 1U << 2U,
  kAddr = 1U << 3U,
  kRead = 1U << 4U,
  kCallchain = 1U << 5U,
  kId = 1U << 6U,
  kCpu = 1U << 7U,
  kPeriod = 1U << 8U,
  kStreamId = 1U << 9U,
  kRawData = 1U << 10U,
  kBranchStack = 1U << 11U,
  kRegistersUser = 1U << 12U,
  kStackUser = 1U << 13U,
  kIdentifier = 1U << 16U,
};

// What perf_event_attr says of one event.
struct Event {
  std::uint32_t type = 0;
  std::uint64_t config = 0;
  std::uint64_t sample_period = 0;  // or the frequency
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t branch_sample_type = 0;
  std::uint64_t user_registers = 0;  // which ones a sample has, by perf's numbers
  bool is_frequency = false;
  bool sample_id_all = false;
  std::uint8_t precise_ip = 0;
  bool exclude_user = false;
  bool exclude_kernel = false;
  std::string name;  // as perf calls it, with modifiers
  std::size_t samples = 0;
};

struct Header {
  std::vector<Event> events;
  std::unordered_map<std::uint64_t, std::size_t> event_of_id;
  std::map<std::string, std::string, std::less<>> build_ids;  // of path; hexadecimal
  std::string os_release;
  std::string machine;  // "x86_64"; empty: not recorded
  bool is_pipe = false;
  std::uint64_t data_begin = 0;  // where records lie in the file
  std::uint64_t data_end = 0;
  bool cut = false;  // the file was not finished, or its end is missing

  // A record of a pipe, or one that is the same in both (type, body without its header).
  void AddRecord(std::uint32_t type, std::span<const std::byte> body);
  // Names for events that none came along for; call once no more will come.
  void NameEvents();
  // The event that a record's id belongs to; with one event, or without ids, the first.
  Event* Find(std::optional<std::uint64_t> id);

 private:
  friend Result<Header> ReadHeader(std::span<const std::byte> file);
  void AddFeature(std::uint64_t feature, std::span<const std::byte> body);
  void AddEventDescription(std::span<const std::byte> body);
  void AddBuildIds(std::span<const std::byte> body);
};

// An Error when it is no perf.data, of the other byte order, or has no events.
Result<Header> ReadHeader(std::span<const std::byte> file);

// "cycles:ppp" of type, config and modifiers, where perf did not write the name.
std::string EventName(const Event& event);

// Lower-case hexadecimal, without zeros that only fill 20 bytes up.
std::string BuildIdText(std::span<const std::byte> id);

}  // namespace culprit::profile::perf_data
