#include "profile/perf_data/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "profile/perf_data/record_types.h"

namespace culprit::profile::perf_data {
namespace {

constexpr std::size_t kSmallestAttr = 64;  // PERF_ATTR_SIZE_VER0
constexpr std::size_t kFileHeaderBytes = 104;
constexpr std::size_t kPipeHeaderBytes = 16;
constexpr std::size_t kFeatures = 256;
constexpr std::size_t kMostEvents = 4096;

enum Feature : std::uint64_t {
  kBuildIdFeature = 2,
  kOsReleaseFeature = 4,
  kMachineFeature = 6,
  kEventDescFeature = 12
};

// Bits of the flags of perf_event_attr.
constexpr unsigned kExcludeUserBit = 4;
constexpr unsigned kExcludeKernelBit = 5;
constexpr unsigned kFreqBit = 10;
constexpr unsigned kPreciseIpBit = 15;
constexpr unsigned kSampleIdAllBit = 18;

Event ParseAttr(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Event event;
  event.type = reader.Read<std::uint32_t>();
  reader.Skip(4);  // size
  event.config = reader.Read<std::uint64_t>();
  event.sample_period = reader.Read<std::uint64_t>();
  event.sample_type = reader.Read<std::uint64_t>();
  event.read_format = reader.Read<std::uint64_t>();
  const auto flags = reader.Read<std::uint64_t>();
  const auto bit = [flags](unsigned number) { return ((flags >> number) & 1U) != 0; };
  event.is_frequency = bit(kFreqBit);
  event.sample_id_all = bit(kSampleIdAllBit);
  event.exclude_user = bit(kExcludeUserBit);
  event.exclude_kernel = bit(kExcludeKernelBit);
  event.precise_ip = static_cast<std::uint8_t>((flags >> kPreciseIpBit) & 3U);
  reader.Skip(24);  // wakeup_events, bp_type, config1, config2; what is not there reads as zero
  event.branch_sample_type = reader.Read<std::uint64_t>();
  event.user_registers = reader.Read<std::uint64_t>();
  return event;
}

// A text with its length in front, filled up with zeros.
std::string_view ReadCountedText(ByteReader& reader) {
  const auto size = reader.Read<std::uint32_t>();
  const std::string_view text = reader.ReadText(size);
  return text.substr(0, text.find('\0'));
}

std::span<const std::byte> Section(std::span<const std::byte> file, std::uint64_t offset,
                                   std::uint64_t size) {
  if (offset > file.size()) return {};
  return file.subspan(offset, std::min<std::uint64_t>(size, file.size() - offset));
}

}  // namespace

std::string BuildIdText(std::span<const std::byte> id) {
  std::string text;
  for (const std::byte byte : id) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

void Header::AddBuildIds(std::span<const std::byte> body) {
  // perf_record_header_build_id: header, pid, 20 bytes of id, 1 of its size, 3 of padding, path.
  ByteReader reader(body);
  while (reader.ok() && reader.remaining() > 8 + 28) {
    reader.Skip(4);
    const auto misc = reader.Read<std::uint16_t>();
    const auto size = reader.Read<std::uint16_t>();
    if (size < 8 + 28) return;
    ByteReader record(reader.ReadBytes(size - 8U));
    if (!reader.ok()) return;
    record.Skip(4);
    const auto id = record.ReadBytes(20);
    const auto id_size = record.Read<std::uint8_t>();
    record.Skip(3);
    std::string_view path = record.ReadText(record.remaining());
    path = path.substr(0, path.find('\0'));
    // Old perf wrote no size.
    constexpr std::uint16_t kHasSize = 1U << 15U;
    const std::size_t used = (misc & kHasSize) != 0 && id_size > 0 && id_size <= 20 ? id_size : 20;
    if (!path.empty())
      build_ids[std::string(path)] = BuildIdText(id.first(std::min(used, id.size())));
  }
}

void Header::AddEventDescription(std::span<const std::byte> body) {
  ByteReader reader(body);
  const auto count = reader.Read<std::uint32_t>();
  const auto attr_size = reader.Read<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && i < kMostEvents && reader.ok(); ++i) {
    const auto attr = reader.ReadBytes(attr_size);
    const auto id_count = reader.Read<std::uint32_t>();
    const std::string_view name = ReadCountedText(reader);
    std::optional<std::size_t> index;
    if (i < events.size()) index = i;
    for (std::uint32_t k = 0; k < id_count && reader.ok(); ++k) {
      const auto id = reader.Read<std::uint64_t>();
      if (const auto found = event_of_id.find(id); found != event_of_id.end()) {
        index = found->second;
      }
    }
    if (!reader.ok()) return;
    const Event described = ParseAttr(attr);
    if (index && events[*index].type == described.type &&
        events[*index].config == described.config) {
      events[*index].name = name;
    }
  }
}

void Header::AddFeature(std::uint64_t feature, std::span<const std::byte> body) {
  if (feature == kBuildIdFeature) AddBuildIds(body);
  if (feature == kEventDescFeature) AddEventDescription(body);
  if (feature == kMachineFeature) {
    ByteReader text(body);
    machine = ReadCountedText(text);
  }
  if (feature == kOsReleaseFeature) {
    ByteReader reader(body);
    os_release = ReadCountedText(reader);
  }
}

void Header::AddRecord(std::uint32_t type, std::span<const std::byte> body) {
  ByteReader reader(body);
  switch (type) {
    case kRecordHeaderAttr: {
      if (body.size() < kSmallestAttr || events.size() >= kMostEvents) return;
      const auto size = static_cast<std::size_t>(ReadIntegerAt(body, 4, 4, false));
      const std::size_t attr_size =
          size >= kSmallestAttr && size <= body.size() ? size : kSmallestAttr;
      events.push_back(ParseAttr(reader.ReadBytes(attr_size)));
      while (reader.remaining() >= 8) {
        event_of_id[reader.Read<std::uint64_t>()] = events.size() - 1;
      }
      return;
    }
    case kRecordEventType: {  // before kernel 3.11: names of events by config
      const auto config = reader.Read<std::uint64_t>();
      const std::string_view name = reader.ReadText(reader.remaining());
      for (Event& event : events) {
        if (event.config == config) event.name = name.substr(0, name.find('\0'));
      }
      return;
    }
    case kRecordEventUpdate: {
      constexpr std::uint64_t kName = 2;
      const auto what = reader.Read<std::uint64_t>();
      const auto id = reader.Read<std::uint64_t>();
      const std::string_view name = reader.ReadText(reader.remaining());
      const auto found = event_of_id.find(id);
      if (what == kName && found != event_of_id.end()) {
        events[found->second].name = name.substr(0, name.find('\0'));
      }
      return;
    }
    case kRecordHeaderFeature: {
      const auto feature = reader.Read<std::uint64_t>();
      AddFeature(feature, reader.ReadBytes(reader.remaining()));
      return;
    }
    default:
      return;
  }
}

void Header::NameEvents() {
  for (Event& event : events) {
    if (event.name.empty()) event.name = EventName(event);
  }
}

Event* Header::Find(std::optional<std::uint64_t> id) {
  if (events.empty()) return nullptr;
  if (!id || events.size() == 1) return &events.front();
  const auto found = event_of_id.find(*id);
  if (found != event_of_id.end()) return &events[found->second];
  // Records that the kernel makes for no event in particular have the id 0.
  return *id == 0 ? &events.front() : nullptr;
}

Result<Header> ReadHeader(std::span<const std::byte> file) {
  ByteReader reader(file);
  const std::string_view magic = reader.ReadText(8);
  if (magic == "2ELIFREP" || magic == "ELIFFREP") {
    return Error{"perf.data of a machine with the other byte order",
                 "run perf script there and give culprit flame its text"};
  }
  if (magic != "PERFILE2" && magic != "PERFFILE") return Error{"it is no perf.data", ""};
  Header header;
  const auto size = reader.Read<std::uint64_t>();
  if (size == kPipeHeaderBytes) {
    header.is_pipe = true;
    header.data_begin = kPipeHeaderBytes;
    header.data_end = file.size();
    return header;
  }
  if (file.size() < kFileHeaderBytes) return Error{"perf.data ends within its header", ""};
  const auto attr_size = reader.Read<std::uint64_t>();
  const auto attrs_offset = reader.Read<std::uint64_t>();
  const auto attrs_size = reader.Read<std::uint64_t>();
  const auto data_offset = reader.Read<std::uint64_t>();
  const auto data_size = reader.Read<std::uint64_t>();
  reader.Skip(16);  // event types: names of long ago
  std::array<std::uint64_t, kFeatures / 64> features{};
  for (auto& word : features) word = reader.Read<std::uint64_t>();

  constexpr std::size_t kIdSection = 16;
  if (attr_size < kSmallestAttr + kIdSection || attr_size > 4096) {
    return Error{fmt::format("perf.data says that an event takes {} bytes", attr_size),
                 "the header is damaged"};
  }
  ByteReader attrs(Section(file, attrs_offset, attrs_size));
  while (attrs.remaining() >= attr_size && header.events.size() < kMostEvents) {
    header.events.push_back(ParseAttr(attrs.ReadBytes(attr_size - kIdSection)));
    const auto ids_offset = attrs.Read<std::uint64_t>();
    const auto ids_size = attrs.Read<std::uint64_t>();
    ByteReader ids(Section(file, ids_offset, ids_size));
    while (ids.remaining() >= 8) {
      header.event_of_id[ids.Read<std::uint64_t>()] = header.events.size() - 1;
    }
  }
  if (header.events.empty()) return Error{"perf.data without any event", "the header is damaged"};
  header.data_begin = std::min<std::uint64_t>(data_offset, file.size());
  // A recorder that was killed leaves a size of 0: everything behind is data.
  header.cut = data_size == 0 || data_size > file.size() - header.data_begin;
  header.data_end = header.cut ? file.size() : header.data_begin + data_size;
  if (header.cut) return header;

  ByteReader sections(file.subspan(header.data_end));
  for (std::size_t bit = 0; bit < kFeatures; ++bit) {
    if (((features[bit / 64] >> (bit % 64)) & 1U) == 0) continue;
    const auto offset = sections.Read<std::uint64_t>();
    const auto section_size = sections.Read<std::uint64_t>();
    if (!sections.ok()) break;
    header.AddFeature(bit, Section(file, offset, section_size));
  }
  return header;
}

}  // namespace culprit::profile::perf_data
