// A file that appears under its name only when it is whole: written beside it, then renamed.
// A device, pipe or other special file of that name is written directly, as there is nothing to
// rename.
#pragma once

#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace culprit {

class AtomicFile {
 public:
  // Makes the temporary file in the folder of `path`, so that rename cannot cross file systems.
  static Result<AtomicFile> Create(const std::string& path, unsigned mode = 0666);
  // The same for a writer that opens its file itself and wants none there: only the name is taken.
  static Result<AtomicFile> ReserveName(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // removes what was not committed

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  // Where to write until Commit.
  const std::string& temporary_path() const { return temporary_path_; }

  // Gives the file its name, over one that is there.
  Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary_path, UniqueFd fd);
  std::string path_;
  std::string temporary_path_;  // empty once there is nothing to remove
  UniqueFd fd_;
  bool direct_ = false;
};

}  // namespace culprit
