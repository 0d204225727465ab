#include "base/result.h"

#include <cerrno>
#include <system_error>

namespace culprit {
namespace {

// What helps against an errno, whatever the call was.
std::string_view RemedyOf(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return "run as root (or with the capability that this needs: see culprit preflight)";
    case ENOENT:
    case ENOTDIR:
      return "check the path";
    case EISDIR:
      return "name a file";
    case ENOSPC:
    case EDQUOT:
      return "free some room, or choose another place";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case EROFS:
      return "choose a place that is writable";
    default:
      return "";
  }
}

}  // namespace

Error ErrnoError(std::string_view call, std::string_view subject, int error_number) {
  std::string what(call);
  if (!subject.empty()) what.append(" ").append(subject);
  what.append(": ").append(std::generic_category().message(error_number));
  return {std::move(what), std::string(RemedyOf(error_number))};
}

}  // namespace culprit
