// ReadPerfData: perf.data of any kernel from 3.2 on, of a file or a pipe, into a Profile. Knows no
// traces of culprit's own.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "profile/read.h"

namespace culprit::profile {

// `release_before`, when given, is told now and then that bytes before an offset will not be read
// again: a mapping's pages can be dropped.
Result<Profile> ReadPerfData(std::string_view bytes, const ReadOptions& options = {},
                             const std::function<void(std::size_t)>& release_before = {});

}  // namespace culprit::profile
