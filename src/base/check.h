// CHECK: stops the program at a bug of our own, in release builds too.
// Never for bad input, a kernel's refusal or a user's mistake: those are Errors (result.h).
#pragma once

#include <cstdio>
#include <cstdlib>

namespace culprit {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "culprit: bug: CHECK(%s) failed at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace culprit

#define CULPRIT_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::culprit::CheckFailed(#condition, __FILE__, __LINE__))
