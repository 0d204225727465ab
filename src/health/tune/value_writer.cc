#include "health/tune/value_writer.h"

#include <string.h>

#include <cerrno>

#include "health/tune/audit.h"

namespace culprit::tune {
namespace {

std::string Reason(int error_number) {
  switch (error_number) {
    case EROFS:
      return "read-only here (a container?): apply on the host";
    case EACCES:
    case EPERM:
      return "permission denied: run as root, outside of a container";
    case EINVAL:
      return "the kernel refuses the value (EINVAL)";
    case ENOENT:
    case ENOTDIR:
      return "no such key here";
    default:
      return strerror(error_number);
  }
}

bool IsRatio(std::string_view path) { return path.ends_with("_ratio"); }

}  // namespace

std::optional<std::string> ReadValue(const RootFiles& files, Place place, const std::string& path) {
  const FileText text = files.Read(path);
  if (!text.ok()) return std::nullopt;
  return ShownValue(place, text.text);
}

std::string WhyNotWritable(const RootFiles& files, const std::string& path) {
  const int error_number = files.WhyNotWritable(path);
  return error_number == 0 ? "" : Reason(error_number);
}

std::string WriteAndCheck(const RootFiles& files, Place place, const std::string& path,
                          std::string_view value) {
  const int error_number = files.WriteValue(path, std::string(value) + "\n");
  const auto now = ReadValue(files, place, path);
  if (now && SameValue(*now, value)) return "";  // the kernel may already have had it (EBUSY)
  if (error_number != 0) return Reason(error_number);
  if (!now) return "written, but it cannot be read back";
  return "written, but the kernel made it '" + *now + "'";
}

std::string RestoreValue(const RootFiles& files, const JournalEntry& entry) {
  const auto is = [&](const std::string& path, std::string_view value) {
    const auto now = ReadValue(files, entry.place, path);
    return now && SameValue(*now, value);
  };
  if (!entry.pair) return WriteAndCheck(files, entry.place, entry.path, entry.old_value);

  const PairedValue& pair = *entry.pair;
  const bool own_counted = !SameValue(entry.old_value, "0");
  const bool pair_counted = !SameValue(pair.old_value, "0");
  std::string reason;
  if (own_counted) {
    reason = WriteAndCheck(files, entry.place, entry.path, entry.old_value);
  } else if (pair_counted) {
    reason = WriteAndCheck(files, entry.place, pair.path, pair.old_value);
  } else {
    // Both were 0. Only a ratio takes a 0, and it zeroes the bytes only when it changes.
    const std::string& ratio = IsRatio(entry.path) ? entry.path : pair.path;
    reason = WriteAndCheck(files, entry.place, ratio, "20");
    if (reason.empty()) reason = WriteAndCheck(files, entry.place, ratio, "0");
  }
  if (!reason.empty()) return reason;
  // In a captured tree no kernel zeroes the other half.
  if (!files.live()) {
    for (const auto& [path, value] :
         {std::pair(entry.path, entry.old_value), std::pair(pair.path, pair.old_value)}) {
      if (!is(path, value)) reason = WriteAndCheck(files, entry.place, path, value);
      if (!reason.empty()) return reason;
    }
  }
  if (!is(entry.path, entry.old_value) || !is(pair.path, pair.old_value)) {
    return "restored, but the kernel shows other values of the pair";
  }
  return "";
}

}  // namespace culprit::tune
