// A whole captured node as culprit check reads it, in one file:
//
//   =proc/stat          both samples; "=0/proc/stat" and "=1/proc/stat" are one of them
//   cpu0 1 2 3
//   =@config            a --config file; "=@baseline" a saved state of the hardware
//
// Whatever is in it, every check says something, every format can be written, and no escape of a
// hostile name reaches the terminal.
#include <stdlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "health/baseline.h"
#include "health/checker.h"
#include "health/report.h"

namespace {

using namespace culprit;          // NOLINT(google-build-using-namespace)
using namespace culprit::health;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

constexpr std::size_t kMostSections = 64;

// One directory a run, on a file system of memory where there is one.
class Tree {
 public:
  Tree() {
    path_ = fs::is_directory("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().string();
    path_ += "/health-fuzz-XXXXXX";
    CULPRIT_CHECK(mkdtemp(path_.data()) != nullptr);
    Put("0/proc/uptime", "100.00 1\n");
    Put("1/proc/uptime", "101.00 1\n");
  }
  ~Tree() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  void Put(const std::string& name, std::string_view text) const {
    const fs::path full = fs::path(path_) / name;
    std::error_code ignored;
    fs::create_directories(full.parent_path(), ignored);
    std::ofstream(full, std::ios::binary) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A name that stays in the tree and is of what is read.
bool IsName(std::string_view name) {
  if (name.starts_with("0/") || name.starts_with("1/")) name.remove_prefix(2);
  const bool known = name.starts_with("proc/") || name.starts_with("sys/") ||
                     name.starts_with("etc/") || name.starts_with("dev/");
  return known && name.size() < 200 && name.find("..") == name.npos &&
         name.find('\0') == name.npos && !name.ends_with('/');
}

struct Input {
  std::map<std::string, std::string> files;  // below 0 and 1, or "@config", "@baseline"
};

Input Split(std::string_view text) {
  Input input;
  std::string* section = nullptr;
  for (const std::string_view line : SplitLines(text)) {
    if (line.starts_with('=')) {
      const std::string name(line.substr(1));
      const bool special = name == "@config" || name == "@baseline";
      section = (special || IsName(name)) && input.files.size() < kMostSections ? &input.files[name]
                                                                                : nullptr;
    } else if (section != nullptr) {
      *section += std::string(line) + "\n";
    }
  }
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input = Split({reinterpret_cast<const char*>(data), size});
  const Tree tree;
  CheckOptions options;
  for (const auto& [name, text] : input.files) {
    if (name == "@config") {
      if (auto config = CheckConfig::Parse(text, "config"); config.ok())
        options.config = std::move(config).value();
    } else if (name == "@baseline") {
      tree.Put("baseline", text);
      if (auto baseline = LoadBaseline(tree.path() + "/baseline"); baseline.ok())
        options.baseline = std::move(baseline).value();
    } else if (name.starts_with("0/") || name.starts_with("1/")) {
      tree.Put(name, text);
    } else {
      tree.Put("0/" + name, text);
      tree.Put("1/" + name, text);
    }
  }
  options.rules = SelectRules("").value();
  options.root = tree.path() + "/0";
  options.root_next = tree.path() + "/1";
  const std::size_t rules = options.rules.size();
  Checker checker(std::move(options));
  const Report report = checker.Run({});
  CULPRIT_CHECK(report.findings.size() <= rules * 22);
  for (const Finding& finding : report.findings) CULPRIT_CHECK(!finding.summary.empty());
  const std::string shown = ReportText(report, {.all = true});
  CULPRIT_CHECK(shown.find('\x1b') == shown.npos);
  ReportJson(report);
  ReportNdjson(report);
  ReportNagios(report);
  CULPRIT_CHECK(ReportOpenMetrics(report).ends_with("# EOF\n"));
  return 0;
}
