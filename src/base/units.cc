#include "base/units.h"

#include <ctime>

#include "base/check.h"

namespace culprit {

TimeNs NowBoottime() {
  timespec now{};
  CULPRIT_CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
  return {static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec};
}

}  // namespace culprit
