#include "stat/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace culprit::stat {
namespace {

// "123,456", "4,987.12 ms" of nanoseconds, "12.30 Joules".
std::string FormatValue(const EventStatus& status, const Count& count) {
  const auto scaled = count.Scaled();
  if (!scaled) {
    return count.state == CountState::kNotSupported ? "not supported here"
                                                    : std::string(StateName(count.state));
  }
  const double value = *scaled * status.event.scale;
  if (status.event.unit == "ns") {
    const auto hundredths = static_cast<std::uint64_t>(value / 1e4 + 0.5);
    return fmt::format("{}.{:02} ms", FormatCount(hundredths / 100), hundredths % 100);
  }
  if (status.event.unit.empty() && status.event.scale == 1) {
    return FormatCount(static_cast<std::uint64_t>(value + 0.5));
  }
  return fmt::format("{:.2f}{}{}", value, status.event.unit.empty() ? "" : " ", status.event.unit);
}

std::string FormatMetric(const NamedMetric& metric) {
  std::string text;
  if (metric.unit == "/s") {
    text = metric.value >= 100 ? FormatCount(static_cast<std::uint64_t>(metric.value + 0.5))
                               : fmt::format("{:.1f}", metric.value);
  } else {
    text = fmt::format("{:.{}f}", metric.value, metric.unit == "%" ? 1 : 2);
  }
  if (!metric.unit.empty()) text += " " + std::string(metric.unit);
  if (!metric.text.empty()) text += " " + std::string(metric.text);
  return text;
}

// The kinds of switches stand indented below their sum.
std::string ShownName(const std::string& name) {
  return (name == "voluntary-switches" || name == "involuntary-switches" ? "  " : "") +
         SafeForTerminal(name);
}

std::string RowLabel(const Row& row) {
  if (row.cpu >= 0) return "cpu" + std::to_string(row.cpu);
  if (row.tid >= 0) return SafeForTerminal(row.comm) + " " + std::to_string(row.tid);
  return "all";
}

std::string RowScope(const Row& row) {
  return row.cpu >= 0 ? "cpu" : row.tid >= 0 ? "thread" : "all";
}

std::string Line(const EventStatus& status, const Count& count) {
  std::string line =
      fmt::format("{:>18}  {}", FormatValue(status, count), ShownName(status.event.name));
  if (count.state == CountState::kCounted && count.RunningPct() < 99.95) {
    line += fmt::format("  (scaled: on the PMU for {:.1f} % of the time)", count.RunningPct());
  }
  return line;
}

// Rows of a split, without events that nobody counts.
void AppendRows(const std::vector<EventStatus>& events, const Sample& sample,
                const std::string& prefix, std::string& text) {
  std::size_t width = 3;
  for (const Row& row : sample.rows) width = std::max(width, RowLabel(row).size());
  for (const Row& row : sample.rows) {
    const bool is_total = row.cpu < 0 && row.tid < 0;
    if (is_total && prefix.empty()) continue;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (row.counts[i].state != CountState::kCounted) continue;
      text += prefix + fmt::format("  {:<{}}", RowLabel(row), width) +
              Line(events[i], row.counts[i]) + "\n";
    }
  }
}

std::string CsvText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

using Json = nlohmann::ordered_json;

Json SampleJson(const std::vector<EventStatus>& events, const Sample& sample) {
  Json json = {{"begin_s", ToSeconds(sample.begin)},
               {"end_s", ToSeconds(sample.end)},
               {"rows", Json::array()}};
  for (const Row& row : sample.rows) {
    Json counts = Json::array();
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Count& count = row.counts[i];
      Json one = {{"event", events[i].event.name}, {"state", StateName(count.state)}};
      if (const auto value = count.Scaled()) {
        one["value"] = *value * events[i].event.scale;
        one["raw"] = count.raw;
        one["running_pct"] = count.RunningPct();
      }
      counts.push_back(std::move(one));
    }
    Json entry = {{"scope", RowScope(row)}};
    if (row.cpu >= 0) entry["cpu"] = row.cpu;
    if (row.tid >= 0) {
      entry["tid"] = row.tid;
      if (row.pid >= 0) entry["pid"] = row.pid;
      entry["comm"] = row.comm;
    }
    entry["counts"] = std::move(counts);
    json["rows"].push_back(std::move(entry));
  }
  return json;
}

}  // namespace

std::string FormatText(const Report& report) {
  const Row& all = report.total.rows.front();
  const auto metrics = NamedMetrics(report.metrics);
  std::string text =
      fmt::format("\n{}: {}\n\n", SafeForTerminal(report.target), FormatDuration(report.total.end));
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const EventStatus& status = report.events[i];
    std::string line = "  " + Line(status, all.counts[i]);
    for (const NamedMetric& metric : metrics) {
      std::string_view name = status.event.name;
      if (metric.event != name.substr(0, name.find(':'))) continue;
      line = fmt::format("{:<52}  {}", line, FormatMetric(metric));
    }
    if (status.event.has_perf && !status.source.empty() && status.source != "perf") {
      line += "  (" + status.source + ")";
    }
    text += line + "\n";
  }
  if (report.metrics.top_down) {
    const Metrics::TopDown& t = *report.metrics.top_down;
    text += fmt::format(
        "\n  top-down: retiring {:.1f} %, bad speculation {:.1f} %, front end {:.1f} %, back end "
        "{:.1f} %\n",
        t.retiring, t.bad_speculation, t.frontend_bound, t.backend_bound);
  }
  if (report.total.rows.size() > 1) {
    text += "\n";
    AppendRows(report.events, report.total, "", text);
  }
  text += "\n";
  for (const Verdict& verdict : report.verdicts) {
    text += fmt::format("  {}: {}{}\n", verdict.text, verdict.because,
                        verdict.next.empty() ? "" : " (next: " + std::string(verdict.next) + ")");
    for (const std::string_view name : verdict.thresholds) {
      for (const Threshold& threshold : Thresholds()) {
        if (threshold.name != name) continue;
        text += fmt::format("    threshold {}: {}\n", threshold.name, threshold.source);
      }
    }
  }
  // One reason, with all that it holds for.
  std::map<std::string, std::vector<std::string>> reasons;
  for (const EventStatus& status : report.events) {
    if (!status.reason.empty()) reasons[status.reason].push_back(status.event.name);
  }
  for (const auto& [reason, names] : reasons) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    text += "  note: " + SafeForTerminal(list) + ": " + SafeForTerminal(reason) + "\n";
  }
  for (const std::string& note : report.notes) text += "  note: " + SafeForTerminal(note) + "\n";
  return text;
}

std::string FormatIntervalText(const std::vector<EventStatus>& events, const Sample& sample) {
  std::string text;
  AppendRows(events, sample, fmt::format("{:10.3f}", ToSeconds(sample.end)), text);
  return text;
}

std::string FormatJson(const Report& report) {
  Json events = Json::array();
  for (const EventStatus& status : report.events) {
    Json event = {{"name", status.event.name}, {"unit", status.event.unit}};
    event["source"] = status.source;
    event["reason"] = status.reason;
    events.push_back(std::move(event));
  }
  Json metrics = Json::object();
  for (const NamedMetric& metric : NamedMetrics(report.metrics)) {
    metrics[std::string(metric.name)] = metric.value;
  }
  Json verdicts = Json::array();
  for (const Verdict& verdict : report.verdicts) {
    Json thresholds = Json::array();
    for (const std::string_view name : verdict.thresholds) {
      for (const Threshold& threshold : Thresholds()) {
        if (threshold.name != name) continue;
        thresholds.push_back({{"name", threshold.name},
                              {"value", threshold.value},
                              {"unit", threshold.unit},
                              {"source", threshold.source}});
      }
    }
    verdicts.push_back({{"id", verdict.id},
                        {"text", verdict.text},
                        {"because", verdict.because},
                        {"thresholds", std::move(thresholds)},
                        {"next", verdict.next}});
  }
  Json intervals = Json::array();
  for (const Sample& sample : report.intervals) {
    intervals.push_back(SampleJson(report.events, sample));
  }
  Json json = {{"schema_version", 1},
               {"target", report.target},
               {"elapsed_s", report.metrics.elapsed_s},
               {"events", std::move(events)},
               {"total", SampleJson(report.events, report.total)},
               {"intervals", std::move(intervals)},
               {"metrics", std::move(metrics)},
               {"reading", std::move(verdicts)},
               {"notes", report.notes}};
  json["exit_status"] = report.exit_status ? Json(*report.exit_status) : Json();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string CsvHead() {
  return "begin_s,end_s,scope,cpu,tid,comm,event,state,value,unit,running_pct,source\n";
}

std::string FormatCsv(const std::vector<EventStatus>& events, const Sample& sample) {
  std::string text;
  for (const Row& row : sample.rows) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Count& count = row.counts[i];
      const auto value = count.Scaled();
      text += fmt::format(
          "{:.6f},{:.6f},{},{},{},{},{},{},{},{},{},{}\n", ToSeconds(sample.begin),
          ToSeconds(sample.end), RowScope(row), row.cpu >= 0 ? std::to_string(row.cpu) : "",
          row.tid >= 0 ? std::to_string(row.tid) : "", row.tid >= 0 ? CsvText(row.comm) : "",
          CsvText(events[i].event.name), StateName(count.state),
          value ? fmt::format("{:.15g}", *value * events[i].event.scale) : "",
          CsvText(events[i].event.unit), value ? fmt::format("{:.2f}", count.RunningPct()) : "",
          CsvText(events[i].source));
    }
  }
  return text;
}

std::string ThresholdText() {
  std::string text;
  for (const Threshold& threshold : Thresholds()) {
    text += fmt::format("{:<22} {:>8g} {:<5} {}\n{:37} source: {}\n", threshold.name,
                        threshold.value, threshold.unit, threshold.meaning, "", threshold.source);
  }
  return text;
}

}  // namespace culprit::stat
