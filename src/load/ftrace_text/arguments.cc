#include "load/ftrace_text/arguments.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace culprit::load::ftrace_text {
namespace {

using tracefile::EventField;
using tracefile::EventType;
using tracefile::FieldType;

constexpr std::uint32_t kPrint = 3;
constexpr std::uint32_t kSchedWaking = 20;

// The value behind the last "key=" that begins a word, up to its end; the place of the key in `at`.
std::optional<std::size_t> FindKey(std::string_view arguments, std::string_view key) {
  for (std::size_t at = arguments.rfind(key); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : arguments.rfind(key, at - 1)) {
    const bool begins = at == 0 || arguments[at - 1] == ' ';
    const std::size_t behind = at + key.size();
    if (begins && behind < arguments.size() && arguments[behind] == '=') return at;
  }
  return std::nullopt;
}

// The leading number of a value: "1 [action=TIMER]", "0x1f", "000".
std::optional<std::uint64_t> LeadingNumber(std::string_view text, int base = 10) {
  text = TrimBlanks(text);
  bool is_negative = false;
  if (text.starts_with('-')) {
    is_negative = true;
    text.remove_prefix(1);
  }
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc{} || stop == text.data()) return std::nullopt;
  return is_negative ? ~value + 1 : value;
}

void SetField(const EventType& type, std::string_view name, std::uint64_t value,
              EventFields& fields) {
  if (const EventField* field = type.FindField(name)) fields.SetNumber(field->number, value);
}
void SetField(const EventType& type, std::string_view name, std::string_view value,
              EventFields& fields) {
  if (const EventField* field = type.FindField(name)) fields.SetText(field->number, value);
}

// "8,0 WS 4096 () 2048 + 8 none,0,0 [comm]" and its shorter kin of completions and bios.
void ReadBlock(const EventType& type, std::string_view arguments, EventFields& fields) {
  const std::vector<std::string_view> words = SplitWords(arguments);
  if (words.size() < 2) return;
  const std::size_t comma = words[0].find(',');
  if (comma == std::string_view::npos) return;
  const auto major = ParseInteger<std::uint64_t>(words[0].substr(0, comma));
  const auto minor = ParseInteger<std::uint64_t>(words[0].substr(comma + 1));
  if (!major.has_value() || !minor.has_value()) return;
  // The numbering of stat(2), as in binary traces.
  SetField(type, "dev", (*minor & 0xFF) | (*major << 8) | ((*minor & ~0xFFULL) << 12), fields);
  SetField(type, "rwbs", words[1], fields);
  const auto plus = std::find(words.begin(), words.end(), "+");
  if (plus == words.begin() || plus == words.end() || plus + 1 == words.end()) return;
  SetField(type, "sector", LeadingNumber(*(plus - 1)).value_or(0), fields);
  SetField(type, "nr_sector", LeadingNumber(*(plus + 1)).value_or(0), fields);
  if (words.size() > 3 && plus - words.begin() > 4 - 1 && words[3].starts_with('(')) {
    SetField(type, "bytes", LeadingNumber(words[2]).value_or(0), fields);
  }
  const std::size_t open = arguments.rfind('[');
  if (open == std::string_view::npos || !arguments.ends_with(']')) return;
  const std::string_view last = arguments.substr(open + 1, arguments.size() - open - 2);
  SetField(type, "comm", last, fields);
  if (const auto error = LeadingNumber(last); error.has_value()) {
    SetField(type, "errors", *error, fields);
    SetField(type, "error", *error, fields);
  }
}

// "NR 257 (ffffff9c, 7ffe5b, 90800, 0, 0, 0)" and "NR 257 = 3".
void ReadSyscall(const EventType& type, std::string_view arguments, EventFields& fields) {
  const std::vector<std::string_view> words = SplitWords(arguments);
  if (words.size() < 2 || words[0] != "NR") return;
  SetField(type, "id", LeadingNumber(words[1]).value_or(~std::uint64_t{0}), fields);
  if (words.size() > 3 && words[2] == "=") {
    SetField(type, "ret", LeadingNumber(words[3]).value_or(0), fields);
    return;
  }
  const EventField* args = type.FindField("args");
  for (std::size_t i = 2; args != nullptr && i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.starts_with('(')) word.remove_prefix(1);
    if (const auto value = LeadingNumber(word, 16)) fields.AddNumber(args->number, *value);
  }
}

// trace-cmd: "comm:tid [prio] ..."; returns what is behind.
bool ReadTask(std::string_view text, std::string_view& comm, std::int64_t& tid, std::int32_t& prio,
              std::string_view& behind) {
  const std::size_t open = text.find(" [");
  if (open == std::string_view::npos) return false;
  const std::size_t close = text.find(']', open);
  const std::size_t colon = text.substr(0, open).rfind(':');
  if (close == std::string_view::npos || colon == std::string_view::npos) return false;
  const auto number = ParseInteger<std::int64_t>(text.substr(colon + 1, open - colon - 1));
  const auto priority = ParseInteger<std::int32_t>(text.substr(open + 2, close - open - 2));
  if (!number.has_value() || !priority.has_value()) return false;
  comm = text.substr(0, colon);
  tid = *number;
  prio = *priority;
  behind = TrimBlanks(text.substr(close + 1));
  return true;
}

void ReadTaskFields(const EventType& type, std::string_view arguments, EventFields& fields) {
  std::string_view comm;
  std::string_view behind;
  std::int64_t tid = 0;
  std::int32_t prio = 0;
  if (!ReadTask(arguments, comm, tid, prio, behind)) return;
  SetField(type, "comm", comm, fields);
  SetField(type, "pid", static_cast<std::uint64_t>(tid), fields);
  SetField(type, "prio", static_cast<std::uint64_t>(prio), fields);
  const std::size_t cpu = behind.rfind("CPU:");
  if (cpu != std::string_view::npos) {
    SetField(type, "target_cpu", LeadingNumber(behind.substr(cpu + 4)).value_or(0), fields);
  }
}

}  // namespace

const EventType* FindByName(std::string_view name) {
  if (name == "tracing_mark_write") name = "print";
  for (const EventType& type : tracefile::EventTypes()) {
    if (type.name == name || type.kernel_name == name) return &type;
  }
  return nullptr;
}

void ReadArguments(const EventType& type, std::string_view arguments, EventFields& fields) {
  fields.Clear();
  if (type.field_id == kPrint) {
    // trace-cmd names the function that wrote before the text.
    constexpr std::string_view kWriter = "tracing_mark_write: ";
    if (arguments.starts_with(kWriter)) arguments.remove_prefix(kWriter.size());
    SetField(type, "buf", arguments, fields);
    return;
  }
  if (type.group == "raw_syscalls") {
    ReadSyscall(type, arguments, fields);
    return;
  }
  if (type.group == "block" && arguments.find('=') == std::string_view::npos) {
    ReadBlock(type, arguments, fields);
    return;
  }
  struct Place {
    std::size_t at;
    const EventField* field;
    std::size_t key_size;
  };
  std::vector<Place> places;
  for (const EventField& field : type.fields) {
    const std::string_view key = field.name == "io_wait" ? "iowait" : field.name;
    auto at = FindKey(arguments, key);
    if (!at.has_value() && key != field.name) at = FindKey(arguments, field.name);
    if (at.has_value()) places.push_back({*at, &field, arguments.find('=', *at) - *at});
  }
  if (places.empty()) {
    if (type.field_id == kSchedWaking || type.name.starts_with("sched_wakeup")) {
      ReadTaskFields(type, arguments, fields);
    }
    return;
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.at < b.at; });
  // clock events print their name first, without a key.
  if (places.front().at > 0) {
    SetField(type, "name", TrimBlanks(arguments.substr(0, places.front().at)), fields);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t begin = places[i].at + places[i].key_size + 1;
    const std::size_t end = i + 1 < places.size() ? places[i + 1].at : arguments.size();
    if (begin > end) continue;
    const std::string_view value = TrimBlanks(arguments.substr(begin, end - begin));
    const EventField& field = *places[i].field;
    if (field.type == FieldType::kString) {
      fields.SetText(field.number, value);
    } else if (const auto number = LeadingNumber(value, field.name == "clone_flags" ? 16 : 10);
               number.has_value()) {
      fields.SetNumber(field.number, *number);
    } else {
      fields.SetText(field.number, value);  // a symbol, a name of a flag
    }
  }
}

bool ReadSwitch(std::string_view arguments, SwitchText& out) {
  const std::size_t arrow = arguments.rfind("==>");
  if (arrow == std::string_view::npos) return false;
  const std::string_view prev = TrimBlanks(arguments.substr(0, arrow));
  const std::string_view next = TrimBlanks(arguments.substr(arrow + 3));
  const auto value = [](std::string_view text, std::string_view key, std::string_view until) {
    const auto at = FindKey(text, key);
    if (!at.has_value()) return std::string_view();
    const std::size_t begin = *at + key.size() + 1;
    const auto end = until.empty() ? std::optional<std::size_t>() : FindKey(text, until);
    return TrimBlanks(text.substr(begin, end.value_or(text.size()) - begin));
  };
  if (FindKey(prev, "prev_pid").has_value()) {
    // A comm can hold anything, so it is what stands before the last "prev_pid=".
    constexpr std::string_view kFirst = "prev_comm=";
    constexpr std::string_view kSecond = "next_comm=";
    const auto prev_pid = FindKey(prev, "prev_pid");
    const auto next_pid = FindKey(next, "next_pid");
    if (!prev.starts_with(kFirst) || !next.starts_with(kSecond) || !next_pid.has_value()) {
      return false;
    }
    out.prev_comm = TrimBlanks(prev.substr(kFirst.size(), *prev_pid - kFirst.size()));
    out.next_comm = TrimBlanks(next.substr(kSecond.size(), *next_pid - kSecond.size()));
    out.prev_tid =
        static_cast<std::int64_t>(LeadingNumber(value(prev, "prev_pid", "prev_prio")).value_or(0));
    out.prev_state = value(prev, "prev_state", "");
    out.next_tid =
        static_cast<std::int64_t>(LeadingNumber(value(next, "next_pid", "next_prio")).value_or(0));
    out.next_prio =
        static_cast<std::int32_t>(LeadingNumber(value(next, "next_prio", "")).value_or(0));
    return true;
  }
  std::int32_t prev_prio = 0;
  std::string_view behind;
  return ReadTask(prev, out.prev_comm, out.prev_tid, prev_prio, out.prev_state) &&
         ReadTask(next, out.next_comm, out.next_tid, out.next_prio, behind);
}

std::vector<std::pair<std::string_view, std::string_view>> ReadPairs(std::string_view arguments) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (const std::string_view word : SplitWords(arguments)) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

}  // namespace culprit::load::ftrace_text
