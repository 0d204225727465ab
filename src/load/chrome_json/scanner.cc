#include "load/chrome_json/scanner.h"

#include <algorithm>

namespace culprit::load::chrome_json {
namespace {

constexpr std::string_view kBlanks =
    " \t\r\n,\xEF\xBB\xBF";  // commas and a byte order mark part too
constexpr std::string_view kEndOfLiteral = " \t\r\n,:]}[{\"";

}  // namespace

void EventScanner::SkipBlanks() {
  at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
}

bool EventScanner::SkipString() {
  std::size_t at = at_ + 1;
  while ((at = text_.find_first_of("\"\\", at)) < text_.size()) {
    if (text_[at] == '"') {
      at_ = at + 1;
      return true;
    }
    at += 2;  // with what is escaped
  }
  at_ = text_.size();
  return false;
}

bool EventScanner::SkipValue() {
  std::size_t depth = 0;
  while (at_ < text_.size()) {
    switch (text_[at_]) {
      case '"':
        if (!SkipString()) return false;
        break;
      case '{':
      case '[':
        ++depth;
        ++at_;
        break;
      case '}':
      case ']':
        if (depth == 0) return true;  // of what holds the value
        --depth;
        ++at_;
        break;
      default:
        if (depth == 0) {
          at_ = std::min(text_.find_first_of(kEndOfLiteral, at_ + 1), text_.size());
        } else {
          at_ = std::min(text_.find_first_of("\"{}[]", at_), text_.size());
          continue;
        }
    }
    if (depth == 0) return true;
  }
  return false;
}

// Keys of the outermost object up to "traceEvents" or its end.
void EventScanner::InObject() {
  for (;;) {
    SkipBlanks();
    if (at_ >= text_.size()) return;
    if (text_[at_] == '}') {
      ++at_;
      place_ = Place::kOutside;
      return;
    }
    const std::size_t begin = at_;
    const bool is_key = text_[at_] == '"';
    if (!SkipValue()) return;
    if (at_ == begin) ++at_;
    if (!is_key) continue;  // a value
    const std::string_view key = text_.substr(begin, at_ - begin);
    SkipBlanks();
    if (at_ >= text_.size()) return;
    if (text_[at_] != ':') continue;
    ++at_;
    SkipBlanks();
    if (at_ >= text_.size()) return;
    if (key == "\"traceEvents\"" && text_[at_] == '[') {
      ++at_;
      place_ = Place::kInArrayOfObject;
      has_events_ = true;
      return;
    }
    const std::size_t value = at_;
    if (!SkipValue()) return;
    if (at_ == value) ++at_;
  }
}

bool EventScanner::Next(std::string_view& event) {
  for (;;) {
    SkipBlanks();
    if (at_ >= text_.size()) {
      is_cut_ = place_ != Place::kOutside;
      return false;
    }
    const char c = text_[at_];
    if (place_ == Place::kInObject) {
      InObject();
      continue;
    }
    if (place_ == Place::kOutside) {
      ++at_;
      if (c == '[') {
        place_ = Place::kInArray;
        has_events_ = true;
      } else if (c == '{') {
        place_ = Place::kInObject;
      } else {
        ++misplaced_;
      }
      continue;
    }
    if (c == ']') {
      ++at_;
      place_ = place_ == Place::kInArray ? Place::kOutside : Place::kInObject;
      continue;
    }
    const std::size_t begin = at_;
    if (!SkipValue()) {
      at_ = text_.size();
      is_cut_ = true;
      return false;
    }
    if (at_ == begin) ++at_;
    if (c == '{') {
      event = text_.substr(begin, at_ - begin);
      return true;
    }
    ++misplaced_;
  }
}

}  // namespace culprit::load::chrome_json
