// Writing one value of /proc/sys or /sys and reading it back, with the reason in words when that
// fails; and restoring a value whose pair the kernel zeroes. Keeps no journal.
#pragma once

#include <string>
#include <string_view>

#include "health/tune/journal.h"

namespace culprit::tune {

// The value of a file, one line; nothing when it cannot be read.
std::optional<std::string> ReadValue(const RootFiles& files, Place place, const std::string& path);

// Why a write would fail, in words; empty when the file can be written.
std::string WhyNotWritable(const RootFiles& files, const std::string& path);

// Writes and reads back; empty, or the reason in words.
std::string WriteAndCheck(const RootFiles& files, Place place, const std::string& path,
                          std::string_view value);

// Puts the old value of an entry back, through its pair where only that works; empty or the reason.
//   vm.dirty_bytes was 0 and vm.dirty_ratio 20: 0 cannot be written to dirty_bytes (EINVAL), so 20
//   is written to dirty_ratio, of which the kernel zeroes dirty_bytes.
std::string RestoreValue(const RootFiles& files, const JournalEntry& entry);

}  // namespace culprit::tune
