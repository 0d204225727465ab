// ReadProfile: any profile that stands alone in a file (perf.data, perf script text, folded stacks,
// pprof, speedscope, .cpuprofile) into a Profile, told apart by content. Traces and databases:
// trace_profile.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "profile/profile.h"
#include "symbols/demangle.h"

namespace culprit::profile {

// How code without a symbol is called.
enum class UnknownStyle {
  kOffset,   // "[libc.so.6+0x1234]"; "[module]" where the input has no offsets
  kModule,   // "[libc.so.6]"
  kAddress,  // "[libc.so.6 <7f12345>]"
};

struct ReadOptions {
  symbols::NameStyle names = symbols::NameStyle::kShort;
  UnknownStyle unknown = UnknownStyle::kOffset;
  bool inlines = true;     // inlined functions by DWARF (perf.data)
  std::string root = "/";  // where perf.data looks for programs, libraries and /proc/kallsyms
  // Returning false ends the reading with an Error.
  std::function<bool(std::uint64_t bytes_done, std::uint64_t bytes_total)> progress;
};

enum class Format {
  kUnknown,  // none of these: perhaps a trace
  kPerfData,
  kPerfScript,
  kFolded,
  kPprof,
  kSpeedscope,
  kCpuProfile,
};

// What a file that begins like this is.
Format DetectFormat(std::string_view head);

// Reads a file, decompressing gzip. An Error of kUnknown says what was looked for.
Result<Format> DetectFile(const std::string& path);
Result<Profile> ReadProfile(const std::string& path, const ReadOptions& options = {});

// The decoders: whole inputs in memory. An input that ends early or is wrong in places gives what
// it holds, with a note; one that holds nothing of its format is an Error.
Result<Profile> ReadPerfScript(std::string_view text, const ReadOptions& options = {});
Result<Profile> ReadFolded(std::string_view text, const ReadOptions& options = {});
Result<Profile> ReadPprof(std::string_view bytes, const ReadOptions& options = {});
Result<Profile> ReadSpeedscope(std::string_view json, const ReadOptions& options = {});
Result<Profile> ReadCpuProfile(std::string_view json, const ReadOptions& options = {});

}  // namespace culprit::profile
