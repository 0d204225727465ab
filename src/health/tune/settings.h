// Settings: every place that sets a knob at boot or after it (sysctl.d, a tuned profile,
// tmpfiles.d, the kernel command line, systemd's and PAM's limits), and which of them a value comes
// from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/tune/root_files.h"
#include "health/tune/sysctl_files.h"

namespace culprit::tune {

enum class OriginKind : std::uint8_t {
  kSysctlFile,
  kTuned,
  kTmpfiles,
  kCommandLine,
  kLimitsFile,
  kKernelDefault,
  kSizedAtBoot,  // the kernel computes it; no file sets it
  kRunTime,      // somebody wrote it since boot: no file sets this value
};
std::string_view OriginName(OriginKind kind);  // "sysctl_file", for JSON

// One place that sets a knob.
struct Setting {
  OriginKind kind = OriginKind::kRunTime;
  std::string value;
  std::string place;  // "/etc/sysctl.d/90-net.conf:3"; empty for the kernel's own
};

struct Origin {
  Setting set_by;                  // where the value now comes from
  std::optional<Setting> at_boot;  // what the next boot would set instead
};

// What kind of knob the settings are looked up for.
struct SettingTarget {
  std::string_view key;              // "vm.swappiness", "thp.enabled", "limits.nofile"
  std::string_view path;             // in /sys; empty for a sysctl
  std::string_view tuned_option;     // "vm.transparent_hugepages": section and option
  std::string_view boot_parameter;   // "transparent_hugepage"
  std::string_view limits_item;      // "nofile" of limits.conf
  std::string_view systemd_setting;  // "DefaultLimitNOFILE"
};

class Settings {
 public:
  static Settings Read(const RootFiles& files, std::string command_line);

  // What sets the target, the strongest first.
  std::vector<Setting> For(const SettingTarget& target) const;
  // Where `current` comes from. `kernel_default`: as in Knob.
  Origin Explain(const SettingTarget& target, std::string_view current,
                 std::string_view kernel_default) const;
  const SysctlConfig& sysctl() const { return sysctl_; }
  const std::string& tuned_profile() const { return tuned_profile_; }  // "" when none is active
  std::vector<std::string> problems() const { return sysctl_.problems(); }

 private:
  struct Line {
    std::string name;  // "sysctl.vm/swappiness", "vm.transparent_hugepages", a path in /sys, ...
    std::string value;
    std::string place;
  };
  void ReadTuned(const RootFiles& files);
  void ReadTunedProfile(const RootFiles& files, const std::string& profile, int depth);
  void ReadTmpfiles(const RootFiles& files);
  void ReadLimits(const RootFiles& files);

  SysctlConfig sysctl_;
  std::string command_line_;
  std::string tuned_profile_;
  bool sysctl_over_tuned_ = true;  // tuned's reapply_sysctl, on by default
  std::vector<Line> tuned_;        // a later line wins
  std::vector<Line> tmpfiles_;
  std::vector<Line> limits_;
};

}  // namespace culprit::tune
