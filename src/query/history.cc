#include "query/history.h"

#include <sys/stat.h>

#include <cstdlib>

namespace culprit::query {
namespace {

// Makes a folder and those above it.
bool MakeFolders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);
    if (slash == std::string::npos) break;
  }
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

std::optional<std::string> HistoryPath() {
  std::string folder;
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') {
    folder = state;
  } else if (home != nullptr && *home == '/') {
    folder = std::string(home) + "/.local/state";
  } else {
    return std::nullopt;
  }
  folder += "/culprit";
  if (!MakeFolders(folder)) return std::nullopt;
  return folder + "/query_history";
}

}  // namespace culprit::query
