// A file of fixed size in the scenario's folder, for reads and writes that reach the disk. Errors
// go to the actor's slot and make the calls below do nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "lab/actor.h"

namespace culprit::lab {

class DiskFile {
 public:
  // FOLDER/file.NUMBER, written full and synced; it keeps no name that a listing of our folder
  // could miss. Nothing on failure (the actor has the Error).
  static std::optional<DiskFile> Make(Actor& actor, const std::string& folder, std::uint64_t number,
                                      std::uint64_t bytes);

  void Write(std::uint64_t at, std::uint64_t bytes) const;
  void Read(std::uint64_t at, std::uint64_t bytes) const;
  void Sync() const;
  // Out of the page cache: the next read goes to the disk.
  void Forget(std::uint64_t at, std::uint64_t bytes) const;

 private:
  DiskFile(Actor& actor, UniqueFd fd) : actor_(&actor), fd_(std::move(fd)) {}
  void Failed(const char* call) const;

  Actor* actor_;
  UniqueFd fd_;
  mutable std::vector<char> buffer_;
};

}  // namespace culprit::lab
