// TestTree: a folder that looks like a node, for the tests of this stage. Removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "health/checker.h"

namespace culprit::health {

class TestTree {
 public:
  TestTree() {
    std::string path = std::filesystem::temp_directory_path() / "culprit-tree-XXXXXX";
    CULPRIT_CHECK(mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~TestTree() { std::filesystem::remove_all(path_); }
  TestTree(const TestTree&) = delete;
  TestTree& operator=(const TestTree&) = delete;

  // Writes "0/proc/stat" and the like.
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  // The same in both samples.
  void Both(const std::string& name, const std::string& text) const {
    Write("0/" + name, text);
    Write("1/" + name, text);
  }
  const std::string& path() const { return path_; }

  // A round of the chosen checks over the samples 0 and 1 (or over 0 alone).
  Report Check(const std::string& only, bool two = true, CheckConfig config = {}) const {
    CheckOptions options;
    auto rules = SelectRules(only);
    CULPRIT_CHECK(rules.ok());
    options.rules = std::move(rules).value();
    options.root = path_ + "/0";
    if (two) options.root_next = path_ + "/1";
    options.config = std::move(config);
    return Checker(std::move(options)).Run({});
  }

 private:
  std::string path_;
};

// The first finding of that check; an empty one when there is none.
inline Finding FindingOf(const Report& report, const std::string& id) {
  for (const Finding& finding : report.findings) {
    if (finding.id == id) return finding;
  }
  return {};
}

// The shared case files, read in place.
inline std::string SharedCase(const std::string& path) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  return std::string(source == nullptr ? "." : source) + "/../shared/cases/" + path;
}

inline Report CheckRoots(const std::string& first, const std::string& second,
                         const std::string& only, DurationNs sample = Seconds(1)) {
  CheckOptions options;
  auto rules = SelectRules(only);
  CULPRIT_CHECK(rules.ok());
  options.rules = std::move(rules).value();
  options.root = first;
  options.root_next = second;
  options.sample = sample;
  return Checker(std::move(options)).Run({});
}

}  // namespace culprit::health
