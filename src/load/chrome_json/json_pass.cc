#include "load/chrome_json/json_pass.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "load/chrome_json/scanner.h"

namespace culprit::load::chrome_json {
namespace {

// Names in place of a pid or tid get numbers that no kernel gives.
constexpr std::int64_t kFirstNamedId = std::int64_t{1} << 40;

// Events without a time: names of threads and processes, which come first.
constexpr std::int64_t kNoTime = INT64_MIN;

std::uint64_t CookieOf(std::string_view category, std::string_view id) {
  return std::hash<std::string_view>()(category) * 31 + std::hash<std::string_view>()(id);
}

}  // namespace

void JsonPass::Index() {
  EventScanner scanner(text_);
  std::string_view text;
  std::int64_t damaged = 0;
  while (scanner.Next(text)) {
    const auto event = reader_.Read(text);
    if (!event.has_value() || text.size() > UINT32_MAX) {
      ++damaged;
      continue;
    }
    if (!event->ts.has_value() && event->phase != 'M') {
      Failed();
      continue;
    }
    places_.push_back({.ts = event->phase == 'M' ? kNoTime : *event->ts,
                       .dur = event->phase == 'X' ? event->dur.value_or(-1) : -1,
                       .offset = static_cast<std::size_t>(text.data() - text_.data()),
                       .size = static_cast<std::uint32_t>(text.size())});
  }
  has_events_ = scanner.has_events();
  is_cut_ = scanner.is_cut();
  if (const std::int64_t bad = damaged + scanner.misplaced(); bad > 0) {
    importer_.stats().Add("json_tokenizer_failure", bad);
  }
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& a, const Place& b) { return a.ts < b.ts; });
  // Of slices that begin together, the longest holds the others.
  for (auto first = places_.begin(); first != places_.end();) {
    auto last = first + 1;
    if (first->dur >= 0) {
      while (last != places_.end() && last->ts == first->ts && last->dur >= 0) ++last;
      std::stable_sort(first, last, [](const Place& a, const Place& b) { return a.dur > b.dur; });
    }
    first = last;
  }
}

void JsonPass::Run(
    const std::function<bool(std::uint64_t bytes, std::uint64_t events)>& keep_going) {
  constexpr std::uint64_t kBetween = 1 << 15;
  Index();
  std::uint64_t bytes = 0;
  for (const Place& place : places_) {
    if (const auto event = reader_.Read(text_.substr(place.offset, place.size))) {
      ++events_;
      Take(*event, place.ts);
    }
    bytes += place.size;
    if (events_ % kBetween == 0 && !keep_going(bytes, events_)) return;
  }
}

std::int64_t JsonPass::NumberOf(const IdOrName& id) const {
  if (id.name.empty()) return id.number;
  return kFirstNamedId + importer_.strings().Intern(id.name);
}

// Threads without a pid are processes of one thread, and the other way round.
Utid JsonPass::ThreadOf(const JsonEvent& event) {
  const IdOrName tid = event.tid.value_or(event.pid.value_or(IdOrName()));
  const IdOrName pid = event.pid.value_or(tid);
  const Utid utid = importer_.threads().ThreadOfProcess(NumberOf(tid), NumberOf(pid));
  if (!tid.name.empty()) {
    importer_.threads().NameThread(utid, importer_.strings().Intern(tid.name), NameSource::kOther);
  }
  if (!pid.name.empty()) {
    importer_.threads().NameProcess(importer_.threads().upid_of(utid),
                                    importer_.strings().Intern(pid.name));
  }
  return utid;
}

Upid JsonPass::ProcessOf(const JsonEvent& event) {
  return importer_.threads().GetProcess(NumberOf(event.pid.value_or(IdOrName())));
}

StringId JsonPass::NameOf(const JsonEvent& event) {
  return importer_.strings().Intern(event.has_name ? event.name : "[No name]");
}

StringId JsonPass::CategoryOf(const JsonEvent& event) {
  return event.category.empty() ? kNoString : importer_.strings().Intern(event.category);
}

std::uint32_t JsonPass::ArgsOf(const JsonEvent& event) {
  if (event.args.size() <= 2) return kNone;  // "{}"
  const std::uint32_t set = importer_.args().New();
  AddArgs(set, event.args);
  return set;
}

void JsonPass::AddArgs(std::uint32_t set, std::string_view json) {
  ArgSets& args = importer_.args();
  if (set == kNone || !args.is_kept()) return;
  const bool is_json = reader_.Visit(json, "args", [&](const std::string& key, const Leaf& leaf) {
    if (const auto* number = std::get_if<std::int64_t>(&leaf)) args.Int(set, key, *number);
    if (const auto* real = std::get_if<double>(&leaf)) args.Real(set, key, *real);
    if (const auto* text = std::get_if<std::string_view>(&leaf)) args.Text(set, key, *text);
    if (const auto* flag = std::get_if<bool>(&leaf)) {
      args.Int(set, key, *flag ? 1 : 0, tables::ArgType::kBool);
    }
    if (std::holds_alternative<std::nullptr_t>(leaf)) args.Null(set, key);
  });
  if (!is_json) Failed();
}

// Numbers of flows are of a category and a name, or of all.
std::uint64_t JsonPass::FlowNumber(std::string_view scope, std::string_view id) {
  std::string key(scope);
  key += '\0';
  key += id;
  return flow_numbers_.try_emplace(std::move(key), flow_numbers_.size()).first->second;
}

void JsonPass::BoundFlows(const JsonEvent& event, TrackId track) {
  FlowTracker& flows = importer_.flows();
  flows.SliceBegan(track);
  if (event.bind_id.empty()) return;
  const std::uint64_t flow = FlowNumber("", event.bind_id);
  if (event.flow_in && event.flow_out) {
    flows.Step(track, flow);
  } else if (event.flow_out) {
    flows.Begin(track, flow);
  } else if (event.flow_in) {
    flows.End(track, flow);
  }
}

void JsonPass::Metadata(const JsonEvent& event) {
  const bool is_thread = event.name == "thread_name";
  if ((!is_thread && event.name != "process_name") || event.args.empty()) return;
  std::string name;
  const std::string_view args = event.args;
  reader_.Visit(args, "args", [&](const std::string& key, const Leaf& leaf) {
    const auto* text = std::get_if<std::string_view>(&leaf);
    if (key == "args.name" && text != nullptr) name = *text;
  });
  if (name.empty()) return Failed();
  const StringId id = importer_.strings().Intern(name);
  if (is_thread) {
    importer_.threads().NameThread(ThreadOf(event), id, NameSource::kOther);
  } else {
    importer_.threads().NameProcess(ProcessOf(event), id);
  }
}

void JsonPass::Complete(const JsonEvent& event, std::int64_t ts, Utid utid) {
  if (!event.dur.has_value() || *event.dur < 0) return Failed();
  SliceTracker& slices = importer_.slices();
  TrackId track = importer_.ThreadTrack(utid);
  if (!slices.Fits(ts, *event.dur, track)) {
    importer_.stats().Add("slice_spill_overlapping_complete_event");
    std::vector<TrackId>& lines = spill_[utid];
    const auto fits = std::find_if(lines.begin(), lines.end(),
                                   [&](TrackId line) { return slices.Fits(ts, *event.dur, line); });
    if (fits == lines.end()) {
      lines.push_back(importer_.tracks().Add(TrackScope::kThread, utid,
                                             importer_.strings().Intern("thread_overlapping_slice"),
                                             kNoString));
      track = lines.back();
    } else {
      track = *fits;
    }
  }
  importer_.Widen(ts + *event.dur);
  slices.Complete(ts, *event.dur, track, CategoryOf(event), NameOf(event), ArgsOf(event));
  BoundFlows(event, track);
}

void JsonPass::Async(const JsonEvent& event, std::int64_t ts) {
  if (!event.pid.has_value() || event.id.empty()) return Failed();
  const StringId name = NameOf(event);
  const AsyncTracks::Key key{TrackScope::kProcess, ProcessOf(event),
                             importer_.strings().Intern("legacy_async_process_slice"), name};
  const std::uint64_t cookie = CookieOf(event.category, event.id) + (event.is_id_local ? 1 : 0);
  AsyncTracks& tracks = importer_.async_tracks();
  SliceTracker& slices = importer_.slices();
  if (event.phase == 'e') {
    const TrackId track = tracks.ForEnd(key, cookie);
    if (track == kNone) {
      importer_.stats().Add("marker_ends_unmatched");
      return;
    }
    const std::uint32_t set = event.args.size() > 2 ? importer_.args().New() : kNone;
    AddArgs(slices.End(ts, track, CategoryOf(event), name, set).arg_set_id, event.args);
    return;
  }
  const TrackId track = tracks.ForBegin(key, cookie);
  if (event.phase == 'b') {
    slices.Begin(ts, track, CategoryOf(event), name, ArgsOf(event));
  } else {
    slices.Instant(ts, track, CategoryOf(event), name, ArgsOf(event));
  }
  BoundFlows(event, track);
}

void JsonPass::Instant(const JsonEvent& event, std::int64_t ts, Utid utid) {
  TrackTable& tracks = importer_.tracks();
  StringPool& strings = importer_.strings();
  TrackId track = kNone;
  switch (event.scope) {
    case 'g':
      track = tracks.Get(TrackScope::kGlobal, kNone, strings.Intern("legacy_global_instants"),
                         kNoString);
      break;
    case 'p':
      if (!event.pid.has_value()) return Failed();
      track = tracks.Get(TrackScope::kProcess, ProcessOf(event),
                         strings.Intern("chrome_process_instant"), kNoString);
      break;
    case 't':
      if (!event.tid.has_value()) return Failed();
      track = importer_.ThreadTrack(utid);
      break;
    default:
      return Failed();
  }
  importer_.slices().Instant(ts, track, CategoryOf(event), NameOf(event), ArgsOf(event));
}

void JsonPass::Counter(const JsonEvent& event, std::int64_t ts, Utid utid) {
  std::string prefix(event.name);
  if (!event.id.empty()) prefix += " id: " + std::string(event.id);
  std::int64_t values = 0;
  reader_.Visit(event.args, "", [&](const std::string& key, const Leaf& leaf) {
    if (key.empty()) return;
    std::optional<double> value;
    if (const auto* number = std::get_if<std::int64_t>(&leaf)) value = static_cast<double>(*number);
    if (const auto* real = std::get_if<double>(&leaf)) value = *real;
    if (const auto* text = std::get_if<std::string_view>(&leaf)) value = ParseNumber(*text);
    if (!value.has_value()) return Failed();
    ++values;
    importer_.process_counters().Append(ts, utid, importer_.strings().Intern("json_counter"),
                                        importer_.strings().Intern(prefix + ' ' + key.substr(1)),
                                        *value);
  });
  if (values == 0) Failed();
}

void JsonPass::Flow(const JsonEvent& event, Utid utid) {
  if (event.id.empty() && event.bind_id.empty()) {
    importer_.stats().Add("flow_invalid_id");
    return;
  }
  std::string scope(event.category);
  scope += '\0';
  scope += event.name;
  const std::uint64_t flow = FlowNumber(scope, event.id.empty() ? event.bind_id : event.id);
  const TrackId track = importer_.ThreadTrack(utid);
  FlowTracker& flows = importer_.flows();
  if (event.phase == 's') return flows.Begin(track, flow);
  if (event.phase == 't') return flows.Step(track, flow);
  event.binds_to_enclosing ? flows.End(track, flow) : flows.EndAtNext(track, flow);
}

// Perfetto's own phase for states of threads; chrome://tracing passes over it.
void JsonPass::State(const JsonEvent& event, std::int64_t ts, Utid utid) {
  const SchedState state = event.name == "Running" ? tables::kStateRunning : ParseState(event.name);
  if (!event.dur.has_value() || state == kNoState) return Failed();
  std::optional<std::uint32_t> cpu;
  StringId blocked = kNoString;
  int io_wait = -1;
  constexpr std::int64_t kMostCpus = 4096;
  if (!event.args.empty()) {
    reader_.Visit(event.args, "", [&](const std::string& key, const Leaf& leaf) {
      const auto* number = std::get_if<std::int64_t>(&leaf);
      const auto* text = std::get_if<std::string_view>(&leaf);
      if (key == ".cpu" && number != nullptr && *number >= 0 && *number < kMostCpus) {
        cpu = static_cast<std::uint32_t>(*number);
      }
      if (key == ".io_wait" && number != nullptr) io_wait = *number != 0 ? 1 : 0;
      if (key == ".blocked_function" && text != nullptr) {
        blocked = importer_.strings().Intern(*text);
      }
    });
  }
  if (*event.dur > 0) importer_.Widen(ts + *event.dur);
  importer_.ToldState(ts, *event.dur, utid, state, cpu, blocked, io_wait);
}

void JsonPass::Take(const JsonEvent& event, std::int64_t ts) {
  if (event.phase == 'M') return Metadata(event);
  importer_.Widen(ts);
  SliceTracker& slices = importer_.slices();
  switch (event.phase) {
    case 'B': {
      const TrackId track = importer_.ThreadTrack(ThreadOf(event));
      slices.Begin(ts, track, CategoryOf(event), NameOf(event), ArgsOf(event));
      return BoundFlows(event, track);
    }
    case 'E': {
      const TrackId track = importer_.ThreadTrack(ThreadOf(event));
      const std::uint32_t set = event.args.size() > 2 ? importer_.args().New() : kNone;
      const StringId name = event.has_name ? importer_.strings().Intern(event.name) : kNoString;
      const SliceEnd end = slices.End(ts, track, CategoryOf(event), name, set);
      if (end.row == kNone) importer_.stats().Add("marker_ends_unmatched");
      if (set != kNone) AddArgs(end.arg_set_id, event.args);
      return;
    }
    case 'X':
      return Complete(event, ts, ThreadOf(event));
    case 'b':
    case 'e':
    case 'n':
      return Async(event, ts);
    case 'i':
    case 'I':
    case 'R':
      return Instant(event, ts, ThreadOf(event));
    case 'C':
      return Counter(event, ts, ThreadOf(event));
    case 's':
    case 't':
    case 'f':
      return Flow(event, ThreadOf(event));
    case 'T':
      return State(event, ts, ThreadOf(event));
    default:
      importer_.stats().Add("json_events_skipped");
  }
}

}  // namespace culprit::load::chrome_json
