// An audit and what was changed, as text for a terminal and as JSON (docs/tune.md has its fields).
// Prints nothing itself; every string of the node is made safe for a terminal.
#pragma once

#include <string>
#include <vector>

#include "health/tune/apply.h"
#include "health/tune/audit.h"

namespace culprit::tune {

struct TextOptions {
  bool every_detail = false;  // also of what is fine: why, what breaks, source
  std::string policy;         // the file of the policy that was audited; empty: the baseline
};
std::string AuditText(const Audit& audit, const TextOptions& options);
std::string AuditJson(const Audit& audit, const std::string& policy);

// `verb`: "apply" or "rollback".
std::string ChangeText(const ChangeReport& report, const std::string& verb);
std::string ChangeJson(const ChangeReport& report, const std::string& verb);

// "65530, the kernel's default".
std::string OriginText(const AuditItem& item);

}  // namespace culprit::tune
