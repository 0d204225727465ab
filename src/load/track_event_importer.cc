#include "load/track_event_importer.h"

#include <bit>
#include <vector>

#include "tracefile/proto_reader.h"

namespace culprit::load {
namespace {

using tables::ArgType;
using tracefile::ProtoReader;

// Facts of the public protos.
namespace Field {
constexpr std::uint32_t kCategoryIids = 3, kDebugAnnotations = 4, kLegacyEvent = 6, kType = 9,
                        kNameIid = 10, kTrackUuid = 11, kExtraCounterValues = 12, kCategories = 22,
                        kName = 23, kCounterValue = 30, kExtraCounterUuids = 31, kFlowIdsOld = 36,
                        kEndingFlowIdsOld = 42, kDoubleCounterValue = 44, kFlowIds = 47,
                        kEndingFlowIds = 48;
}
namespace LegacyField {
constexpr std::uint32_t kNameIid = 1, kPhase = 2, kDurationUs = 3, kUnscopedId = 6, kLocalId = 10,
                        kGlobalId = 11, kPidOverride = 18, kTidOverride = 19;
}
namespace Annotation {
constexpr std::uint32_t kNameIid = 1, kBool = 2, kUint = 3, kInt = 4, kDouble = 5, kString = 6,
                        kPointer = 7, kLegacyJson = 9, kName = 10, kDictEntries = 11,
                        kArrayValues = 12, kStringIid = 17;
}
enum Type : std::uint32_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };

constexpr int kDeepest = 32;

// Numbers of a repeated field, packed or one by one.
void Append(const ProtoReader& field, std::vector<std::uint64_t>& out) {
  if (!field.is_bytes()) {
    out.push_back(field.u64());
    return;
  }
  tracefile::PackedVarints packed(field.bytes());
  for (std::uint64_t value; packed.Next(value);) out.push_back(value);
}

}  // namespace

struct TrackEventImporter::Event {
  std::uint32_t type = 0;
  std::uint64_t track_uuid = 0;
  std::uint64_t name_iid = 0;
  std::string_view name;
  std::vector<std::uint64_t> category_iids;
  std::vector<std::string_view> categories;
  std::vector<std::string_view> annotations;
  std::vector<std::uint64_t> flows;
  std::vector<std::uint64_t> ending_flows;
  std::vector<std::uint64_t> extra_uuids;
  std::vector<std::uint64_t> extra_values;
  std::optional<double> value;
  // Of events that Chrome's old macros wrote; phase 0: not one of them.
  char phase = 0;
  std::int64_t duration_ns = 0;
  std::optional<std::uint64_t> id;
  std::int64_t pid_override = 0;
  std::int64_t tid_override = 0;
};

TrackEventImporter::Event TrackEventImporter::Read(const PacketRef& packet) const {
  Event event;
  event.track_uuid = packet.track_uuid;
  ProtoReader field(packet.body);
  while (field.Next()) {
    switch (field.id()) {
      case Field::kType:
        event.type = field.u32();
        break;
      case Field::kTrackUuid:
        event.track_uuid = field.u64();
        break;
      case Field::kNameIid:
        event.name_iid = field.u64();
        break;
      case Field::kName:
        event.name = field.bytes();
        break;
      case Field::kCategoryIids:
        Append(field, event.category_iids);
        break;
      case Field::kCategories:
        event.categories.push_back(field.bytes());
        break;
      case Field::kDebugAnnotations:
        event.annotations.push_back(field.bytes());
        break;
      case Field::kFlowIds:
      case Field::kFlowIdsOld:
        if (!field.is_bytes()) event.flows.push_back(field.u64());
        break;
      case Field::kEndingFlowIds:
      case Field::kEndingFlowIdsOld:
        if (!field.is_bytes()) event.ending_flows.push_back(field.u64());
        break;
      case Field::kExtraCounterUuids:
        Append(field, event.extra_uuids);
        break;
      case Field::kExtraCounterValues:
        Append(field, event.extra_values);
        break;
      case Field::kCounterValue:
        event.value = static_cast<double>(field.i64());
        break;
      case Field::kDoubleCounterValue:
        event.value = field.real();
        break;
      case Field::kLegacyEvent: {
        ProtoReader part(field.bytes());
        while (part.Next()) {
          constexpr std::int64_t kUs = 1000;
          if (part.id() == LegacyField::kNameIid) event.name_iid = part.u64();
          if (part.id() == LegacyField::kPhase) event.phase = static_cast<char>(part.u32());
          if (part.id() == LegacyField::kDurationUs &&
              __builtin_mul_overflow(part.i64(), kUs, &event.duration_ns)) {
            event.duration_ns = 0;
          }
          if (part.id() == LegacyField::kUnscopedId || part.id() == LegacyField::kLocalId ||
              part.id() == LegacyField::kGlobalId) {
            event.id = part.u64();
          }
          if (part.id() == LegacyField::kPidOverride) event.pid_override = part.i32();
          if (part.id() == LegacyField::kTidOverride) event.tid_override = part.i32();
        }
        break;
      }
      default:
        break;
    }
  }
  return event;
}

TrackEventImporter::Resolved TrackEventImporter::Resolve(std::uint64_t uuid, int depth) {
  if (const auto known = tracks_.find(uuid); known != tracks_.end()) return known->second;
  const auto found = index_.tracks.find(uuid);
  Resolved resolved;
  StringPool& strings = importer_.strings();
  ThreadTracker& threads = importer_.threads();
  TrackTable& tracks = importer_.tracks();
  if (found == index_.tracks.end()) {
    // Number 0 stands for a track of no thread that nobody need describe.
    if (uuid != 0) return resolved;
    resolved.track = tracks.Get(TrackScope::kGlobal, kNone, strings.Intern("global_track_event"),
                                strings.Intern("Default Track"));
    tracks_[uuid] = resolved;
    return resolved;
  }
  const TrackDescription& description = found->second;
  Resolved parent;
  if (description.parent_uuid != 0 && description.parent_uuid != uuid && depth < kDeepest) {
    parent = Resolve(description.parent_uuid, depth + 1);
    resolved.utid = parent.utid;
    resolved.upid = parent.upid;
  }
  if (description.pid.has_value()) {
    resolved.upid = threads.GetProcess(*description.pid);
    if (!description.process_name.empty()) {
      threads.NameProcess(*resolved.upid, strings.Intern(description.process_name));
    }
  }
  if (description.tid.has_value()) {
    resolved.utid = threads.ThreadOfProcess(*description.tid, description.thread_pid);
    resolved.upid = threads.upid_of(*resolved.utid);
    if (!description.thread_name.empty()) {
      threads.NameThread(*resolved.utid, strings.Intern(description.thread_name),
                         NameSource::kTrackDescriptor);
    }
  }
  const StringId name = description.name.empty() ? kNoString : strings.Intern(description.name);
  const TrackScope scope = resolved.utid.has_value()   ? TrackScope::kThread
                           : resolved.upid.has_value() ? TrackScope::kProcess
                                                       : TrackScope::kGlobal;
  const std::uint32_t owner = resolved.utid.value_or(resolved.upid.value_or(kNone));
  constexpr std::string_view kScopes[] = {"global", "cpu", "thread", "process"};
  const std::string of_scope(kScopes[static_cast<std::size_t>(scope)]);
  if (description.is_counter) {
    constexpr std::string_view kUnits[] = {"", "ns", "count", "bytes"};
    const std::string_view unit =
        description.unit < std::size(kUnits) ? kUnits[description.unit] : "";
    resolved.track =
        tracks.Add(scope, owner, strings.Intern(of_scope + "_counter_track_event"), name);
    tracks.MakeCounter(resolved.track, unit.empty() ? kNoString : strings.Intern(unit));
  } else if (description.tid.has_value()) {
    resolved.track = importer_.ThreadTrack(*resolved.utid);
  } else {
    resolved.track = tracks.Add(scope, owner, strings.Intern(of_scope + "_track_event"), name);
  }
  if (parent.track != kNone && parent.track != resolved.track) {
    tracks.SetParent(resolved.track, parent.track);
  }
  tracks_[uuid] = resolved;
  return resolved;
}

void TrackEventImporter::Counter(std::int64_t ts, std::uint64_t uuid, double value) {
  const auto found = index_.tracks.find(uuid);
  if (found == index_.tracks.end() || !found->second.is_counter) return Skipped();
  double scaled = value * static_cast<double>(found->second.unit_multiplier);
  if (found->second.is_incremental) scaled = incremental_[uuid] += scaled;
  importer_.Counter(ts, Resolve(uuid).track, scaled);
}

StringId TrackEventImporter::NameOf(const Event& event, const Interned& interned) {
  if (!event.name.empty()) return importer_.strings().Intern(event.name);
  const auto found = interned.event_names.find(event.name_iid);
  return found == interned.event_names.end() ? kNoString
                                             : importer_.strings().Intern(found->second);
}

StringId TrackEventImporter::CategoryOf(const Event& event, const Interned& interned) {
  std::string all;
  const auto add = [&all](std::string_view category) {
    if (!all.empty()) all += ',';
    all += category;
  };
  for (const std::uint64_t iid : event.category_iids) {
    const auto found = interned.event_categories.find(iid);
    if (found != interned.event_categories.end()) add(found->second);
  }
  for (const std::string_view category : event.categories) add(category);
  return all.empty() ? kNoString : importer_.strings().Intern(all);
}

void TrackEventImporter::AddAnnotation(std::uint32_t set, std::string_view body, std::string key,
                                       bool is_named, const Interned& interned, int depth) {
  if (depth > kDeepest) return;
  const auto look_up = [](const auto& map, std::uint64_t iid) {
    const auto found = map.find(iid);
    return found == map.end() ? std::string_view("[unknown]") : found->second;
  };
  if (is_named) {
    ProtoReader name(body);
    while (name.Next()) {
      if (name.id() == Annotation::kName) key += '.' + std::string(name.bytes());
      if (name.id() == Annotation::kNameIid) {
        key += '.' + std::string(look_up(interned.debug_names, name.u64()));
      }
    }
  }
  ArgSets& args = importer_.args();
  std::size_t index = 0;
  ProtoReader field(body);
  while (field.Next()) {
    switch (field.id()) {
      case Annotation::kBool:
        args.Int(set, key, field.boolean() ? 1 : 0, ArgType::kBool);
        break;
      case Annotation::kUint:
        args.Int(set, key, field.i64(), ArgType::kUint);
        break;
      case Annotation::kInt:
        args.Int(set, key, field.i64());
        break;
      case Annotation::kDouble:
        args.Real(set, key, field.real());
        break;
      case Annotation::kString:
        args.Text(set, key, field.bytes());
        break;
      case Annotation::kStringIid:
        args.Text(set, key, look_up(interned.debug_strings, field.u64()));
        break;
      case Annotation::kPointer:
        args.Int(set, key, field.i64(), ArgType::kPointer);
        break;
      case Annotation::kLegacyJson:
        args.Text(set, key, field.bytes(), ArgType::kJson);
        break;
      case Annotation::kDictEntries:
        AddAnnotation(set, field.bytes(), key, true, interned, depth + 1);
        break;
      case Annotation::kArrayValues:
        AddAnnotation(set, field.bytes(), key + '[' + std::to_string(index++) + ']', false,
                      interned, depth + 1);
        break;
      default:
        break;
    }
  }
}

void TrackEventImporter::AddArgs(std::uint32_t set, const Event& event, const PacketRef& packet) {
  if (set == kNone || !importer_.args().is_kept()) return;
  const Interned& interned = index_.interned[packet.interned];
  for (const std::string_view annotation : event.annotations) {
    AddAnnotation(set, annotation, "debug", true, interned, 0);
  }
}

void TrackEventImporter::Flows(const Event& event, TrackId track) {
  for (const std::uint64_t flow : event.flows) importer_.flows().BeginOrStep(track, flow);
  for (const std::uint64_t flow : event.ending_flows) importer_.flows().EndAndForget(track, flow);
}

void TrackEventImporter::Slice(std::int64_t ts, const Event& event, const PacketRef& packet) {
  const TrackId track = Resolve(event.track_uuid).track;
  if (track == kNone) return Skipped();
  importer_.Widen(ts);
  const Interned& interned = index_.interned[packet.interned];
  const std::uint32_t set = event.annotations.empty() ? kNone : importer_.args().New();
  SliceTracker& slices = importer_.slices();
  if (event.type == kSliceEnd) {
    const SliceEnd end =
        slices.End(ts, track, CategoryOf(event, interned), NameOf(event, interned), set);
    if (end.row == kNone) {
      importer_.stats().Add("marker_ends_unmatched");
    } else {
      AddArgs(set == kNone ? kNone : end.arg_set_id, event, packet);
    }
    return;
  }
  const StringId name = NameOf(event, interned);
  const StringId category = CategoryOf(event, interned);
  if (event.type == kSliceBegin) {
    slices.Begin(ts, track, category, name, set);
  } else {
    slices.Instant(ts, track, category, name, set);
  }
  AddArgs(set, event, packet);
  Flows(event, track);
}

void TrackEventImporter::Legacy(std::int64_t ts, const Event& event, const PacketRef& packet) {
  Resolved resolved = Resolve(event.track_uuid);
  ThreadTracker& threads = importer_.threads();
  if (event.tid_override != 0) {
    resolved.utid = event.pid_override != 0
                        ? threads.ThreadOfProcess(event.tid_override, event.pid_override)
                        : threads.GetThread(event.tid_override);
    resolved.upid = threads.upid_of(*resolved.utid);
    resolved.track = importer_.ThreadTrack(*resolved.utid);
  }
  if (resolved.track == kNone) return Skipped();
  const Interned& interned = index_.interned[packet.interned];
  const StringId name = NameOf(event, interned);
  const StringId category = CategoryOf(event, interned);
  const std::uint32_t set = event.annotations.empty() ? kNone : importer_.args().New();
  SliceTracker& slices = importer_.slices();
  importer_.Widen(ts);
  switch (event.phase) {
    case 'B':
      slices.Begin(ts, resolved.track, category, name, set);
      break;
    case 'E':
      AddArgs(slices.End(ts, resolved.track, category, name, set).arg_set_id, event, packet);
      return;
    case 'X':
      slices.Complete(ts, event.duration_ns, resolved.track, category, name, set);
      break;
    case 'i':
    case 'I':
      slices.Instant(ts, resolved.track, category, name, set);
      break;
    case 'b':
    case 'e':
    case 'n': {
      if (!event.id.has_value()) return Skipped();
      const bool has_process = resolved.upid.has_value() && *resolved.upid != kNone;
      const AsyncTracks::Key key{
          has_process ? TrackScope::kProcess : TrackScope::kGlobal,
          has_process ? *resolved.upid : kNone,
          importer_.strings().Intern(has_process ? "legacy_async_process_slice"
                                                 : "legacy_async_global_slice"),
          name};
      if (event.phase == 'e') {
        const TrackId track = importer_.async_tracks().ForEnd(key, *event.id);
        if (track == kNone) {
          importer_.stats().Add("marker_ends_unmatched");
        } else {
          AddArgs(slices.End(ts, track, category, name, set).arg_set_id, event, packet);
        }
        return;
      }
      const TrackId track = importer_.async_tracks().ForBegin(key, *event.id);
      if (event.phase == 'b') {
        slices.Begin(ts, track, category, name, set);
      } else {
        slices.Instant(ts, track, category, name, set);
      }
      AddArgs(set, event, packet);
      Flows(event, track);
      return;
    }
    default:
      return Skipped();
  }
  AddArgs(set, event, packet);
  Flows(event, resolved.track);
}

void TrackEventImporter::Take(const PacketRef& packet) {
  const Event event = Read(packet);
  for (std::size_t i = 0; i < event.extra_uuids.size() && i < event.extra_values.size(); ++i) {
    Counter(packet.ts, event.extra_uuids[i],
            static_cast<double>(static_cast<std::int64_t>(event.extra_values[i])));
  }
  switch (event.type) {
    case kSliceBegin:
    case kSliceEnd:
    case kInstant:
      return Slice(packet.ts, event, packet);
    case kCounter:
      return event.value.has_value() ? Counter(packet.ts, event.track_uuid, *event.value)
                                     : Skipped();
    default:
      return event.phase != 0 ? Legacy(packet.ts, event, packet) : Skipped();
  }
}

}  // namespace culprit::load
