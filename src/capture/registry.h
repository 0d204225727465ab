// Recordings under way, so that `record --status` and `--stop` find them: one small file a recorder
// in a directory of this user. Says nothing that the recorder did not write; ends no process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/process_identity.h"

namespace culprit::capture {

struct RegistryEntry {
  kernel::ProcessIdentity recorder;
  std::int64_t since_unix_s = 0;
  std::string instance;  // of tracefs; empty for a recording of polls alone
  std::string output;    // absolute path of the file, or of the directory of a rotation
  bool rotates = false;
  std::uint64_t files = 0;        // written so far
  std::uint64_t lost_events = 0;  // of those files
  // "recording", "writing" (stopped, the file is being made) or "failed".
  std::string state = "recording";
  std::string error;  // of a background recorder that failed
};

class Registry {
 public:
  // Where this user's entries are: /run/culprit for root, else below XDG_RUNTIME_DIR, else a
  // private directory in /tmp. `directory` overrides it (tests).
  static Result<Registry> Open(const std::string& directory = "");

  // Replaces the entry of its recorder, in one step.
  [[nodiscard]] Status Put(const RegistryEntry& entry) const;
  void Remove(std::int32_t pid) const;

  // Entries of recorders that live, and of those that failed. What recorders left that are gone
  // without a word is removed on the way.
  std::vector<RegistryEntry> List() const;

  const std::string& directory() const { return directory_; }

 private:
  explicit Registry(std::string directory) : directory_(std::move(directory)) {}
  std::string PathOf(std::int32_t pid) const;
  std::string directory_;
};

}  // namespace culprit::capture
