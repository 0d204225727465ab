// JsonEvent: one event of a Chrome trace, read from its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace culprit::load::chrome_json {

// A pid or tid: a number, or a name that some programs write in its place.
struct IdOrName {
  std::int64_t number = 0;
  std::string_view name;  // empty: `number` counts
};

// Texts live until the next event is read.
struct JsonEvent {
  char phase = 0;
  std::optional<std::int64_t> ts;   // ns
  std::optional<std::int64_t> dur;  // ns
  std::optional<IdOrName> pid;
  std::optional<IdOrName> tid;
  std::string_view name;
  bool has_name = false;
  std::string_view category;
  std::string_view id;       // "id", "id2.global" or "id2.local", numbers as text
  bool is_id_local = false;  // to its process
  std::string_view bind_id;
  bool flow_in = false;
  bool flow_out = false;
  bool binds_to_enclosing = false;  // of a flow's end
  char scope = 't';                 // of an instant
  std::string_view args;            // JSON
};

// Microseconds as JSON has them ("12", "12.345", "1.2e3") in nanoseconds, exactly; nothing for what
// is no number or too large.
std::optional<std::int64_t> MicrosecondsToNs(std::string_view text);

// What stands at the end of a path into a JSON value.
using Leaf = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string_view>;
using OnLeaf = std::function<void(const std::string& key, const Leaf& leaf)>;

class EventReader {
 public:
  EventReader();
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // Nothing for text that is no JSON object.
  std::optional<JsonEvent> Read(std::string_view text);
  // Every leaf of a JSON value: "args.list[0].x" and 5. False for text that is no JSON.
  bool Visit(std::string_view json, std::string key, const OnLeaf& on_leaf);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::load::chrome_json
