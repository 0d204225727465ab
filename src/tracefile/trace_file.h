// TraceFile: the bytes of a trace on disk as one mapping, whatever is wrapped around them (gzip
// with any number of members, zstd, packets compressed inside the trace), and what kind of file it
// is. Decompressed bytes live in a nameless temporary file, never in memory. Decodes no events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/result.h"

namespace culprit::tracefile {

enum class TraceFormat {
  kPerfetto,    // a protobuf Trace
  kFtraceText,  // what the kernel's trace and trace_pipe files, trace-cmd report or perf script
                // print
  kChromeJson,  // the JSON of chrome://tracing and of many profilers
};

class TraceFile {
 public:
  // An Error says what the file is when it is no trace that can be loaded.
  static Result<TraceFile> Open(const std::string& path);
  // Of bytes in memory that outlive the object; nothing is unwrapped. For tests and fuzzing.
  static Result<TraceFile> OfBytes(std::string_view bytes);

  std::string_view bytes() const { return bytes_; }
  TraceFormat format() const { return format_; }
  // The size on disk, before anything was unwrapped.
  std::uint64_t file_bytes() const { return file_bytes_; }
  // The compressed stream around the file, or a compressed packet, ended too early or was damaged:
  // bytes() is what came before.
  bool is_cut() const { return is_cut_; }

 private:
  explicit TraceFile(MappedFile mapping) : mapping_(std::move(mapping)), bytes_(mapping_.text()) {}
  TraceFile(MappedFile mapping, std::string_view bytes)
      : mapping_(std::move(mapping)), bytes_(bytes) {}

  MappedFile mapping_;
  std::string_view bytes_;
  TraceFormat format_ = TraceFormat::kPerfetto;
  std::uint64_t file_bytes_ = 0;
  bool is_cut_ = false;
};

// What the first bytes of a file say: a format, or an Error naming what it is instead.
Result<TraceFormat> DetectFormat(std::string_view bytes, std::string_view path);

}  // namespace culprit::tracefile
