#include "capture/config_pbtxt.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "capture/category_table.h"
#include "capture/config_fields_table.h"
#include "capture/config_messages.h"
#include "capture/trace_config.pb.h"

namespace culprit::capture {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;
using Locations = TextFormat::ParseInfoTree;

// A config is written by hand; a larger file is something else.
constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
// Braces within braces; Perfetto's own configs need about six.
constexpr int kMaxDepth = 64;
// The least period of a poll, as in Perfetto.
constexpr std::uint32_t kLeastPeriodMs = 10;

constexpr std::string_view kFtrace = "linux.ftrace";
constexpr std::string_view kProcessStats = "linux.process_stats";
constexpr std::string_view kSysStats = "linux.sys_stats";
constexpr std::string_view kSystemInfo = "linux.system_info";  // always recorded

// The parser goes down one call a level, also through fields it does not know: a hostile text could
// use up the stack. Returns where the text goes too deep.
std::optional<ConfigMessage> FindTooDeep(std::string_view text) {
  int depth = 0, line = 1, column = 0;
  char quote = 0;
  bool comment = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    ++column;
    if (c == '\n') {
      ++line;
      column = 0;
      comment = false;
      quote = 0;  // a string ends with its line
    } else if (comment) {
      continue;
    } else if (quote != 0) {
      if (c == '\\') {
        ++i;
        ++column;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '#') {
      comment = true;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '<' || c == '[') {
      if (++depth > kMaxDepth) return ConfigMessage{line, column, "nested too deep"};
    } else if (c == '}' || c == '>' || c == ']') {
      --depth;
    }
  }
  return std::nullopt;
}

// Where the fields of one message stand in the text. Empty for a message that is not there.
class Places {
 public:
  Places() = default;
  Places(const Locations* tree, const Descriptor* type, const PlaceMap* map)
      : tree_(tree), type_(type), map_(map) {}

  // Of a repeated field the index-th; the index of others is of no account.
  Place Of(const char* field, int index = 0) const {
    if (tree_ == nullptr) return {};
    const FieldDescriptor& descriptor = Field(field);
    const auto location = tree_->GetLocation(&descriptor, descriptor.is_repeated() ? index : -1);
    return map_->Ours(location.line, location.column);
  }
  Places Within(const char* field, int index = 0) const {
    if (tree_ == nullptr) return {};
    const FieldDescriptor& descriptor = Field(field);
    return {tree_->GetTreeForNested(&descriptor, descriptor.is_repeated() ? index : -1),
            descriptor.message_type(), map_};
  }

 private:
  const FieldDescriptor& Field(const char* name) const {
    const FieldDescriptor* field = type_->FindFieldByName(name);
    CULPRIT_CHECK(field != nullptr);
    return *field;
  }

  const Locations* tree_ = nullptr;
  const Descriptor* type_ = nullptr;
  const PlaceMap* map_ = nullptr;
};

class Builder {
 public:
  Builder(const config::TraceConfig& text, Places places, std::string_view name,
          ParsedConfig& parsed)
      : text_(text), places_(places), name_(name), parsed_(parsed), out_(parsed.config) {}

  void Build() {
    out_.duration = Milliseconds(text_.duration_ms());
    out_.max_file_bytes = text_.max_file_size_bytes();
    out_.output_path = text_.output_path();
    out_.drain_period = Milliseconds(text_.file_write_period_ms());
    BuildClock();
    for (int i = 0; i < text_.data_sources_size(); ++i) {
      BuildDataSource(text_.data_sources(i).config(),
                      places_.Within("data_sources", i).Within("config"), i);
    }
    if (text_.data_sources_size() == 0) Warn({}, "there is no data source: nothing is recorded");
    // Without events the first buffer tells what is meant, with them the one they go to.
    UseBuffer(ftrace_buffer_.value_or(0));
  }

  // That a source is lacked says enough of its fields; those of other sources are passed on.
  void AddSourceWarnings(std::span<const ConfigMessage> warnings) {
    for (const ConfigMessage& warning : warnings) {
      int source = -1;
      const auto begins_before = [&](const Place& place) {
        return std::pair(place.line, place.column) <= std::pair(warning.line, warning.column);
      };
      while (source + 1 < text_.data_sources_size() &&
             begins_before(places_.Of("data_sources", source + 1))) {
        ++source;
      }
      if (source < 0 || !IsLacked(text_.data_sources(source).config().name())) {
        parsed_.warnings.push_back(warning);
      }
    }
  }

 private:
  void Warn(Place place, std::string message) {
    parsed_.warnings.push_back({place.line, place.column, std::move(message)});
  }

  std::string Origin(Place place) const { return name_ + ":" + std::to_string(place.line); }

  void BuildClock() {
    if (!text_.builtin_data_sources().has_primary_trace_clock()) return;
    switch (text_.builtin_data_sources().primary_trace_clock()) {
      case config::BUILTIN_CLOCK_UNKNOWN:
      case config::BUILTIN_CLOCK_BOOTTIME:
        return;
      case config::BUILTIN_CLOCK_MONOTONIC:
        out_.clock = TraceClock::kMonotonic;
        return;
      case config::BUILTIN_CLOCK_MONOTONIC_RAW:
        out_.clock = TraceClock::kMonotonicRaw;
        return;
      default: {
        Warn(places_.Within("builtin_data_sources").Of("primary_trace_clock"),
             "the kernel cannot trace on this clock: BOOTTIME is used, and the trace tells how the "
             "clocks relate");
      }
    }
  }

  void BuildDataSource(const config::DataSourceConfig& source, Places places, int index) {
    const std::string& name = source.name();
    CheckConfigs(source, places);
    if (name == kFtrace) {
      BuildFtrace(source.ftrace_config(), places.Within("ftrace_config"));
      ftrace_buffer_ = TargetBuffer(source, places);
    } else if (name == kProcessStats) {
      const auto& stats = source.process_stats_config();
      if (stats.proc_stats_poll_ms() > 0) {
        out_.processes.poll_period =
            Milliseconds(std::max(stats.proc_stats_poll_ms(), kLeastPeriodMs));
      }
      TargetBuffer(source, places);
    } else if (name == kSysStats) {
      BuildSysStats(source.sys_stats_config(), places.Within("sys_stats_config"));
      TargetBuffer(source, places);
    } else if (IsLacked(name)) {
      const Place place = source.has_name() ? places.Of("name") : places_.Of("data_sources", index);
      Warn(place, source.has_name() ? LackedDataSource(name) : "a data source without a name");
    }
  }

  static bool IsLacked(std::string_view name) {
    return name != kFtrace && name != kProcessStats && name != kSysStats && name != kSystemInfo;
  }

  static std::string LackedDataSource(const std::string& name) {
    std::string text =
        "culprit has no data source " + Quoted(name) + ": nothing is recorded for it";
    if (name.starts_with("android.")) return text;
    for (const ForeignDataSource& foreign : ForeignDataSources()) {
      if (foreign.name == name) return WithNote(text, foreign.note);
    }
    const std::vector<std::string> ours = {std::string(kFtrace), std::string(kProcessStats),
                                           std::string(kSysStats), std::string(kSystemInfo)};
    return WithNear(text, name, ours);
  }

  // A config of another source than the named one has no effect, in Perfetto too.
  void CheckConfigs(const config::DataSourceConfig& source, Places places) {
    const auto check = [&](bool present, const char* field, std::string_view owner) {
      if (!present || source.name() == owner) return;
      Warn(places.Of(field), std::string(field) + " belongs to data source " + std::string(owner) +
                                 ": it has no effect here");
    };
    check(source.has_ftrace_config(), "ftrace_config", kFtrace);
    check(source.has_process_stats_config(), "process_stats_config", kProcessStats);
    check(source.has_sys_stats_config(), "sys_stats_config", kSysStats);
  }

  int TargetBuffer(const config::DataSourceConfig& source, Places places) {
    if (source.has_target_buffer_name()) {
      std::vector<std::string> names;
      for (const auto& buffer : text_.buffers()) names.push_back(buffer.name());
      const auto found = std::ranges::find(names, source.target_buffer_name());
      if (found != names.end()) return static_cast<int>(found - names.begin());
      Warn(places.Of("target_buffer_name"),
           WithNear(
               "no buffer is named " + Quoted(source.target_buffer_name()) + ": the first is used",
               source.target_buffer_name(), names));
      return 0;
    }
    const auto buffers = static_cast<std::uint32_t>(text_.buffers_size());
    if (source.target_buffer() < std::max(buffers, 1U))
      return static_cast<int>(source.target_buffer());
    Warn(places.Of("target_buffer"), "there is no buffer " +
                                         std::to_string(source.target_buffer()) +
                                         " (they count from 0): the first is used");
    return 0;
  }

  void UseBuffer(int index) {
    out_.fill_policy = FillPolicy::kRing;
    if (index < text_.buffers_size()) {
      const auto& buffer = text_.buffers(index);
      if (buffer.size_kb() > 0) out_.ring_bytes = std::uint64_t{buffer.size_kb()} << 10;
      if (buffer.fill_policy() == config::TraceConfig::BufferConfig::DISCARD) {
        out_.fill_policy = FillPolicy::kDiscard;
      }
    }
    if (text_.write_into_file()) out_.fill_policy = FillPolicy::kDrain;
  }

  void BuildFtrace(const config::FtraceConfig& ftrace, Places places) {
    for (int i = 0; i < ftrace.ftrace_events_size(); ++i) {
      AddEvent({ftrace.ftrace_events(i), true, Origin(places.Of("ftrace_events", i))}, out_);
    }
    AddAtraceCategories(ftrace, places);
    out_.ring_bytes_per_cpu =
        std::max(out_.ring_bytes_per_cpu, std::uint64_t{ftrace.buffer_size_kb()} << 10);
    if (ftrace.drain_period_ms() > 0) out_.drain_period = Milliseconds(ftrace.drain_period_ms());
    if (ftrace.has_compact_sched()) out_.compact_sched = ftrace.compact_sched().enabled();
    if (ftrace.has_symbolize_ksyms()) out_.kernel_symbols = ftrace.symbolize_ksyms();
    if (ftrace.use_monotonic_raw_clock()) out_.clock = TraceClock::kMonotonicRaw;
  }

  void AddAtraceCategories(const config::FtraceConfig& ftrace, Places places) {
    std::string lacked;
    Place first_lacked;
    for (int i = 0; i < ftrace.atrace_categories_size(); ++i) {
      const std::string& category = ftrace.atrace_categories(i);
      const Place place = places.Of("atrace_categories", i);
      if (AddAtraceCategory(category, Origin(place) + ": atrace category " + category, out_))
        continue;
      if (lacked.empty()) first_lacked = place;
      lacked += (lacked.empty() ? "" : ", ") + Quoted(category);
    }
    if (lacked.empty()) return;
    Warn(
        first_lacked,
        "atrace categories that have nothing on Linux, so nothing is recorded for them: " + lacked);
  }

  void BuildSysStats(const config::SysStatsConfig& stats, Places places) {
    const auto period = [&](std::uint32_t ms, const char* field, DurationNs& out) {
      if (ms == 0) return;
      if (ms < kLeastPeriodMs) {
        Warn(places.Of(field),
             "the least period is " + std::to_string(kLeastPeriodMs) + " ms: it is used");
      }
      out = Milliseconds(std::max(ms, kLeastPeriodMs));
    };
    period(stats.meminfo_period_ms(), "meminfo_period_ms", out_.poll.meminfo);
    period(stats.vmstat_period_ms(), "vmstat_period_ms", out_.poll.vmstat);
    period(stats.stat_period_ms(), "stat_period_ms", out_.poll.stat);
    period(stats.cpufreq_period_ms(), "cpufreq_period_ms", out_.poll.cpufreq);
    period(stats.diskstat_period_ms(), "diskstat_period_ms", out_.poll.diskstat);
    period(stats.psi_period_ms(), "psi_period_ms", out_.poll.psi);
    const auto counters = [&](const auto& wanted, const char* field, std::uint32_t ms,
                              const char* period_field, std::vector<std::uint32_t>& out) {
      for (const int number : wanted) {
        if (number > 0) out.push_back(static_cast<std::uint32_t>(number));
      }
      if (!wanted.empty() && ms == 0) {
        Warn(places.Of(field, 0),
             std::string(field) + " without " + period_field + ": nothing is polled");
      }
    };
    counters(stats.meminfo_counters(), "meminfo_counters", stats.meminfo_period_ms(),
             "meminfo_period_ms", out_.counters.meminfo);
    counters(stats.vmstat_counters(), "vmstat_counters", stats.vmstat_period_ms(),
             "vmstat_period_ms", out_.counters.vmstat);
    counters(stats.stat_counters(), "stat_counters", stats.stat_period_ms(), "stat_period_ms",
             out_.counters.stat);
  }

  const config::TraceConfig& text_;
  Places places_;
  std::string name_;
  ParsedConfig& parsed_;
  RecordConfig& out_;
  std::optional<int> ftrace_buffer_;
};

}  // namespace

std::string ConfigMessage::ToString(std::string_view name) const {
  std::string text = SafeForTerminal(name) + ":";
  if (line > 0) text += std::to_string(line) + ":" + std::to_string(column) + ":";
  return text + " " + message;
}

Result<ParsedConfig> ParseConfig(std::string_view text, std::string_view name) {
  const auto bad = [name](const ConfigMessage& message) {
    return Error{message.ToString(name),
                 "a config is Perfetto's TraceConfig in text form; docs/config.md shows one"};
  };
  if (text.size() > kMaxBytes) return bad({0, 0, "larger than any config"});
  if (text.find('\0') != text.npos) return bad({0, 0, "a binary file, not a text"});
  if (const auto too_deep = FindTooDeep(text)) return bad(*too_deep);

  const PlaceMap map(text);
  ConfigMessages messages(map);
  Locations locations;
  config::TraceConfig config;
  TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.RecordErrorsTo(&messages);
  parser.WriteLocationsTo(&locations);
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&stream, &config)) {
    return bad(messages.error.value_or(ConfigMessage{0, 0, "cannot be parsed"}));
  }

  ParsedConfig parsed;
  parsed.warnings = std::move(messages.warnings);
  Builder builder(config, Places(&locations, config.GetDescriptor(), &map), name, parsed);
  builder.Build();
  builder.AddSourceWarnings(messages.source_warnings);
  std::ranges::stable_sort(parsed.warnings, {}, [](const ConfigMessage& message) {
    const int line = message.line > 0 ? message.line : std::numeric_limits<int>::max();
    return std::pair(line, message.column);
  });
  parsed.config.trace_config = config.SerializeAsString();
  return parsed;
}

}  // namespace culprit::capture
