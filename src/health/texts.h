// Texts: the files of one moment, read once and kept by path, with the errno of those that could
// not be read. A root path stands before all of them, so a captured tree is as good as a live node.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace culprit::health {

struct Text {
  std::string text;
  int error_number = 0;  // 0: it was read
};

// Paths are as in the rules: "/proc/stat", whatever the root is.
class Texts {
 public:
  // The text, or "" when the file is absent or was unreadable.
  std::string_view Get(std::string_view path) const;
  const Text* Find(std::string_view path) const;
  bool Has(std::string_view path) const;  // it was read
  void Put(std::string path, Text text) { files_[std::move(path)] = std::move(text); }

  // Calls visit(path, text) for each file that was read and whose path starts with `prefix`.
  template <class Visit>
  void Under(std::string_view prefix, Visit visit) const {
    for (auto at = files_.lower_bound(prefix);
         at != files_.end() && std::string_view(at->first).starts_with(prefix); ++at) {
      if (at->second.error_number == 0)
        visit(std::string_view(at->first), std::string_view(at->second.text));
    }
  }

  // Why a file has no text, for a person: "/proc/x: Permission denied"; "" when it was read.
  std::string Reason(std::string_view path) const;
  bool Denied(std::string_view path) const;  // root would help

  std::size_t size() const { return files_.size(); }

 private:
  std::map<std::string, Text, std::less<>> files_;
};

// Files of more than this are cut: nothing we read is as long.
inline constexpr std::size_t kMostFileBytes = std::size_t{8} << 20;

// "/sys/class/net/*/speed" -> the paths under `root` (without it) whose folders exist, sorted. A
// "*" stands for any part of one name. A path without "*" is returned as it is.
std::vector<std::string> ExpandPattern(const std::string& root, std::string_view pattern);

// One file below `root`.
Text ReadText(const std::string& root, std::string_view path);

// The names in a folder, sorted; empty when it cannot be read (`error_number` says why).
std::vector<std::string> ListFolder(const std::string& path, int* error_number = nullptr);

}  // namespace culprit::health
