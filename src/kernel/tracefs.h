// The kernel's tracing files: where tracefs is, private instances, their controls and their text
// files. Knows paths and texts only; no ring page is parsed and no policy is decided here. Every
// path hangs below a directory that the caller names, so a folder of files is a fake kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace culprit::kernel {

// One directory of trace controls: the top level of a tracefs or one of its instances. A value: it
// holds a path, opens nothing and owns nothing in the kernel.
class TraceDirectory {
 public:
  explicit TraceDirectory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view name) const { return JoinPath(path_, name); }

  [[nodiscard]] Result<std::string> Read(std::string_view name) const {
    return ReadFile(PathOf(name));
  }
  [[nodiscard]] Status Write(std::string_view name, std::string_view text) const {
    return WriteControlFile(PathOf(name), text);
  }
  bool Has(std::string_view name) const { return PathExists(PathOf(name)); }

  [[nodiscard]] Status SetTracingOn(bool on) const { return Write("tracing_on", on ? "1" : "0"); }
  // Of each CPU's ring.
  [[nodiscard]] Status SetBufferBytesPerCpu(std::uint64_t bytes) const;
  // options/NAME. An Error also when this kernel has no such option.
  [[nodiscard]] Status SetOption(std::string_view name, bool on) const;
  // `event` is "group/name".
  [[nodiscard]] Status EnableEvent(std::string_view event, bool on) const;
  [[nodiscard]] Result<std::string> EventFormat(std::string_view event) const;

  // The CPUs that have a ring, in order.
  [[nodiscard]] Result<std::vector<int>> Cpus() const;
  // "per_cpu/cpu3/NAME".
  static std::string CpuFile(int cpu, std::string_view name);
  // Size of one sub-buffer of the ring ("page"): the page size unless buffer_subbuf_size_kb
  // (Linux 6.8) says otherwise.
  std::uint32_t SubBufferBytes() const;

 private:
  std::string path_;
};

class Tracefs {
 public:
  // Finds the tracefs below `root` ("/" on a real machine): where the kernel mounts it since 4.1,
  // then the old place in debugfs. Nothing is mounted.
  static Result<Tracefs> Find(const std::string& root = "/");
  // Find, and mount it at /sys/kernel/tracing when it is nowhere.
  static Result<Tracefs> FindOrMount(const std::string& root = "/");

  const TraceDirectory& top() const { return top_; }

  // "group/name" of every event that can be enabled, sorted.
  [[nodiscard]] Result<std::vector<std::string>> AvailableEvents() const;
  // Clocks of trace_clock, without the brackets around the current one.
  [[nodiscard]] Result<std::vector<std::string>> Clocks() const;

  // Names below instances/, sorted.
  [[nodiscard]] Result<std::vector<std::string>> Instances() const;
  TraceDirectory Instance(std::string_view name) const;
  [[nodiscard]] Result<TraceDirectory> CreateInstance(std::string_view name) const;
  // Stops and removes an instance with all that was enabled in it; waits a moment for files of it
  // that somebody still holds open. An instance that is not there is no Error.
  [[nodiscard]] Status RemoveInstance(std::string_view name) const;

 private:
  explicit Tracefs(std::string path) : top_(std::move(path)) {}
  TraceDirectory top_;
};

}  // namespace culprit::kernel
