// What tune reads and others write: sysctl.d and policy files, drop-ins, the journal, and the text
// of /proc and /sys that facts and origins come from. Nothing of it may crash or leave its bounds.
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "health/tune/drop_in.h"
#include "health/tune/journal.h"
#include "health/tune/report.h"

namespace {

using namespace culprit;        // NOLINT
using namespace culprit::tune;  // NOLINT

// One directory a process, removed when it ends.
const std::string& Tree() {
  struct Directory {
    Directory() {
      path = (std::filesystem::temp_directory_path() / "tune-fuzz-XXXXXX").string();
      CULPRIT_CHECK(mkdtemp(path.data()) != nullptr);
    }
    ~Directory() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    std::string path;
  };
  static const Directory directory;
  return directory.path;
}

void Put(const std::string& path, std::string_view text) {
  const std::string full = Tree() + path;
  std::filesystem::create_directories(std::filesystem::path(full).parent_path());
  std::ofstream(full, std::ios::binary) << text;
}

void CheckDropIn(Place place, std::string_view text) {
  DropIn drop_in(place, text);
  const std::string once = drop_in.Text();
  CULPRIT_CHECK(DropIn(place, once).Text() == once);
  const std::string name = place == Place::kSysctl ? "vm/swappiness" : "/sys/x";
  drop_in.Set(name, "10");
  CULPRIT_CHECK(DropIn(place, drop_in.Text()).Get(name) == "10");
  drop_in.Set(name, std::nullopt);
  CULPRIT_CHECK(!drop_in.Get(name));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const ConfigLine& line : ParseSysctlConfig(text, "f")) {
    CULPRIT_CHECK(!line.path.starts_with('/') && line.line >= 1);
    for (const auto part : Split(line.path, '/')) CULPRIT_CHECK(!part.empty() && part != "..");
  }
  CheckDropIn(Place::kSysctl, text);
  CheckDropIn(Place::kSysfs, text);
  const auto policy = ParsePolicy(text, "p");
  if (!policy.ok())
    CULPRIT_CHECK(SafeForTerminal(policy.error().ToString()) == policy.error().ToString());

  for (const char* path : {"/etc/sysctl.d/a.conf",
                           "/etc/tuned/active_profile",
                           "/etc/tuned/p/tuned.conf",
                           "/etc/tmpfiles.d/a.conf",
                           "/etc/security/limits.conf",
                           "/proc/cmdline",
                           "/proc/meminfo",
                           "/proc/self/limits",
                           "/proc/self/mountinfo",
                           "/proc/net/route",
                           "/proc/net/arp",
                           "/proc/net/stat/arp_cache",
                           "/proc/net/softnet_stat",
                           "/proc/swaps",
                           "/proc/cpuinfo",
                           "/proc/sys/vm/swappiness",
                           "/proc/sys/net/ipv4/tcp_rmem",
                           "/proc/sys/kernel/osrelease",
                           "/sys/kernel/mm/transparent_hugepage/enabled",
                           "/sys/devices/system/cpu/online",
                           "/sys/devices/system/node/has_memory"}) {
    Put(path, text);
  }
  Put("/etc/tuned/active_profile", "p");
  Put(kJournalPath, text);
  const auto files = RootFiles::Open(Tree());
  CULPRIT_CHECK(files.ok());
  const Audit audit = AuditBaseline(*files, ReadNodeFacts(*files), Profile::kStorage);
  const std::string shown = AuditText(audit, {.every_detail = true, .policy = ""});
  for (const auto line : SplitLines(shown)) CULPRIT_CHECK(SafeForTerminal(line) == line);
  CULPRIT_CHECK(!AuditJson(audit, "").empty());
  const auto journal = Journal::Read(*files);
  if (journal.ok()) {
    for (const JournalEntry& entry : journal->entries()) {
      CULPRIT_CHECK(entry.path.starts_with("/proc/sys/") || entry.path.starts_with("/sys/"));
      CULPRIT_CHECK(entry.path.find("/../") == std::string::npos);
    }
  }
  return 0;
}
