// Symbolizer: from places in modules, as perf.data has them, to named frames: kallsyms, ELF files
// (only those of the recorded build id), perf-PID.map. Names nothing that it cannot be sure of, and
// says what it could not name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/perf_data/address_space.h"
#include "profile/perf_data/header.h"
#include "profile/profile.h"
#include "profile/read.h"

namespace culprit::profile::perf_data {

// Code that was seen, not named yet.
struct Place {
  ModuleId module = 0;
  std::uint64_t address = 0;  // as it was recorded
  std::uint64_t offset = 0;   // in the module's file; in the kernel from the mapping's begin
  bool is_kernel = false;
  bool is_caller = false;  // the address is behind the call, which may be another function's
};

class Symbolizer {
 public:
  Symbolizer(const Header& header, const std::vector<Module>& modules, const ReadOptions& options)
      : header_(header), modules_(modules), options_(options) {}

  // The frames of each place, outermost first (inlined functions follow the one they are in); adds
  // frames and notes to `profile`.
  std::vector<std::vector<FrameId>> Name(const std::vector<Place>& places, Profile& profile);

 private:
  using Places = std::vector<std::uint32_t>;  // indices
  void NameKernel(const std::vector<Place>& places, const Places& chosen);
  void NameModule(const std::vector<Place>& places, const Places& chosen, const Module& module);
  void NameJit(const std::vector<Place>& places, const Places& chosen, const Module& module);
  void NameElf(const std::vector<Place>& places, const Places& chosen, const Module& module);
  FrameId Unknown(const Place& place);
  void SayMissing();

  const Header& header_;
  const std::vector<Module>& modules_;
  const ReadOptions& options_;
  Profile* profile_ = nullptr;
  std::vector<std::vector<FrameId>> names_;

  enum class Why { kMissing, kReplaced, kUnreadable };
  struct Missing {
    std::string path;
    Why why;
    std::size_t places;
  };
  std::vector<Missing> missing_;
  std::size_t unchecked_ = 0;  // files named without a build id in the recording
};

}  // namespace culprit::profile::perf_data
