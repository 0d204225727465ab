// DropIn: the text of the one file in which tune keeps its keys over a reboot (sysctl.d or
// tmpfiles.d). Edits single keys and leaves every other line as somebody wrote it. Pure text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "health/tune/knob.h"

namespace culprit::tune {

// Sorts behind 99-sysctl.conf (Debian's link to /etc/sysctl.conf), so that its values last.
inline constexpr const char* kSysctlDropIn = "/etc/sysctl.d/99-zz-culprit.conf";
inline constexpr const char* kTmpfilesDropIn = "/etc/tmpfiles.d/99-zz-culprit.conf";

class DropIn {
 public:
  // `place`: kSysctl (names are paths below /proc/sys) or kSysfs (names are paths in /sys).
  DropIn(Place place, std::string_view text);

  // The value that the file gives a name, or nothing.
  std::optional<std::string> Get(std::string_view name) const;
  // Sets or, without a value, removes it.
  void Set(std::string_view name, std::optional<std::string_view> value);
  // Whether nothing but the head comment is left.
  bool empty() const;
  std::string Text() const;

 private:
  struct Line {
    std::string text;
    std::string name;  // empty: a comment or a line that is not understood
    std::string value;
  };
  Line Parse(std::string_view text) const;

  Place place_;
  std::vector<Line> lines_;  // without the head comment, which Text() writes anew
};

}  // namespace culprit::tune
