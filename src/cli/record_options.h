// What `culprit record` was asked for: its options as typed, and the plan made of them. Opens the
// config file and asks tracefs for its list of events; records nothing.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/record_config.h"
#include "capture/rotation.h"
#include "sampling/sampled_event.h"

namespace culprit::cli {

struct RecordOptions {
  std::string output;
  std::string config_path;
  bool txt = false;  // the only form there is
  std::string duration;
  std::string buffer;
  std::string max_size;
  bool ring = false;
  bool stop_when_full = false;
  bool background = false;
  std::vector<std::int32_t> pids;
  std::vector<std::string> words;  // categories and events
  bool sample = false;
  std::string sample_hz;  // or the category that stands there
  std::string event = "cycles";
  std::string call_graph = "fp";
  bool off_cpu = false;
  bool wakers = false;
  bool system_wide = false;
  std::vector<std::string> command;  // each with a '=' before it (program.cc)

  std::string rotate;
  std::optional<std::size_t> keep;
  std::string directory;
  std::string max_disk;

  bool list = false;
  bool cleanup = false;
  bool status = false;
  bool stop = false;
  std::string stop_pid;

  bool quiet = false;
  bool json = false;
};

void DeclareRecordOptions(CLI::App& app, RecordOptions& options);

struct RecordPlan {
  capture::RecordConfig config;
  std::string output;  // absolute; "/dev/stdout" for "-"
  bool to_stdout = false;
  bool keep_old = false;  // the default name: what is there already becomes NAME.old
  DurationNs rotate;      // 0: one file
  std::string directory;  // of the rotation
  capture::RotationLimits limits;
  std::vector<std::string> command;
  std::optional<sampling::SampleConfig> samples;  // pids and clock: those of config
  std::vector<std::string> warnings;              // for the user, one line each
};

// An Error of the command line or of the config; the exit status that goes with it is 2.
Result<RecordPlan> MakeRecordPlan(const RecordOptions& options,
                                  const std::vector<std::string>& kernel_events);

}  // namespace culprit::cli
