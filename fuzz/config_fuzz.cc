// The reader of Perfetto's TraceConfig text, and the expansion of the events it asks for.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "capture/category_table.h"
#include "capture/config_pbtxt.h"

namespace {

void CheckIsSafe(const std::string& text) {
  CULPRIT_CHECK(!text.empty());
  CULPRIT_CHECK(culprit::SafeForTerminal(text) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culprit;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = capture::ParseConfig(text, "c.pbtxt");
  if (!parsed.ok()) {
    CheckIsSafe(parsed.error().ToString());
    return 0;
  }
  const auto lines = static_cast<int>(Split(text, '\n').size());
  for (const auto& warning : parsed->warnings) {
    CheckIsSafe(warning.ToString("c.pbtxt"));
    CULPRIT_CHECK(warning.line >= 0 && warning.line <= lines);
    CULPRIT_CHECK(warning.line == 0 || warning.column >= 1);
  }
  const capture::RecordConfig& config = parsed->config;
  for (const DurationNs period :
       {config.poll.stat, config.poll.meminfo, config.poll.vmstat, config.poll.psi,
        config.poll.diskstat, config.poll.cpufreq, config.processes.poll_period}) {
    CULPRIT_CHECK(period == DurationNs{} || period >= Milliseconds(10));
  }
  static const std::vector<std::string> kKernel = {"block/block_rq_issue", "sched/sched_switch",
                                                   "sched/sched_waking", "task/task_newtask"};
  const auto expanded = capture::ExpandEvents(config.events, kKernel);
  CULPRIT_CHECK(expanded.events.size() <= kKernel.size());
  for (const auto& missing : expanded.missing) CheckIsSafe(missing.ToString());
  return 0;
}
