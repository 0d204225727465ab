// ReadTraceProfile: samples and waits in the tables of a trace (or .duckdb) as a Profile. Only what
// one --type asks for is read; draws and selects nothing further.
#pragma once

#include <string>

#include "base/result.h"
#include "profile/profile.h"
#include "profile/read.h"

namespace culprit::tables {
class Connection;
}

namespace culprit::profile {

struct TraceProfileOptions {
  // "on-cpu", "counter:EVENT": perf_sample. "off-cpu", "wait", "runnable", "waker": offcpu_sample,
  // or where the trace has none thread_state with the kernel's stacks. Empty: what there is,
  // samples before waits.
  std::string type;
  bool all = false;  // wait: also threads that sleep in one place for nearly all of the trace
  ReadOptions read;
};

Result<Profile> ReadTraceProfile(tables::Connection& connection,
                                 const TraceProfileOptions& options);

}  // namespace culprit::profile
