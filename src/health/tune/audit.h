// Audit: each knob of the baseline, or each line of a site's policy, compared with a node. Only
// reads; what it returns is shown by report.h and written by apply.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "health/tune/knob.h"
#include "health/tune/settings.h"

namespace culprit::tune {

enum class ItemStatus : std::uint8_t {
  kChange,         // another value is advised
  kObsolete,       // a file sets a key that does nothing: the line should go
  kOk,             // as advised
  kLeave,          // no other value is advised here, for a reason
  kUnknown,        // could not be read or judged
  kNotApplicable,  // has no meaning on this node, or the kernel lacks it
};
std::string_view ItemStatusName(ItemStatus status);  // "change", "not_applicable": for JSON

// A file of a knob; most have one, a CPU frequency policy each.
struct KnobFile {
  std::string path;   // "/proc/sys/vm/swappiness"
  std::string value;  // one line; of a choice the chosen word
};

struct AuditItem {
  std::string key;
  Place place = Place::kSysctl;
  ItemStatus status = ItemStatus::kOk;
  std::vector<KnobFile> files;
  std::string current;  // "4194304"; "powersave (62 CPUs), performance (2 CPUs)"; "" when unread
  Advice advice;
  Origin origin;               // meaningful when current was read
  std::string reason;          // why not applicable, unknown or obsolete; else may be empty
  std::string kernel_default;  // "60"; "sized from memory at boot"
  std::string why;
  std::string by_profile;
  std::string breaks;
  std::string source;
};

// A line of a site's policy: "net.core.rmem_max >= 67108864".
struct PolicyLine {
  std::string key;
  Relation relation = Relation::kEqual;
  std::string value;
  std::string place;  // "policy.txt:3"
};
// Lines "KEY = VALUE", "KEY >= VALUE", "KEY <= VALUE"; # and ; open comments. An Error names the
// line that is none.
Result<std::vector<PolicyLine>> ParsePolicy(std::string_view text, const std::string& file);

struct Audit {
  NodeFacts node;
  Profile profile = Profile::kTraining;
  std::string tuned_profile;
  std::vector<AuditItem> items;
  std::vector<std::string> problems;  // files that could not be read

  std::size_t Count(ItemStatus status) const;
  const AuditItem* Find(std::string_view key) const;
};

Audit AuditBaseline(const RootFiles& files, const NodeFacts& node, Profile profile);
Audit AuditPolicy(const RootFiles& files, const NodeFacts& node,
                  const std::vector<PolicyLine>& policy);

// The value of a knob's file as it is compared and shown.
std::string ShownValue(Place place, std::string_view text);

}  // namespace culprit::tune
