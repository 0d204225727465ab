// SysctlConfig: what the sysctl.d files of a node would set at boot, in systemd-sysctl's order
// (sysctl.d(5)), with file and line. Applies nothing.
//
//   a file of one name: /etc over /run over /usr/local/lib over /usr/lib over /lib; link to
//   /dev/null: masked.  All files then in order of their names, a later line over an earlier;
//   a key named in full over any pattern; "-key" without a value: no pattern sets the key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/tune/root_files.h"

namespace culprit::tune {

struct ConfigLine {
  std::string path;  // below /proc/sys; may be a pattern
  bool is_pattern = false;
  std::optional<std::string> value;  // none: "-key", which takes the key out of patterns
  std::string file;                  // as on the node: "/etc/sysctl.d/90-net.conf"
  std::size_t line = 0;              // from 1
  bool vendor = false;               // of /usr or /lib: a package's, not this site's

  std::string Place() const { return file + ":" + std::to_string(line); }
};

// The lines of one file in sysctl.d's format; those that are none are left out.
std::vector<ConfigLine> ParseSysctlConfig(std::string_view text, const std::string& file);

class SysctlConfig {
 public:
  static SysctlConfig Read(const RootFiles& files);

  // The line that decides a key at boot, or nullptr.
  const ConfigLine* Deciding(std::string_view key) const;
  // Likewise among the lines of packages only, or of the site (/etc, /run) only.
  const ConfigLine* Deciding(std::string_view key, bool vendor) const;
  // The line of /etc/sysctl.conf for a key when no link in sysctl.d makes systemd read that file:
  // then only "sysctl --system" and "sysctl -p" do.
  const ConfigLine* OnlyInSysctlConf(std::string_view key) const;
  // Files that are there but could not be read, one line each.
  const std::vector<std::string>& problems() const { return problems_; }
  const std::vector<ConfigLine>& lines() const { return lines_; }

 private:
  std::vector<ConfigLine> lines_;        // in the order in which they are applied
  std::vector<ConfigLine> sysctl_conf_;  // empty when sysctl.d links to it
  std::vector<std::string> problems_;
};

}  // namespace culprit::tune
