// culprit explain --live, culprit profile: a recording made for them, by this very program's record
// verb, into a private temporary file. Explains nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace culprit::cli {

struct LiveOptions {
  std::string duration;  // as record's --for; empty: until the command ends, or ^C
  std::optional<std::int64_t> pid;
  std::vector<std::string> command;
  std::vector<std::string> record_words;  // categories and options of record; none: explain's
};

// The recording's file, which is removed with the object.
class LiveRecording {
 public:
  // Returns when the recording is done: after its time, when its command ended, or at ^C.
  static Result<LiveRecording> Make(const LiveOptions& options);
  LiveRecording(LiveRecording&&) noexcept;
  LiveRecording& operator=(LiveRecording&&) = delete;
  ~LiveRecording();

  const std::string& path() const { return path_; }
  // Of record, which has the command's own when there was one.
  int exit_status() const { return exit_status_; }

 private:
  explicit LiveRecording(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
  std::string path_;
  int exit_status_ = 0;
};

}  // namespace culprit::cli
