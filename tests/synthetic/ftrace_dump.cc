#include "synthetic/ftrace_dump.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>

#include "tracefile/fields.h"
#include "tracefile/ftrace_event_table.h"
#include "tracefile/writer.h"

namespace culprit::synthetic {
namespace {

using protozero::pbf_reader;
namespace tf = tracefile;
namespace Compact = tf::FtraceEventBundle::CompactSched;

// Interned data of one sequence.
struct Interned {
  std::map<std::uint64_t, std::string> names, symbols, mapping_paths;
  std::map<std::uint64_t, std::uint64_t> frame_names;
  std::map<std::uint64_t, std::vector<std::uint64_t>> stacks;
};

std::pair<std::uint64_t, std::string> ReadString(pbf_reader message) {
  std::pair<std::uint64_t, std::string> result;
  while (message.next()) {
    if (message.tag() == tf::InternedString::kIid) {
      result.first = message.get_uint64();
    } else if (message.tag() == tf::InternedString::kStr) {
      result.second = message.get_bytes();
    } else {
      message.skip();
    }
  }
  return result;
}

void ReadInterned(pbf_reader data, Interned& interned) {
  while (data.next()) {
    switch (data.tag()) {
      case tf::InternedData::kFunctionNames:
        interned.names.insert(ReadString(data.get_message()));
        break;
      case tf::InternedData::kKernelSymbols:
        interned.symbols.insert(ReadString(data.get_message()));
        break;
      case tf::InternedData::kMappingPaths:
        interned.mapping_paths.insert(ReadString(data.get_message()));
        break;
      case tf::InternedData::kFrames: {
        pbf_reader frame = data.get_message();
        std::uint64_t iid = 0, name = 0;
        while (frame.next()) {
          if (frame.tag() == tf::Frame::kIid) {
            iid = frame.get_uint64();
          } else if (frame.tag() == tf::Frame::kFunctionNameId) {
            name = frame.get_uint64();
          } else {
            frame.skip();
          }
        }
        interned.frame_names[iid] = name;
        break;
      }
      case tf::InternedData::kCallstacks: {
        pbf_reader stack = data.get_message();
        std::uint64_t iid = 0;
        std::vector<std::uint64_t> frames;
        while (stack.next()) {
          if (stack.tag() == tf::Callstack::kIid) {
            iid = stack.get_uint64();
          } else {
            frames.push_back(stack.get_uint64());
          }
        }
        interned.stacks[iid] = frames;
        break;
      }
      default:
        data.skip();
    }
  }
}

std::string ReadValue(pbf_reader& field, tf::FieldType type) {
  switch (type) {
    case tf::FieldType::kInt32:
      return std::to_string(field.get_int32());
    case tf::FieldType::kInt64:
      return std::to_string(field.get_int64());
    case tf::FieldType::kUint32:
      return std::to_string(field.get_uint32());
    case tf::FieldType::kUint64:
      return std::to_string(field.get_uint64());
    default:
      return field.get_bytes();
  }
}

void ReadTyped(pbf_reader message, const tf::EventType& type, DumpedEvent& event, Dump& dump) {
  event.name = type.name;
  while (message.next()) {
    const tf::EventField* field = type.FindField(message.tag());
    if (field == nullptr) {
      dump.faults.push_back(event.name + " has a field " + std::to_string(message.tag()));
      message.skip();
      continue;
    }
    std::string& value = event.fields[std::string(field->name)];
    if (!value.empty()) value += " ";
    value += ReadValue(message, field->type);
  }
}

void ReadGeneric(pbf_reader message, DumpedEvent& event) {
  event.is_generic = true;
  while (message.next()) {
    if (message.tag() == tf::GenericFtraceEvent::kEventName) {
      event.name = message.get_string();
      continue;
    }
    pbf_reader field = message.get_message();
    std::string name, value;
    while (field.next()) {
      switch (field.tag()) {
        case tf::GenericFtraceEvent::Field::kName:
          name = field.get_string();
          break;
        case tf::GenericFtraceEvent::Field::kStrValue:
          value = field.get_string();
          break;
        case tf::GenericFtraceEvent::Field::kIntValue:
          value = std::to_string(field.get_int64());
          break;
        default:
          value = std::to_string(field.get_uint64());
      }
    }
    event.fields[name] = value;
  }
}

DumpedEvent ReadEvent(pbf_reader message, const Interned& interned, Dump& dump) {
  DumpedEvent event;
  while (message.next()) {
    if (message.tag() == tf::FtraceEvent::kTimestamp) {
      event.time_ns = message.get_uint64();
    } else if (message.tag() == tf::FtraceEvent::kPid) {
      event.pid = message.get_uint32();
    } else if (message.tag() == tf::FtraceEvent::kGeneric) {
      ReadGeneric(message.get_message(), event);
    } else if (const tf::EventType* type = tf::FindEventType(message.tag())) {
      ReadTyped(message.get_message(), *type, event, dump);
    } else {
      dump.faults.push_back("unknown event " + std::to_string(message.tag()));
      message.skip();
    }
  }
  if (event.name == "kernel_stack") {
    const auto stack = interned.stacks.find(std::stoull(event.fields["callstack_iid"]));
    if (stack == interned.stacks.end()) {
      dump.faults.push_back("a callstack_iid without its call stack");
      return event;
    }
    for (auto frame = stack->second.rbegin(); frame != stack->second.rend(); ++frame) {
      const auto name = interned.frame_names.find(*frame);
      if (name == interned.frame_names.end()) {
        dump.faults.push_back("a frame that is not interned");
      } else {
        event.stack.push_back(name->second == 0 ? "?" : interned.names.at(name->second));
      }
    }
  }
  return event;
}

void ReadCompact(pbf_reader message, int cpu, std::vector<DumpedEvent>& events, Dump& dump) {
  std::vector<std::string> comms;
  std::map<std::uint32_t, std::vector<std::int64_t>> columns;
  while (message.next()) {
    if (message.tag() == Compact::kInternTable) {
      comms.push_back(message.get_string());
      continue;
    }
    auto& column = columns[message.tag()];  // reading forgets the tag
    for (const std::int64_t value : message.get_packed_int64()) column.push_back(value);
  }
  const auto add = [&](const char* name, std::uint32_t time_field, std::uint32_t comm_field,
                       const char* comm_name,
                       const std::vector<std::pair<const char*, std::uint32_t>>& fields) {
    std::uint64_t time_ns = 0;
    const auto& times = columns[time_field];
    for (const auto& [field_name, number] : fields) {
      if (columns[number].size() != times.size()) {
        dump.faults.push_back(std::string("compact column of another length: ") + field_name);
        return;
      }
    }
    for (std::size_t i = 0; i < times.size(); ++i) {
      time_ns += static_cast<std::uint64_t>(times[i]);
      DumpedEvent event;
      event.cpu = cpu;
      event.time_ns = time_ns;
      event.name = name;
      event.is_compact = true;
      for (const auto& [field_name, number] : fields) {
        event.fields[field_name] = std::to_string(columns[number][i]);
      }
      event.fields[comm_name] = comms.at(static_cast<std::size_t>(columns[comm_field].at(i)));
      events.push_back(std::move(event));
    }
  };
  add("sched_switch", Compact::kSwitchTimestamp, Compact::kSwitchNextCommIndex, "next_comm",
      {{"prev_state", Compact::kSwitchPrevState},
       {"next_pid", Compact::kSwitchNextPid},
       {"next_prio", Compact::kSwitchNextPrio}});
  add("sched_waking", Compact::kWakingTimestamp, Compact::kWakingCommIndex, "comm",
      {{"pid", Compact::kWakingPid},
       {"target_cpu", Compact::kWakingTargetCpu},
       {"prio", Compact::kWakingPrio},
       {"common_flags", Compact::kWakingCommonFlags}});
}

void ReadBundle(pbf_reader message, const Interned& interned, std::uint32_t sequence, Dump& dump) {
  std::vector<DumpedEvent> events;
  int cpu = -1;
  bool lost = false;
  while (message.next()) {
    switch (message.tag()) {
      case tf::FtraceEventBundle::kCpu:
        cpu = static_cast<int>(message.get_uint32());
        break;
      case tf::FtraceEventBundle::kLostEvents:
        lost = message.get_bool();
        break;
      case tf::FtraceEventBundle::kEvent:
        events.push_back(ReadEvent(message.get_message(), interned, dump));
        break;
      case tf::FtraceEventBundle::kCompactSched:
        ReadCompact(message.get_message(), cpu, events, dump);
        break;
      case tf::FtraceEventBundle::kError: {
        pbf_reader error = message.get_message();
        while (error.next()) {
          const auto value = error.get_uint64();
          if (error.tag() == tf::FtraceEventBundle::FtraceError::kStatus) {
            dump.error_statuses.push_back(value);
          }
        }
        break;
      }
      default:
        message.skip();
    }
  }
  if (sequence != tf::Sequence::kFtraceBase + static_cast<std::uint32_t>(cpu)) {
    dump.faults.push_back("a bundle on a sequence that is not its CPU's");
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  if (events.empty()) return;
  events.front().is_first_after_loss = lost;
  dump.bundle_starts_ns.push_back(events.front().time_ns);
  for (DumpedEvent& event : events) {
    event.cpu = cpu;
    dump.events.push_back(std::move(event));
  }
}

void ReadStats(pbf_reader message, Dump& dump) {
  bool is_end = false;
  std::map<int, std::uint64_t> overruns;
  while (message.next()) {
    if (message.tag() == tf::FtraceStats::kPhase) {
      is_end = message.get_enum() == tf::FtraceStats::Phase::kEndOfTrace;
    } else if (message.tag() == tf::FtraceStats::kUnknownFtraceEvents) {
      dump.unknown_events.push_back(message.get_string());
    } else if (message.tag() == tf::FtraceStats::kCpuStats) {
      pbf_reader stats = message.get_message();
      int cpu = 0;
      while (stats.next()) {
        if (stats.tag() == tf::FtraceCpuStats::kCpu) {
          cpu = static_cast<int>(stats.get_uint64());
        } else if (stats.tag() == tf::FtraceCpuStats::kOverrun) {
          overruns[cpu] = stats.get_uint64();
        } else {
          stats.skip();
        }
      }
    } else {
      message.skip();
    }
  }
  if (is_end) dump.overrun_at_end = overruns;
}

void ReadOurs(pbf_reader message, Dump& dump) {
  while (message.next()) {
    if (message.tag() == tf::CulpritData::kEventFormats) {
      pbf_reader format = message.get_message();
      std::string parts[4];
      while (format.next()) parts[format.tag() & 3] = format.get_string();
      dump.formats[parts[1] + "/" + parts[2]] = parts[3];
    } else if (message.tag() == tf::CulpritData::kLostGaps) {
      pbf_reader lost = message.get_message();
      Dump::Gap gap;
      while (lost.next()) {
        const std::uint64_t value = lost.get_uint64();
        if (lost.tag() == tf::CulpritData::LostGap::kCpu) gap.cpu = static_cast<int>(value);
        if (lost.tag() == tf::CulpritData::LostGap::kBeginNs) gap.begin_ns = value;
        if (lost.tag() == tf::CulpritData::LostGap::kEndNs) gap.end_ns = value;
        if (lost.tag() == tf::CulpritData::LostGap::kEvents) gap.events = value;
      }
      dump.gaps.push_back(gap);
    } else {
      message.skip();
    }
  }
}

}  // namespace

Dump DumpTrace(const std::string& bytes) {
  Dump dump;
  std::map<std::uint32_t, Interned> sequences;
  pbf_reader trace(bytes);
  while (trace.next(tf::Trace::kPacket)) {
    const auto packet_bytes = trace.get_view();
    std::uint32_t sequence = 0, flags = 0;
    pbf_reader packet(packet_bytes);
    while (packet.next()) {
      if (packet.tag() == tf::TracePacket::kTrustedPacketSequenceId) {
        sequence = packet.get_uint32();
      } else if (packet.tag() == tf::TracePacket::kSequenceFlags) {
        flags = packet.get_uint32();
      } else {
        packet.skip();
      }
    }
    if (sequence == 0) dump.faults.push_back("a packet without a sequence");
    Interned& interned = sequences[sequence];
    if ((flags & tf::SequenceFlags::kIncrementalStateCleared) != 0) interned = {};
    packet = pbf_reader(packet_bytes);
    while (packet.next()) {
      switch (packet.tag()) {
        case tf::TracePacket::kInternedData:
          ReadInterned(packet.get_message(), interned);
          break;
        case tf::TracePacket::kFtraceStats:
          ReadStats(packet.get_message(), dump);
          break;
        case tf::TracePacket::kCulpritData:
          ReadOurs(packet.get_message(), dump);
          break;
        default:
          packet.skip();
      }
    }
    const std::size_t first_event = dump.events.size();
    packet = pbf_reader(packet_bytes);
    while (packet.next(tf::TracePacket::kFtraceEvents)) {
      ReadBundle(packet.get_message(), interned, sequence, dump);
    }
    // Functions that are interned names, as viewers show them.
    for (std::size_t i = first_event; i < dump.events.size(); ++i) {
      DumpedEvent& event = dump.events[i];
      const auto function = event.fields.find("function");
      if (function == event.fields.end() || function->second.size() > 4) continue;
      const auto name = interned.symbols.find(std::stoull(function->second));
      if (name != interned.symbols.end()) function->second = name->second;
    }
  }
  return dump;
}

}  // namespace culprit::synthetic
