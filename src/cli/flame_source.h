// The input of culprit flame, whatever it is, as a Profile. Selects and draws nothing.
#pragma once

#include <string>

#include "cli/flame_options.h"
#include "profile/profile.h"

namespace culprit::cli {

// A profile file, or a trace or database: of these only what --type asks for.
Result<profile::Profile> OpenFlameSource(const std::string& path, const FlameOptions& options);

// The metric that --type means, into `selection`.
Status ChooseMetric(const profile::Profile& profile, const FlameOptions& options,
                    profile::Selection& selection);

}  // namespace culprit::cli
