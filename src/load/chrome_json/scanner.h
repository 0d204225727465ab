// EventScanner: where the events of a Chrome trace lie in its text: an array of objects, or an
// object with such an array under "traceEvents"; several of these one after the other; cut off
// anywhere. Looks at braces, quotes and commas alone; reading an event is json_event.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace culprit::load::chrome_json {

class EventScanner {
 public:
  explicit EventScanner(std::string_view text) : text_(text) {}

  // The text of the next event; false at the end.
  bool Next(std::string_view& event);

  // The text ends inside of something.
  bool is_cut() const { return is_cut_; }
  // An array of events was begun.
  bool has_events() const { return has_events_; }
  // Things where an event should be.
  std::int64_t misplaced() const { return misplaced_; }

 private:
  enum class Place { kOutside, kInObject, kInArray, kInArrayOfObject };

  // Reads over a value at at_; false when the text ends in it.
  bool SkipValue();
  bool SkipString();
  void SkipBlanks();
  void InObject();

  std::string_view text_;
  std::size_t at_ = 0;
  Place place_ = Place::kOutside;
  bool is_cut_ = false;
  bool has_events_ = false;
  std::int64_t misplaced_ = 0;
};

}  // namespace culprit::load::chrome_json
