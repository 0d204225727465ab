// Knob: one line of the tuning baseline: what it is, what is advised to which kind of node, why,
// and what would break. The lines are in knob_table.cc, what depends on the node in judges.cc.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "health/tune/node_facts.h"
#include "health/tune/sysctl_text.h"

namespace culprit::tune {

enum class Profile : std::uint8_t { kTraining, kInference, kStorage };
inline constexpr std::array<std::string_view, 3> kProfileNames = {"training", "inference",
                                                                  "storage"};
std::optional<Profile> ProfileOf(std::string_view name);

enum class Place : std::uint8_t {
  kSysctl,    // below /proc/sys, kept by a drop-in in sysctl.d
  kSysfs,     // a file in /sys, or several of one kind; kept by a drop-in in tmpfiles.d
  kLimit,     // of /proc/self/limits; reported, never written: units and PAM set it
  kObsolete,  // a sysctl that current kernels lack or ignore; reported when a file still sets it
};

// What is advised to this node for one knob.
enum class Verdict : std::uint8_t {
  kWant,           // `value` under `relation`
  kLeave,          // as it is, for the reason in `because`
  kNotApplicable,  // has no meaning on this node, for the reason in `because`
  kUnknown,        // cannot be said, for the reason in `because`
};
struct Advice {
  Verdict verdict = Verdict::kWant;
  Relation relation = Relation::kEqual;
  std::string value;    // as it would be written
  std::string because;  // what of this node it comes from; may be empty
  // Set when `relation` does not tell whether the present value will do ("within a factor of 1.5").
  std::optional<bool> satisfied = {};
};

struct Knob;
struct JudgeInput {
  const Knob& knob;
  const NodeFacts& node;
  const RootFiles& files;
  Profile profile;
  std::string current;  // one line
};

struct Knob {
  std::string_view key;  // "vm.swappiness"; for others a name of ours: "thp.enabled"
  Place place = Place::kSysctl;
  std::string_view path = {};  // kSysfs: file or pattern of files; kLimit: line of limits
  std::string_view kernel_default =
      {};                              // "212992|4194304": of old|new kernels; empty: sized at boot
  std::string_view default_note = {};  // what is said of the default beside its value
  Relation relation = Relation::kEqual;
  std::array<std::string_view, 3> advised = {};  // by Profile; empty: leave it
  Advice (*judge)(const JudgeInput&) = nullptr;  // for what depends on the node; else `advised`
  std::string_view why = {};
  std::string_view by_profile = {};  // why the profiles differ; empty when they do not
  std::string_view breaks = {};      // what may break when it is set so
  std::string_view source = {};
  // Where else it is set, and what a missing file means.
  std::string_view tuned_option = {};
  std::string_view boot_parameter = {};
  std::string_view missing = {};  // empty: "kernel X has no such key"
};

std::span<const Knob> Knobs();
const Knob* FindKnob(std::string_view key);

// The advice of the table alone.
Advice TableAdvice(const Knob& knob, Profile profile);

}  // namespace culprit::tune
