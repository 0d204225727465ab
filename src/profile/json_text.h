// JSON inputs through simdjson: one parsed document, and lookups that fail softly, since every part
// of a foreign file may be missing or of another type.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace culprit::profile {

// The root of a text; it lives as long as the parser.
inline Result<simdjson::dom::element> ParseJson(simdjson::dom::parser& parser,
                                                std::string_view json) {
  simdjson::dom::element root;
  if (const auto failure = parser.parse(json.data(), json.size()).get(root); failure) {
    return Error{std::string("the JSON is damaged: ") + simdjson::error_message(failure), ""};
  }
  return root;
}

inline std::optional<simdjson::dom::element> Member(simdjson::dom::element object,
                                                    std::string_view key) {
  simdjson::dom::element value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

inline std::optional<simdjson::dom::array> ArrayMember(simdjson::dom::element object,
                                                       std::string_view key) {
  simdjson::dom::array value;
  const auto member = Member(object, key);
  if (!member || member->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

inline std::string_view TextMember(simdjson::dom::element object, std::string_view key) {
  std::string_view value;
  const auto member = Member(object, key);
  if (!member || member->get(value) != simdjson::SUCCESS) return {};
  return value;
}

inline std::optional<double> NumberOf(simdjson::dom::element element) {
  double value = 0;
  if (element.get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

inline std::optional<double> NumberMember(simdjson::dom::element object, std::string_view key) {
  const auto member = Member(object, key);
  return member ? NumberOf(*member) : std::nullopt;
}

}  // namespace culprit::profile
