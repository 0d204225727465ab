#include "load/marker.h"

#include "base/text.h"

namespace culprit::load {
namespace {

// The fields of a marker, between bars.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  std::string_view Next() {
    const std::size_t bar = rest_.find('|');
    const std::string_view field = rest_.substr(0, bar);
    rest_.remove_prefix(bar == std::string_view::npos ? rest_.size() : bar + 1);
    return field;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

std::string_view WithoutEnding(std::string_view text) {
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    text = text.substr(0, zero);
  }
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<Marker> ParseMarker(std::string_view text) {
  Fields fields(WithoutEnding(text));
  const std::string_view phase = fields.Next();
  if (phase.size() != 1) return std::nullopt;
  Marker marker;
  marker.phase = phase.front();
  const auto tgid = ParseInteger<std::uint32_t>(fields.Next());
  marker.tgid = tgid.value_or(0);
  if (marker.phase == 'E') return marker;  // some writers leave the tgid out
  if (!tgid.has_value()) return std::nullopt;

  std::optional<std::int64_t> number = 0;
  switch (marker.phase) {
    case 'B':
      marker.name = fields.rest();  // it may hold bars
      if (marker.name.empty()) marker.name = "[empty slice name]";
      return marker;
    case 'I':
      marker.name = fields.Next();
      break;
    case 'S':
    case 'F':
    case 'C':
      marker.name = fields.Next();
      number = ParseInteger<std::int64_t>(fields.Next());
      break;
    case 'N':
      marker.track = fields.Next();
      marker.name = fields.Next();
      if (marker.track.empty()) return std::nullopt;
      break;
    case 'G':
      marker.track = fields.Next();
      marker.name = fields.Next();
      number = ParseInteger<std::int64_t>(fields.Next());
      if (marker.track.empty()) return std::nullopt;
      break;
    case 'H': {
      marker.track = fields.Next();
      const std::string_view third = fields.Next();
      const std::string_view fourth = fields.Next();
      number = ParseInteger<std::int64_t>(fourth.empty() ? third : fourth);
      if (marker.track.empty() || !number.has_value()) return std::nullopt;
      marker.value = *number;
      return marker;
    }
    default:
      return std::nullopt;
  }
  if (marker.name.empty() || !number.has_value()) return std::nullopt;
  marker.value = *number;
  return marker;
}

}  // namespace culprit::load
