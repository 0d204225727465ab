// Text on its way to a descriptor, gathered into large writes.
// Makes no files (base/atomic_file.h) and knows no formats.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace culprit::query {

class Output {
 public:
  // `name` is for Errors: "standard output", a path.
  Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  // What is appended here goes out with the next Continue or Finish.
  std::string& text() { return text_; }
  // From now on Continue fails once `*cancelled` is true.
  void set_cancelled(const std::atomic<bool>* cancelled) { cancelled_ = cancelled; }
  // To be called between pieces: writes when there is enough.
  Status Continue() {
    if (cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed)) {
      text_.clear();
      return Error{"the query was cancelled", ""};
    }
    return text_.size() < kFlushBytes ? Status() : Finish();
  }
  Status Finish();

 private:
  static constexpr std::size_t kFlushBytes = 128 * 1024;
  int fd_;
  std::string name_;
  std::string text_;
  const std::atomic<bool>* cancelled_ = nullptr;
};

}  // namespace culprit::query
