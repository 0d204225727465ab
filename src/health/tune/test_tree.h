// TestTree: a folder of files that stands for a node, for the tests of this stage. Removed at the
// end.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "health/tune/root_files.h"

namespace culprit::tune {

class TestTree {
 public:
  TestTree() {
    std::string name = (std::filesystem::temp_directory_path() / "culprit-tune-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestTree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestTree(const TestTree&) = delete;
  TestTree& operator=(const TestTree&) = delete;

  std::string root() const { return path_; }
  std::string At(const std::string& path) const { return path_ + path; }
  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(At(path)).parent_path());
    std::ofstream(At(path), std::ios::binary) << text;
  }
  void Link(const std::string& target, const std::string& path) const {
    std::filesystem::create_directories(std::filesystem::path(At(path)).parent_path());
    std::filesystem::create_symlink(target, At(path));
  }
  // The text of a file; "<absent>" when there is none.
  std::string Get(const std::string& path) const {
    std::ifstream file(At(path), std::ios::binary);
    if (!file) return "<absent>";
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool Has(const std::string& path) const { return std::filesystem::exists(At(path)); }
  RootFiles Files() const {
    auto files = RootFiles::Open(path_);
    EXPECT_TRUE(files.ok());
    return std::move(files).value();
  }

 private:
  std::string path_;
};

}  // namespace culprit::tune
