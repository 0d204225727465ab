// ConfigText: a TraceConfig message as text, as protobuf's text format and trace_processor print
// it. What has no name here is shown by its number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace culprit::load {

std::string ConfigText(std::string_view trace_config);

// The tables behind it (config_text_table.cc).
enum class ConfigKind : std::uint8_t {
  kInt,
  kUint,
  kZig,  // a zigzag number
  kBool,
  kText,
  kDouble,
  kFloat,
  kEnum,
  kMessage
};
inline constexpr std::uint16_t kNoMessage = 0xFFFF;  // a message whose fields are not known
struct ConfigField {
  std::uint16_t message;
  std::uint16_t number;
  std::string_view name;
  ConfigKind kind;
  std::uint16_t type;  // of kEnum, kMessage
};
struct ConfigEnumerator {
  std::uint16_t type;
  std::int32_t value;
  std::string_view name;
};
std::span<const ConfigField> ConfigFields();
std::span<const ConfigEnumerator> ConfigEnumerators();

}  // namespace culprit::load
