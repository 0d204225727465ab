// ExportFtraceText: events and their fields come as two results in the same order and are merged.
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/text.h"
#include "query/export.h"
#include "query/ftrace_text_table.h"
#include "query/print_format.h"
#include "tables/database.h"

namespace culprit::query {
namespace {

using tables::QueryResult;

enum EventColumn : std::size_t {
  kTs,
  kCpu,
  kEvent,
  kSet,
  kFlags,
  kComm,
  kTid,
  kPid,
  kEndState,  // for a switch: what sched says of the thread that leaves
};
constexpr const char* kEvents =
    "SELECT e.ts, e.cpu, e.name, e.arg_set_id, e.common_flags, t.name, t.tid, p.pid, s.end_state "
    "FROM ftrace_event AS e LEFT JOIN thread AS t ON e.utid = t.utid "
    "LEFT JOIN process AS p ON t.upid = p.upid "
    "LEFT JOIN (SELECT cpu, ts_end, any_value(end_state) AS end_state FROM sched WHERE dur >= 0 "
    "GROUP BY cpu, ts_end) AS s ON e.name = 'sched_switch' AND s.cpu = e.cpu AND s.ts_end = e.ts "
    "ORDER BY e.ts, e.id";

enum FieldColumn : std::size_t { kFieldSet, kKey, kText, kInteger };
constexpr const char* kFields =
    "SELECT a.arg_set_id, a.key, a.display_value, a.int_value FROM ftrace_event AS e "
    "JOIN args AS a ON e.arg_set_id = a.arg_set_id ORDER BY e.ts, e.id, a.id";

// A result read row by row.
class Cursor {
 public:
  explicit Cursor(QueryResult result) : result_(std::move(result)) {}
  // False at the end.
  Result<bool> Next() {
    if (++row_ < result_.chunk_rows()) return true;
    row_ = 0;
    return result_.Next();
  }
  const QueryResult& rows() const { return result_; }
  std::size_t row() const { return row_; }
  bool IsNull(std::size_t column) const { return result_.IsNull(column, row_); }
  std::int64_t Integer(std::size_t column) const { return result_.Integer(column, row_); }
  std::string_view Text(std::size_t column) const { return result_.Text(column, row_); }

 private:
  QueryResult result_;
  std::size_t row_ = 0;
};

using Field = PrintField;

constexpr std::array<std::string_view, 10> kSoftirqs = {
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"};

// "DK" as the kernel prints it, "D|K". Without a row in sched the flags of kernels since 4.14 hold.
std::string StateText(std::string_view end_state, std::int64_t flags) {
  std::string text(end_state);
  if (text.empty()) {
    constexpr std::string_view kLetters = "SDTtXZPI";
    for (std::size_t bit = 0; bit < kLetters.size(); ++bit) {
      if (flags >> bit & 1) text += kLetters[bit];
    }
    if (text.empty()) text = flags & 0x100 ? "R+" : "R";
  }
  if (text == "R+") return text;
  std::string parted;
  for (const char letter : text) {
    if (!parted.empty()) parted += '|';
    parted += letter;
  }
  return parted;
}

// Control characters would end the line or the terminal's patience.
void AppendOneLine(std::string_view text, std::string& out) { out += SafeForTerminal(text); }

void AppendField(const Field& field, std::string_view how, std::string_view end_state,
                 std::string& out) {
  const auto to = std::back_inserter(out);
  if (how.empty()) {
    std::string_view text = field.text;
    while (text.ends_with('\n')) text.remove_suffix(1);  // of trace_marker
    AppendOneLine(text, out);
  } else if (how == "03") {
    fmt::format_to(to, "{:03}", field.integer);
  } else if (how == "x") {
    fmt::format_to(to, "{:x}", static_cast<std::uint64_t>(field.integer));
  } else if (how == "dev") {
    // Traces number devices as stat(2) does.
    const auto dev = static_cast<dev_t>(field.integer);
    fmt::format_to(to, "{},{}", major(dev), minor(dev));
  } else if (how == "state") {
    out += StateText(end_state, field.integer);
  } else if (how == "vec") {
    const auto vec = static_cast<std::size_t>(field.integer);
    out += vec < kSoftirqs.size() ? kSoftirqs[vec] : "?";
  } else if (how == "ret") {
    out += field.integer != 0 ? "handled" : "unhandled";
  }
}

void AppendWording(std::string_view wording, const std::vector<Field>& fields,
                   std::string_view end_state, std::string& out) {
  static const Field kMissing;
  while (!wording.empty()) {
    const auto open = wording.find('{');
    out += wording.substr(0, open);
    if (open == std::string_view::npos) return;
    const auto close = wording.find('}', open);
    const std::string_view inside = wording.substr(open + 1, close - open - 1);
    const std::string_view key = inside.substr(0, inside.find(':'));
    const auto found = std::ranges::find(fields, key, &Field::key);
    AppendField(found == fields.end() ? kMissing : *found,
                key.size() == inside.size() ? "" : inside.substr(key.size() + 1), end_state, out);
    wording.remove_prefix(close + 1);
  }
}

// "d..." as in a trace file: interrupts off, reschedule wanted, in hard or soft interrupt. The
// depth of preemption is not in the trace.
std::string FlagsText(std::int64_t flags) {
  std::string text = "....";
  if (flags & 0x01) text[0] = 'd';
  if (flags & 0x04) text[1] = 'N';
  if (flags & 0x08) text[2] = 'h';
  if (flags & 0x10) text[2] = flags & 0x08 ? 'H' : 's';
  return text;
}

// How the fields of an event are worded: as the traced kernel's own "print fmt" says where the
// fields suffice for that, else by ftrace_text_table.h, else each with its name.
class Wordings {
 public:
  static Result<Wordings> Read(tables::Connection& connection) {
    Wordings wordings;
    for (const EventWording& wording : EventWordings()) {
      wordings.own_[wording.event] = wording.text;
    }
    CULPRIT_ASSIGN(auto rows, connection.Query("SELECT name, format FROM event_format"));
    for (;;) {
      CULPRIT_ASSIGN(const bool more, rows.Next());
      if (!more) return wordings;
      for (std::size_t row = 0; row < rows.chunk_rows(); ++row) {
        auto format = PrintFormat::Parse(rows.Text(1, row));
        if (format.ok()) wordings.formats_.emplace(rows.Text(0, row), std::move(*format));
      }
    }
  }

  void Append(std::string_view name, const std::vector<Field>& fields, std::string_view end_state,
              std::string& out) const {
    // States of sched are told better by their letters than by the number in the event, and text of
    // trace_marker goes without the function that wrote it.
    const auto format = formats_.find(name);
    std::string line;
    if (name != "sched_switch" && name != "print" && format != formats_.end() &&
        format->second.Print(fields, line)) {
      while (line.ends_with('\n')) line.pop_back();
      AppendOneLine(line, out);
      return;
    }
    if (const auto wording = own_.find(name); wording != own_.end()) {
      AppendWording(wording->second, fields, end_state, out);
      return;
    }
    for (const Field& field : fields) {
      if (&field != &fields.front()) out += ' ';
      out += field.key + "=";
      AppendOneLine(field.text, out);
    }
  }

 private:
  std::map<std::string_view, std::string_view> own_;
  std::map<std::string, PrintFormat, std::less<>> formats_;
};

void AppendLine(const Cursor& event, const std::vector<Field>& fields, const Wordings& wordings,
                std::string& out) {
  const std::string_view name = event.Text(kEvent);
  const std::int64_t ts = event.Integer(kTs);
  const bool is_idle = event.Integer(kTid) == 0 && !event.IsNull(kTid);
  const std::string comm = is_idle               ? "<idle>"
                           : event.IsNull(kComm) ? "<...>"
                                                 : SafeForTerminal(event.Text(kComm));
  const std::string group =
      event.IsNull(kPid) ? "(-------)" : fmt::format("({:>7})", event.Integer(kPid));
  fmt::format_to(std::back_inserter(out), "{:>16}-{:<7} {} [{:03}] {} {}.{:09}: {}: ", comm,
                 event.Integer(kTid), group, event.Integer(kCpu), FlagsText(event.Integer(kFlags)),
                 ts / 1'000'000'000, ts % 1'000'000'000,
                 name == "print" ? "tracing_mark_write" : name);
  wordings.Append(name, fields, event.Text(kEndState), out);
  out += '\n';
}

}  // namespace

Status ExportFtraceText(Session& session, Output& output) {
  // The raw tables are loaded when a statement first mentions them.
  CULPRIT_TRY(
      session.Run("SELECT count(*) FROM ftrace_event", [](QueryResult&) { return Status(); }));
  // Two results under way need two connections, which find the same tables.
  CULPRIT_ASSIGN(auto field_connection, session.database().Connect());
  CULPRIT_ASSIGN(const auto search_path,
                 session.connection().QueryText("SELECT current_setting('search_path')"));
  CULPRIT_TRY(field_connection.Execute("SET search_path = " + tables::QuoteText(search_path)));
  CULPRIT_ASSIGN(const auto wordings, Wordings::Read(field_connection));
  CULPRIT_ASSIGN(auto fields_result,
                 field_connection.Query(kFields, {}, tables::Fetch::kStreaming));
  CULPRIT_ASSIGN(auto events_result,
                 session.connection().Query(kEvents, {}, tables::Fetch::kStreaming));
  Cursor fields(std::move(fields_result));
  Cursor events(std::move(events_result));

  output.text() +=
      "# tracer: nop\n#\n"
      "#           TASK-PID     TGID    CPU#  ||||   TIMESTAMP  FUNCTION\n"
      "#              | |         |       |   ||||      |         |\n";
  std::vector<Field> own;
  CULPRIT_ASSIGN(bool has_field, fields.Next());
  for (;;) {
    CULPRIT_ASSIGN(const bool more, events.Next());
    if (!more) break;
    own.clear();
    while (has_field && !events.IsNull(kSet) && fields.Integer(kFieldSet) == events.Integer(kSet)) {
      own.push_back({std::string(fields.Text(kKey)), fields.rows().ToText(kText, fields.row()),
                     fields.IsNull(kInteger) ? 0 : fields.Integer(kInteger),
                     fields.IsNull(kInteger)});
      CULPRIT_ASSIGN(has_field, fields.Next());
    }
    AppendLine(events, own, wordings, output.text());
    CULPRIT_TRY(output.Continue());
  }
  return output.Finish();
}

}  // namespace culprit::query
