// perf_event_open(2) for sampling: one event on one thread or CPU, and its ring. What the samples
// mean, and when rings are read, is others'.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

struct perf_event_attr;

namespace culprit::sampling {

struct OpenedEvent {
  UniqueFd fd;  // not valid: refused
  int error_number = 0;
};
// Raises the soft limit of open files to the hard one when they run out.
OpenedEvent OpenPerfEvent(const perf_event_attr& attributes, std::int32_t tid, int cpu);

// What a refusal means and what helps.
Error RefusedEvent(std::string_view event, int error_number);

// The ring of one CPU, into which all its events write.
//
//   | control page | data, 2^n pages: [tail, head) is unread, positions only grow |
class PerfRing {
 public:
  static Result<PerfRing> Map(int fd, std::size_t bytes);
  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  ~PerfRing();

  int fd() const { return fd_; }
  // Gives what is unread in one or two pieces (whole records, put together), and frees it if
  // `take` says so.
  void Drain(const std::function<bool(std::span<const std::byte> first,
                                      std::span<const std::byte> rest)>& take);

 private:
  PerfRing(int fd, void* pages, std::size_t bytes) : fd_(fd), pages_(pages), bytes_(bytes) {}
  int fd_;
  void* pages_;
  std::size_t bytes_;  // of the data
};

}  // namespace culprit::sampling
