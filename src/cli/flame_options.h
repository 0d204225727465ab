// The command line of culprit flame, and what it means as plain data. Opens no files.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "profile/read.h"
#include "profile/selection.h"
#include "views/flame/flame_view.h"

namespace culprit::cli {

struct FlameOptions {
  std::vector<std::string> inputs;  // one; or "diff" and two
  std::string output;               // empty: text to standard output
  std::string format;               // empty: by the output's suffix
  std::string title;
  std::string type;  // empty: on-cpu, or what the input has
  std::vector<std::string> threads;
  std::vector<std::string> processes;
  std::vector<std::int32_t> cpus;
  std::string from;
  std::string to;
  std::string states;
  double min_us = 0;
  std::string group;
  std::string unknown;
  std::string normalize;
  std::vector<double> work;
  std::vector<std::string> filter;
  std::vector<std::string> remove;
  std::vector<std::string> collapse;
  std::vector<std::string> annotate;
  std::string root = "/";
  bool reverse = false;
  bool inverted = false;
  bool full_names = false;
  bool no_inlines = false;
  bool all = false;

  bool is_diff() const { return inputs.size() == 3 && inputs.front() == "diff"; }
};

void DeclareFlameOptions(CLI::App& app, FlameOptions& options);

// An Error for what the parser cannot see: times, regular expressions, combinations.
Result<profile::Selection> SelectionOf(const FlameOptions& options);
profile::ReadOptions ReadOptionsOf(const FlameOptions& options);
views::Annotations AnnotationsOf(const FlameOptions& options);

// The name of an output format, by --format or the suffix of the output.
Result<std::string> OutputFormatOf(const FlameOptions& options);

}  // namespace culprit::cli
