#include "stat/event_names.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "kernel/proc_scan.h"
#include "stat/event_table.h"
#include "stat/pfm_names.h"

namespace culprit::stat {
namespace {

constexpr std::string_view kDevices = "sys/bus/event_source/devices";
// PMUs whose events may be named without them, in this order.
constexpr std::string_view kCpuPmus[] = {"cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0"};

std::optional<std::string> Text(const std::string& path) {
  const auto text = ReadFile(path, 1 << 16);
  if (!text) return std::nullopt;
  return std::string(TrimBlanks(*text));
}

std::optional<std::uint64_t> Number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  return ParseInteger<std::uint64_t>(hex ? text.substr(2) : text, hex ? 16 : 10);
}

// Where a term's bits go, "config1:0-7,32-35": the value's lowest bits into the first range.
Status PlaceBits(std::string_view format, std::uint64_t value, Event& event) {
  const Error unknown{"a format that is not understood: " + std::string(format), ""};
  const auto colon = format.find(':');
  const std::string_view field = format.substr(0, colon);
  std::uint64_t* target = field == "config"    ? &event.config
                          : field == "config1" ? &event.config1
                          : field == "config2" ? &event.config2
                                               : nullptr;
  if (target == nullptr || colon == format.npos) return unknown;
  for (const std::string_view range : Split(format.substr(colon + 1), ',')) {
    const auto dash = range.find('-');
    const auto low = ParseInteger<unsigned>(range.substr(0, dash));
    const auto high = dash == range.npos ? low : ParseInteger<unsigned>(range.substr(dash + 1));
    if (!low || !high || *low > *high || *high > 63) return unknown;
    const unsigned bits = *high - *low + 1;
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    *target = (*target & ~(mask << *low)) | (value & mask) << *low;
    value = bits == 64 ? 0 : value >> bits;
  }
  if (value != 0) return Error{"a value with more bits than the PMU's field has", ""};
  return {};
}

class Namer {
 public:
  explicit Namer(std::string root) : root_(std::move(root)) {}

  Result<Event> Find(std::string_view text) const;

 private:
  std::string PmuPath(std::string_view pmu) const {
    return JoinPath(JoinPath(root_, kDevices), pmu);
  }
  Result<Event> FromPmu(std::string_view pmu, std::string_view terms) const;
  // `given`: what stands behind an event whose own terms these are, "" for the outermost.
  Status ApplyTerms(const std::string& pmu, std::string_view terms, std::string_view given,
                    Event& event) const;
  Result<Event> FromTracepoint(std::string_view group, std::string_view name) const;
  Result<Event> ByName(std::string_view name) const;
  std::string Near(std::string_view name) const;

  std::string root_;
};

Status Namer::ApplyTerms(const std::string& pmu, std::string_view terms, std::string_view given,
                         Event& event) const {
  for (const std::string_view piece : Split(terms, ',')) {
    const std::string_view term = TrimBlanks(piece);
    if (term.empty()) continue;
    const auto equals = term.find('=');
    const std::string key(term.substr(0, equals));
    if (key.find('/') != key.npos || key.starts_with('.')) {
      return Error{"no event or term " + key, "see " + pmu + "/events and " + pmu + "/format"};
    }
    // A bare word is an event of the PMU first, else a bit.
    if (equals == term.npos && given.empty()) {
      const std::string path = pmu + "/events/" + key;
      if (const auto alias = Text(path)) {
        CULPRIT_TRY(ApplyTerms(pmu, *alias, terms, event));
        if (const auto unit = Text(path + ".unit")) event.unit = *unit;
        if (const auto scale = Text(path + ".scale")) {
          event.scale = ParseNumber(*scale).value_or(1);
        }
        continue;
      }
    }
    const std::string_view shown = equals == term.npos ? "1" : term.substr(equals + 1);
    // A parameter that the event leaves open is given behind it.
    if (shown == "?" && given.find("," + key + "=") != given.npos) continue;
    const auto value = Number(shown);
    if (!value) {
      return Error{"the term " + std::string(term) + " wants a number",
                   shown == "?" ? "write it behind the event: EVENT," + key + "=NUMBER"
                                : "write it as 0x3c or 60"};
    }
    if (key == "config") {
      event.config = *value;
    } else if (key == "config1") {
      event.config1 = *value;
    } else if (key == "config2") {
      event.config2 = *value;
    } else if (const auto format = Text(pmu + "/format/" + key)) {
      CULPRIT_TRY(PlaceBits(*format, *value, event));
    } else if (key != "name" && key != "period" && key != "freq") {
      return Error{"no event or term " + key, "see " + pmu + "/events and " + pmu + "/format"};
    }
  }
  return {};
}

Result<Event> Namer::FromPmu(std::string_view pmu, std::string_view terms) const {
  const std::string path = PmuPath(pmu);
  const auto type = Text(path + "/type");
  const auto number = type ? ParseInteger<std::uint32_t>(*type) : std::nullopt;
  if (pmu.empty() || pmu.find('/') != pmu.npos || pmu.starts_with('.') || !number) {
    return Error{"no PMU " + std::string(pmu) + " here", "see ls " + JoinPath("/", kDevices)};
  }
  Event event;
  event.type = *number;
  CULPRIT_TRY(ApplyTerms(path, terms, "", event));
  if (const auto mask = Text(path + "/cpumask")) {
    if (const auto cpus = kernel::ParseCpuList(*mask)) event.cpus = *cpus;
  }
  return event;
}

Result<Event> Namer::FromTracepoint(std::string_view group, std::string_view name) const {
  if (group.find_first_of("/.") != group.npos || name.find_first_of("/.") != name.npos) {
    return Error{"no tracepoint " + std::string(group) + ":" + std::string(name), ""};
  }
  for (const char* tracing : {"sys/kernel/tracing", "sys/kernel/debug/tracing"}) {
    const std::string path = JoinPath(root_, tracing) + "/events/" + std::string(group) + "/" +
                             std::string(name) + "/id";
    if (const auto id = Text(path)) {
      if (const auto number = ParseInteger<std::uint64_t>(*id)) {
        Event event;
        event.type = PERF_TYPE_TRACEPOINT;
        event.config = *number;
        return event;
      }
    }
  }
  return Error{
      "no tracepoint " + std::string(group) + ":" + std::string(name) + " that this user may see",
      "run as root, with tracefs mounted; see culprit record --list"};
}

Result<Event> Namer::ByName(std::string_view name) const {
  if (const GenericEvent* generic = FindGenericEvent(name)) {
    Event event;
    event.has_perf = generic->has_perf;
    event.type = generic->type;
    event.config = generic->config;
    event.unit = generic->unit;
    event.proc = generic->proc;
    return event;
  }
  if (const auto config = CacheEventConfig(name)) {
    Event event;
    event.type = PERF_TYPE_HW_CACHE;
    event.config = *config;
    return event;
  }
  if (name.size() > 1 && name.front() == 'r') {
    if (const auto raw = ParseInteger<std::uint64_t>(name.substr(1), 16)) {
      Event event;
      event.type = PERF_TYPE_RAW;
      event.config = *raw;
      return event;
    }
  }
  if (name.find('/') == name.npos && !name.starts_with('.')) {
    for (const std::string_view pmu : kCpuPmus) {
      if (PathExists(PmuPath(pmu) + "/events/" + std::string(name))) return FromPmu(pmu, name);
    }
  }
  return Error{"no event " + std::string(name), ""};
}

std::string Namer::Near(std::string_view name) const {
  std::vector<std::string> names = CacheEventNames();
  for (const GenericEvent& event : GenericEvents()) {
    names.emplace_back(event.name);
    if (!event.alias.empty()) names.emplace_back(event.alias);
  }
  std::error_code ignored;
  for (const std::string_view pmu : kCpuPmus) {
    for (const auto& entry :
         std::filesystem::directory_iterator(PmuPath(pmu) + "/events", ignored)) {
      names.push_back(entry.path().filename());
    }
  }
  std::string text;
  for (const std::string& near : NearNames(name, names)) {
    text += (text.empty() ? "did you mean " : " or ") + near;
  }
  return text;
}

void ApplyModifiers(std::string_view modifiers, Event& event) {
  // As perf: with any of them, what is not named is left out.
  const bool user = modifiers.find('u') != modifiers.npos;
  const bool kernel = modifiers.find('k') != modifiers.npos;
  const bool hypervisor = modifiers.find('h') != modifiers.npos;
  if (!user && !kernel && !hypervisor) return;
  event.exclude_user = !user;
  event.exclude_kernel = !kernel;
  event.exclude_hypervisor = !hypervisor;
  event.proc = ProcCount::kNone;  // /proc counts both
}

bool AreModifiers(std::string_view text) {
  return !text.empty() && text.find_first_not_of("ukhp") == text.npos;
}

// Cuts ":u" or, behind "PMU/terms/", "u" off; returns it.
std::string_view TakeModifiers(std::string_view& text) {
  const auto slash = text.rfind('/');
  const auto at = text.rfind(':');
  if (at != text.npos && (slash == text.npos || at > slash) && AreModifiers(text.substr(at + 1))) {
    const auto modifiers = text.substr(at + 1);
    text = text.substr(0, at);
    return modifiers;
  }
  if (slash != text.npos && slash + 1 < text.size() && AreModifiers(text.substr(slash + 1))) {
    const auto modifiers = text.substr(slash + 1);
    text = text.substr(0, slash + 1);
    return modifiers;
  }
  return {};
}

Result<Event> Namer::Find(std::string_view text) const {
  const std::string whole(text);
  const std::string_view modifiers = TakeModifiers(text);
  const auto slash = text.find('/');
  auto found = slash != text.npos && text.size() > slash + 1 && text.ends_with('/')
                   ? FromPmu(text.substr(0, slash), text.substr(slash + 1, text.size() - slash - 2))
                   : ByName(text);
  if (!found && slash == text.npos) {
    // "group:name" is a tracepoint, or a name and a unit mask of libpfm4.
    const auto colon = text.find(':');
    const bool tracepoint = colon != text.npos && colon > 0 && colon + 1 < text.size() &&
                            text.substr(colon + 1).find(':') == text.npos;
    Error error = found.error();
    if (tracepoint) {
      found = FromTracepoint(text.substr(0, colon), text.substr(colon + 1));
      if (!found) error = found.error();
    }
    if (!found) {
      if (auto named = FindPfmEvent(std::string(text))) {
        found = std::move(named);
      } else {
        const std::string near = Near(text);
        error.remedy = near.empty() ? named.error().remedy : near;
        found = error;
      }
    }
  }
  if (!found) return Error{whole + ": " + found.error().what, found.error().remedy};
  found->name = whole;
  ApplyModifiers(modifiers, *found);
  return found;
}

// Pieces between commas that are inside neither braces nor slashes.
std::vector<std::string_view> SplitEvents(std::string_view text) {
  std::vector<std::string_view> pieces;
  int braces = 0;
  bool terms = false;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    if (c == '{') ++braces;
    if (c == '}') --braces;
    if (c == '/') terms = !terms;
    if (at == text.size() || (c == ',' && braces <= 0 && !terms)) {
      const auto piece = TrimBlanks(text.substr(begin, at - begin));
      if (!piece.empty()) pieces.push_back(piece);
      begin = at + 1;
    }
  }
  return pieces;
}

}  // namespace

Result<std::vector<EventGroup>> ParseEvents(std::string_view text, const std::string& root) {
  const Namer namer(root);
  std::vector<EventGroup> groups;
  for (std::string_view piece : SplitEvents(text)) {
    EventGroup group;
    if (piece.front() == '{') {
      const auto close = piece.find('}');
      const std::string_view behind = close == piece.npos ? "" : piece.substr(close + 1);
      if (close == piece.npos ||
          !(behind.empty() || (behind.front() == ':' && AreModifiers(behind.substr(1))))) {
        return Error{"a group is not closed: " + std::string(piece),
                     "write it as {cycles,instructions} or {cycles,instructions}:u"};
      }
      for (const std::string_view name : SplitEvents(piece.substr(1, close - 1))) {
        CULPRIT_ASSIGN(Event event, namer.Find(name));
        if (!behind.empty()) {
          ApplyModifiers(behind.substr(1), event);
          event.name += behind;
        }
        group.push_back(std::move(event));
      }
    } else {
      CULPRIT_ASSIGN(Event event, namer.Find(piece));
      group.push_back(std::move(event));
    }
    if (!group.empty()) groups.push_back(std::move(group));
  }
  if (groups.empty()) return Error{"no events are named", "give -e cycles,instructions"};
  return groups;
}

std::string TopDownEvents(const std::string& root) {
  // Names of the kernel's Intel PMU driver: Ice Lake and newer; Sandy Bridge to Skylake.
  constexpr std::string_view kSets[] = {
      "{slots,topdown-retiring,topdown-bad-spec,topdown-fe-bound,topdown-be-bound}",
      "{topdown-total-slots,topdown-slots-issued,topdown-slots-retired,topdown-fetch-bubbles,"
      "topdown-recovery-bubbles}",
  };
  for (const std::string_view set : kSets) {
    for (const std::string_view pmu : kCpuPmus) {
      const std::string events = JoinPath(JoinPath(JoinPath(root, kDevices), pmu), "events");
      const auto names = Split(set.substr(1, set.size() - 2), ',');
      const bool all = std::ranges::all_of(
          names, [&](std::string_view name) { return PathExists(JoinPath(events, name)); });
      if (all) return std::string(set);
    }
  }
  return "";
}

}  // namespace culprit::stat
