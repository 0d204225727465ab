// JsonPass: a Chrome trace (the JSON of chrome://tracing, of PyTorch's and TensorFlow's profilers)
// in order of time, to the Importer. "systemTraceEvents" and V8's profiles are not read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "load/chrome_json/json_event.h"
#include "load/importer.h"

namespace culprit::load::chrome_json {

class JsonPass {
 public:
  JsonPass(std::string_view text, Importer& importer) : text_(text), importer_(importer) {}

  // `keep_going` is asked now and then; false ends the pass.
  void Run(const std::function<bool(std::uint64_t bytes, std::uint64_t events)>& keep_going);

  bool has_events() const { return has_events_; }
  bool is_cut() const { return is_cut_; }
  std::uint64_t events() const { return events_; }

 private:
  struct Place {
    std::int64_t ts;
    std::int64_t dur;  // -1: not a slice of known duration
    std::size_t offset;
    std::uint32_t size;
  };
  void Index();
  void Take(const JsonEvent& event, std::int64_t ts);
  void Metadata(const JsonEvent& event);
  void Complete(const JsonEvent& event, std::int64_t ts, Utid utid);
  void Async(const JsonEvent& event, std::int64_t ts);
  void Instant(const JsonEvent& event, std::int64_t ts, Utid utid);
  void Counter(const JsonEvent& event, std::int64_t ts, Utid utid);
  void Flow(const JsonEvent& event, Utid utid);
  void State(const JsonEvent& event, std::int64_t ts, Utid utid);
  // Arrows that a slice itself names; the slice has just begun.
  void BoundFlows(const JsonEvent& event, TrackId track);

  void Failed() { importer_.stats().Add("json_parser_failure"); }
  std::int64_t NumberOf(const IdOrName& id) const;
  Utid ThreadOf(const JsonEvent& event);
  Upid ProcessOf(const JsonEvent& event);
  StringId NameOf(const JsonEvent& event);
  StringId CategoryOf(const JsonEvent& event);
  std::uint32_t ArgsOf(const JsonEvent& event);
  void AddArgs(std::uint32_t set, std::string_view json);
  std::uint64_t FlowNumber(std::string_view scope, std::string_view id);

  std::string_view text_;
  Importer& importer_;
  EventReader reader_;
  std::vector<Place> places_;
  std::map<std::string, std::uint64_t, std::less<>> flow_numbers_;
  std::unordered_map<Utid, std::vector<TrackId>> spill_;  // lines for what overlaps in part
  bool has_events_ = false;
  bool is_cut_ = false;
  std::uint64_t events_ = 0;
};

}  // namespace culprit::load::chrome_json
