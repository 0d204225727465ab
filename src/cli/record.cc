// culprit record: kernel events, counters and the names of threads into a trace file.
#include <algorithm>
#include <memory>
#include <utility>

#include "capture/category_table.h"
#include "cli/record_control.h"
#include "cli/record_options.h"
#include "cli/record_run.h"
#include "cli/verbs.h"
#include "kernel/tracefs.h"

namespace culprit::cli {
namespace {

int Record(const RecordOptions& options) {
  if (options.list) return ListCategories(options);
  if (options.status) return ShowRecordings(options);
  if (options.stop) return StopRecording(options);
  if (options.cleanup) return CleanUp(options);

  // Without tracefs a recording of polls alone is still possible, and a wrong option is wrong.
  std::vector<std::string> events;
  const auto tracefs = kernel::Tracefs::FindOrMount();
  if (tracefs) {
    auto available = tracefs->AvailableEvents();
    if (!available) return Fail(available.error());
    events = std::move(available).value();
  }
  auto plan = MakeRecordPlan(options, events);
  if (!plan) {
    // A word that is no category may be an event, which only tracefs could tell.
    const bool may_be_event =
        !tracefs && std::ranges::any_of(options.words, [](const std::string& word) {
          return capture::FindCategory(word) == nullptr;
        });
    return may_be_event ? Fail(tracefs.error()) : Fail(plan.error(), kExitUsage);
  }
  capture::RecordConfig& config = plan->config;
  if (!tracefs && !config.events.empty()) {
    // One's own processes can be recorded without tracefs, by other means and with less in it.
    const bool has_target = !config.pids.empty() || !plan->command.empty();
    const bool is_plain = config.fill_policy == capture::FillPolicy::kDrain &&
                          plan->rotate.value == 0 && options.config_path.empty();
    if (!has_target || !is_plain) {
      Error error = tracefs.error();
      error.remedy += has_target ? "; --ring, --rotate, --stop-when-full and -c want tracefs"
                                 : "; or record your own processes: --pid PID or -- COMMAND";
      return Fail(error);
    }
    config.events.clear();
    config.markers = config.d_state_stacks = false;
    config.own_threads = true;
    plan->warnings.push_back(
        "no tracefs for this user: only the threads of the given processes are recorded; what more "
        "there would be and how: culprit preflight");
  }
  return RunRecording(options, std::move(plan).value());
}

}  // namespace

Action DeclareRecord(CLI::App& app) {
  auto options = std::make_shared<RecordOptions>();
  DeclareRecordOptions(app, *options);
  return [options, &app] {
    options->stop = app.count("--stop") > 0;
    options->sample = app.count("--sample") > 0;
    // `record --sample sched`: a word that is no number is a category.
    if (!options->sample_hz.empty() && options->sample_hz.front() >= 'a') {
      options->words.insert(options->words.begin(), std::exchange(options->sample_hz, ""));
    }
    return Record(*options);
  };
}

}  // namespace culprit::cli
