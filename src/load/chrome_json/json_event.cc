#include "load/chrome_json/json_event.h"

#include <simdjson.h>

#include <cmath>

#include "base/text.h"

namespace culprit::load::chrome_json {
namespace {

namespace ondemand = simdjson::ondemand;

// A text with the room behind it that simdjson reads into.
class Padded {
 public:
  simdjson::padded_string_view Of(std::string_view text) {
    buffer_.assign(text);
    buffer_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
    return simdjson::padded_string_view(buffer_.data(), text.size(), buffer_.capacity());
  }

 private:
  std::string buffer_;
};

std::string_view Unquoted(std::string_view token) {
  token = TrimBlanks(token);
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
  }
  return token;
}

std::string_view TextOf(ondemand::value value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}

// A text, or the digits of a number.
std::string_view TextOrDigits(ondemand::value value) {
  ondemand::json_type type{};
  if (value.type().get(type) != simdjson::SUCCESS) return {};
  if (type == ondemand::json_type::string) return TextOf(value);
  return type == ondemand::json_type::number ? TrimBlanks(value.raw_json_token())
                                             : std::string_view();
}

std::optional<IdOrName> IdOf(ondemand::value value) {
  const std::string_view text = TextOrDigits(value);
  if (text.empty()) return std::nullopt;
  if (const auto number = ParseInteger<std::int64_t>(text)) return IdOrName{*number, {}};
  if (const auto real = ParseNumber(text); real.has_value() && std::abs(*real) < 1e15) {
    return IdOrName{static_cast<std::int64_t>(*real), {}};
  }
  return IdOrName{0, text};
}

void ReadId2(ondemand::value value, JsonEvent& event) {
  ondemand::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return;
  for (auto field : object) {
    std::string_view key;
    ondemand::value inner;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS) return;
    if (field.value().get(inner) != simdjson::SUCCESS) return;
    if (key != "local" && key != "global") continue;
    event.id = TextOrDigits(inner);
    event.is_id_local = key == "local";
  }
}

bool IsTrue(ondemand::value value) {
  bool is_true = false;
  return value.get_bool().get(is_true) == simdjson::SUCCESS && is_true;
}

void ReadField(std::string_view key, ondemand::value value, JsonEvent& event) {
  if (key == "ph") {
    const std::string_view phase = TextOf(value);
    event.phase = phase.empty() ? '\0' : phase.front();
  } else if (key == "ts") {
    event.ts = MicrosecondsToNs(Unquoted(value.raw_json_token()));
  } else if (key == "dur") {
    event.dur = MicrosecondsToNs(Unquoted(value.raw_json_token()));
  } else if (key == "pid") {
    event.pid = IdOf(value);
  } else if (key == "tid") {
    event.tid = IdOf(value);
  } else if (key == "name") {
    event.name = TextOrDigits(value);
    event.has_name = !event.name.empty();
  } else if (key == "cat") {
    event.category = TextOf(value);
  } else if (key == "id") {
    event.id = TextOrDigits(value);
  } else if (key == "id2") {
    ReadId2(value, event);
  } else if (key == "bind_id") {
    event.bind_id = TextOrDigits(value);
  } else if (key == "flow_in") {
    event.flow_in = IsTrue(value);
  } else if (key == "flow_out") {
    event.flow_out = IsTrue(value);
  } else if (key == "bp") {
    event.binds_to_enclosing = TextOf(value) == "e";
  } else if (key == "s") {
    const std::string_view scope = TextOf(value);
    if (!scope.empty()) event.scope = scope.front();
  } else if (key == "args") {
    ondemand::object object;
    std::string_view raw;
    if (value.get_object().get(object) != simdjson::SUCCESS) return;
    if (object.raw_json().get(raw) == simdjson::SUCCESS) event.args = raw;
  }
}

void Walk(const simdjson::dom::element& element, std::string& key, const OnLeaf& on_leaf) {
  using simdjson::dom::element_type;
  const std::size_t size = key.size();
  switch (element.type()) {
    case element_type::OBJECT:
      for (const auto& [name, value] : simdjson::dom::object(element)) {
        key += '.';
        key += name;
        Walk(value, key, on_leaf);
        key.resize(size);
      }
      return;
    case element_type::ARRAY: {
      std::size_t index = 0;
      for (const auto value : simdjson::dom::array(element)) {
        key += '[' + std::to_string(index++) + ']';
        Walk(value, key, on_leaf);
        key.resize(size);
      }
      return;
    }
    case element_type::INT64:
      on_leaf(key, std::int64_t(element));
      return;
    case element_type::UINT64:  // beyond INT64_MAX
      on_leaf(key, static_cast<double>(std::uint64_t(element)));
      return;
    case element_type::DOUBLE:
      on_leaf(key, double(element));
      return;
    case element_type::BOOL:
      on_leaf(key, bool(element));
      return;
    case element_type::STRING:
      on_leaf(key, std::string_view(element));
      return;
    case element_type::NULL_VALUE:
      on_leaf(key, nullptr);
      return;
  }
}

}  // namespace

std::optional<std::int64_t> MicrosecondsToNs(std::string_view text) {
  const std::size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view fraction = dot == std::string_view::npos ? "" : text.substr(dot + 1);
  const auto is_digits = [](std::string_view digits) {
    return digits.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const auto us = ParseInteger<std::int64_t>(whole);
  std::int64_t ns = 0;
  if (us.has_value() && is_digits(fraction)) {
    std::int64_t rest = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      rest = rest * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
    }
    if (fraction.size() > 3 && fraction[3] >= '5') ++rest;
    if (whole.starts_with('-')) rest = -rest;
    if (__builtin_mul_overflow(*us, std::int64_t{1000}, &ns) ||
        __builtin_add_overflow(ns, rest, &ns)) {
      return std::nullopt;
    }
    return ns;
  }
  // With an exponent there are no more digits than a double holds.
  constexpr double kLimit = 9.2e15;
  const auto real = ParseNumber(text);
  if (!real.has_value() || !(std::abs(*real) < kLimit)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(*real * 1000));
}

struct EventReader::State {
  ondemand::parser events;
  simdjson::dom::parser args;
  Padded event_text;
  Padded args_text;
};

EventReader::EventReader() : state_(std::make_unique<State>()) {}
EventReader::~EventReader() = default;

std::optional<JsonEvent> EventReader::Read(std::string_view text) {
  ondemand::document document;
  ondemand::object object;
  if (state_->events.iterate(state_->event_text.Of(text)).get(document) != simdjson::SUCCESS ||
      document.get_object().get(object) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  JsonEvent event;
  for (auto field : object) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) != simdjson::SUCCESS ||
        field.value().get(value) != simdjson::SUCCESS) {
      return std::nullopt;
    }
    ReadField(key, value, event);
  }
  return event;
}

bool EventReader::Visit(std::string_view json, std::string key, const OnLeaf& on_leaf) {
  simdjson::dom::element element;
  if (state_->args.parse(state_->args_text.Of(json)).get(element) != simdjson::SUCCESS) {
    return false;
  }
  Walk(element, key, on_leaf);
  return true;
}

}  // namespace culprit::load::chrome_json
