// RootFiles: the files of a node, live or a captured tree. Below a tree's root every symbolic link
// resolves inside the tree, so that a captured or hostile tree can never lead to the live machine.
// Only regular files are read and written: a FIFO or a device in their place is an error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace culprit::tune {

struct FileText {
  std::string text;
  int error_number = 0;  // 0: read
  bool ok() const { return error_number == 0; }
  bool absent() const;  // there is no such file (which is not a failure to read it)
};

class RootFiles {
 public:
  // "" and "/" are the live machine.
  static Result<RootFiles> Open(const std::string& root);

  bool live() const { return !root_.valid(); }
  // A path as a person finds it: with the root in front.
  std::string Shown(std::string_view path) const { return JoinPath(shown_root_, path); }

  // Paths are absolute, as on the node itself: "/proc/sys/vm/swappiness".
  FileText Read(const std::string& path) const;
  bool Exists(const std::string& path) const;
  // 0, or the errno of opening the file for writing; changes nothing.
  int WhyNotWritable(const std::string& path) const;
  // One write(2) to a file that exists, as /proc/sys and /sys want it; 0 or the errno.
  int WriteValue(const std::string& path, std::string_view text) const;
  // The whole file, new or replaced, in one step that a crash cannot halve; makes its directories.
  [[nodiscard]] Status ReplaceFile(const std::string& path, std::string_view text,
                                   unsigned mode) const;
  // Also what a killed ReplaceFile has left of it.
  [[nodiscard]] Status RemoveFile(const std::string& path) const;
  [[nodiscard]] Status MakeDirectories(const std::string& path) const;
  Result<UniqueFd> OpenDirectory(const std::string& path) const;
  // Names in a directory, sorted; empty when there is no such directory.
  std::vector<std::string> List(const std::string& path) const;
  // The target of a symbolic link; empty when it is none.
  std::string LinkTarget(const std::string& path) const;
  // Paths that match a pattern with * in any component ("/sys/.../policy*/scaling_governor"),
  // sorted with numbers in their order.
  std::vector<std::string> Match(const std::string& pattern) const;

 private:
  RootFiles(UniqueFd root, std::string shown_root)
      : root_(std::move(root)), shown_root_(std::move(shown_root)) {}
  int OpenRaw(const std::string& path, int flags, unsigned mode = 0) const;  // fd or -errno

  UniqueFd root_;
  std::string shown_root_ = "/";
};

}  // namespace culprit::tune
