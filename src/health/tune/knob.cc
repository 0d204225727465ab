#include "health/tune/knob.h"

#include <algorithm>

namespace culprit::tune {

std::optional<Profile> ProfileOf(std::string_view name) {
  const auto found = std::ranges::find(kProfileNames, name);
  if (found == kProfileNames.end()) return std::nullopt;
  return static_cast<Profile>(found - kProfileNames.begin());
}

Advice TableAdvice(const Knob& knob, Profile profile) {
  const auto value = knob.advised[static_cast<std::size_t>(profile)];
  if (value.empty()) {
    return {.verdict = Verdict::kLeave, .value = "", .because = std::string(knob.by_profile)};
  }
  return {.relation = knob.relation, .value = std::string(value), .because = ""};
}

}  // namespace culprit::tune
