// Event names of libpfm4 (the processor vendors' own, "INST_RETIRED:ANY_P"). The library is loaded
// when a name asks for it: its tables would cost every other run.
#pragma once

#include <string>

#include "base/result.h"
#include "stat/event.h"

namespace culprit::stat {

Result<Event> FindPfmEvent(const std::string& name);

}  // namespace culprit::stat
