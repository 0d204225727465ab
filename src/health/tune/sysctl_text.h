// Names and values of sysctls as text: the two spellings of a key, and comparison of values as the
// kernel reads them (lists of words). Reads no file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace culprit::tune {

// The path below /proc/sys of a key in either spelling (sysctl.d(5)): a first separator "/" means
// that the rest is a path as it is; after a first "." dots and slashes swap their roles.
//   net.ipv4.conf.eth0/100.rp_filter -> net/ipv4/conf/eth0.100/rp_filter
// Nothing for what could leave /proc/sys ("..", empty parts) or has control characters.
std::optional<std::string> SysctlPath(std::string_view key);

// The dotted spelling of a path below /proc/sys, the inverse of SysctlPath.
std::string SysctlKey(std::string_view path);

// Whether two values are the same words ("4096 131072" and "4096\t131072\n" are); numbers compare
// as numbers.
bool SameValue(std::string_view a, std::string_view b);

// Words joined by one blank, as a value is shown and written.
std::string OneLine(std::string_view value);

enum class Relation : std::uint8_t { kEqual, kAtLeast, kAtMost };
std::string_view RelationText(Relation relation);  // "", "at least ", "at most "

// Whether `current` meets `relation` with `wanted`, word for word; false when they are not lists of
// numbers of one length (for kEqual: when the words differ).
bool Meets(std::string_view current, Relation relation, std::string_view wanted);

// The chosen word of "always [madvise] never"; the value itself where nothing is in brackets.
std::string ChosenWord(std::string_view text);

}  // namespace culprit::tune
