#include "capture/config_pbtxt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/text.h"

namespace culprit::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

ParsedConfig Parse(std::string_view text) {
  auto parsed = ParseConfig(text, "c.pbtxt");
  EXPECT_TRUE(parsed.ok()) << parsed.error().ToString();
  return parsed.ok() ? std::move(parsed).value() : ParsedConfig{};
}

std::string ErrorOf(std::string_view text) {
  const auto parsed = ParseConfig(text, "c.pbtxt");
  return parsed.ok() ? "no error" : parsed.error().what;
}

std::vector<std::string> Warnings(std::string_view text) {
  std::vector<std::string> texts;
  for (const ConfigMessage& warning : Parse(text).warnings)
    texts.push_back(warning.ToString("c.pbtxt"));
  return texts;
}

std::vector<std::string> Patterns(const RecordConfig& config) {
  std::vector<std::string> patterns;
  for (const EventRequest& request : config.events) patterns.push_back(request.pattern);
  return patterns;
}

// The config that the manual promises to take as it stands.
TEST(ConfigPbtxt, TheManualsConfig) {
  const auto parsed = Parse(R"(buffers { size_kb: 65536 fill_policy: DISCARD }
data_sources { config { name: "linux.ftrace" ftrace_config {
  ftrace_events: "sched/sched_switch" ftrace_events: "sched/sched_wakeup" ftrace_events: "power/cpu_frequency"
  ftrace_events: "block/block_rq_insert" ftrace_events: "block/block_rq_complete" ftrace_events: "kmem/kmalloc" ftrace_events: "kmem/kfree" } } }
data_sources { config { name: "linux.process_stats" target_buffer: 0 } }
duration_ms: 30000
)");
  EXPECT_THAT(parsed.warnings, IsEmpty());
  const RecordConfig& config = parsed.config;
  EXPECT_EQ(config.ring_bytes, std::uint64_t{64} << 20);
  EXPECT_EQ(config.fill_policy, FillPolicy::kDiscard);
  EXPECT_FALSE(config.stop_when_full);
  EXPECT_EQ(config.duration, Seconds(30));
  EXPECT_THAT(Patterns(config),
              ElementsAre("sched/sched_switch", "sched/sched_wakeup", "power/cpu_frequency",
                          "block/block_rq_insert", "block/block_rq_complete", "kmem/kmalloc",
                          "kmem/kfree"));
  EXPECT_TRUE(config.events[3].required);
  EXPECT_EQ(config.events[3].origin, "c.pbtxt:4");
  EXPECT_FALSE(config.d_state_stacks);
  EXPECT_FALSE(config.markers);
  EXPECT_EQ(config.poll, PollPeriods{});
  EXPECT_TRUE(config.processes.at_start);
  EXPECT_FALSE(config.trace_config.empty());
}

TEST(ConfigPbtxt, AllFieldsThatAreFollowed) {
  const auto parsed = Parse(R"(
# comments, colons before braces, commas, both kinds of quotes
buffers: { size_kb: 1024 }
buffers: { size_kb: 8192; fill_policy: RING_BUFFER, name: 'second' }
data_sources: {
  config {
    name: "linux.ftrace"
    target_buffer_name: "second"
    ftrace_config {
      ftrace_events: "block/*"
      ftrace_events: ["ftrace/print", "sched_switch"]
      atrace_categories: "sync"
      buffer_size_kb: 4096
      buffer_size_lower_bound: true
      drain_period_ms: 250
      compact_sched { enabled: false }
      symbolize_ksyms: false
    }
  }
}
data_sources { config { name: "linux.process_stats"
  process_stats_config { scan_all_processes_on_start: true record_thread_names: true proc_stats_poll_ms: 2000 } } }
data_sources { config { name: "linux.sys_stats" target_buffer: 1 sys_stats_config {
  meminfo_period_ms: 1000 meminfo_counters: MEMINFO_MEM_TOTAL meminfo_counters: MEMINFO_DIRTY
  vmstat_period_ms: 500 vmstat_counters: VMSTAT_OOM_KILL
  stat_period_ms: 100 stat_counters: STAT_CPU_TIMES stat_counters: STAT_FORK_COUNT
  cpufreq_period_ms: 20 diskstat_period_ms: 30 psi_period_ms: 40 } } }
data_sources { config { name: "linux.system_info" } }
duration_ms: 1500
write_into_file: true
file_write_period_ms: 5000
max_file_size_bytes: 10000000000
output_path: "/tmp/x.trace"
builtin_data_sources { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }
)");
  for (const ConfigMessage& warning : parsed.warnings) ADD_FAILURE() << warning.ToString("c");
  const RecordConfig& config = parsed.config;
  EXPECT_EQ(config.ring_bytes, std::uint64_t{8192} << 10);
  EXPECT_EQ(config.ring_bytes_per_cpu, std::uint64_t{4096} << 10);
  EXPECT_EQ(config.fill_policy, FillPolicy::kDrain);
  EXPECT_EQ(config.drain_period, Milliseconds(250));
  EXPECT_EQ(config.duration, Milliseconds(1500));
  EXPECT_EQ(config.max_file_bytes, 10'000'000'000U);
  EXPECT_EQ(config.output_path, "/tmp/x.trace");
  EXPECT_EQ(config.clock, TraceClock::kMonotonic);
  EXPECT_TRUE(config.markers);
  EXPECT_FALSE(config.compact_sched);
  EXPECT_FALSE(config.kernel_symbols);
  EXPECT_THAT(Patterns(config),
              ElementsAre("block/*", "sched_switch", "dma_fence/*", "sync/*", "fence/*"));
  EXPECT_EQ(config.events[2].origin, "c.pbtxt:12: atrace category sync");
  EXPECT_EQ(config.processes.poll_period, Seconds(2));
  EXPECT_EQ(config.poll.meminfo, Seconds(1));
  EXPECT_EQ(config.poll.vmstat, Milliseconds(500));
  EXPECT_EQ(config.poll.stat, Milliseconds(100));
  EXPECT_EQ(config.poll.cpufreq, Milliseconds(20));
  EXPECT_EQ(config.poll.diskstat, Milliseconds(30));
  EXPECT_EQ(config.poll.psi, Milliseconds(40));
  EXPECT_EQ(config.poll.netdev, DurationNs{});
  EXPECT_THAT(config.counters.meminfo, ElementsAre(1U, 17U));
  EXPECT_THAT(config.counters.vmstat, ElementsAre(115U));
  EXPECT_THAT(config.counters.stat, ElementsAre(1U, 4U));
}

TEST(ConfigPbtxt, FillPolicies) {
  const auto policy = [](const char* text) { return Parse(text).config.fill_policy; };
  EXPECT_EQ(policy("buffers { fill_policy: RING_BUFFER }"), FillPolicy::kRing);
  EXPECT_EQ(policy("buffers { size_kb: 10 }"), FillPolicy::kRing);
  EXPECT_EQ(policy("buffers { fill_policy: DISCARD }"), FillPolicy::kDiscard);
  EXPECT_EQ(policy("buffers { fill_policy: DISCARD } write_into_file: true"), FillPolicy::kDrain);
}

TEST(ConfigPbtxt, ASyntaxErrorHasLineAndColumn) {
  EXPECT_THAT(ErrorOf("duration_ms: 100\nbuffers { size_kb 3 }\n"), StartsWith("c.pbtxt:2:19: "));
  EXPECT_EQ(
      ErrorOf("buffers {\n\tfill_policy: RING_BUFER }"),
      "c.pbtxt:2:15: field 'fill_policy' has no value 'RING_BUFER'; did you mean RING_BUFFER?");
  EXPECT_THAT(ErrorOf("duration_ms: ten"), StartsWith("c.pbtxt:1:14: "));
  EXPECT_THAT(ErrorOf("buffers {\n  size_kb: 3\n"), StartsWith("c.pbtxt:3:1: "));
  EXPECT_THAT(ErrorOf("duration_ms: 99999999999"), StartsWith("c.pbtxt:1:14: "));
  EXPECT_THAT(ErrorOf("duration_ms: 1 duration_ms: 2"), StartsWith("c.pbtxt:1:"));
  EXPECT_THAT(ErrorOf("data_sources { config { name: \"linux.ftr\n } }"), StartsWith("c.pbtxt:1:"));
}

TEST(ConfigPbtxt, HostileTexts) {
  EXPECT_THAT(ErrorOf(std::string_view("\n\x05\0\x12", 4)), HasSubstr("binary"));
  EXPECT_THAT(ErrorOf("x " + std::string(100'000, '{')),
              HasSubstr("c.pbtxt:1:67: nested too deep"));
  EXPECT_THAT(ErrorOf("x: " + std::string(100'000, '[')), HasSubstr("nested too deep"));
  EXPECT_THAT(ErrorOf("\x1b[2J: 3"), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(Warnings("data_sources { config { name: \"\\033[2J\" } }"),
              ElementsAre(HasSubstr("'\\x1b[2J'")));
}

TEST(ConfigPbtxt, AFieldOfPerfettoIsToldFromAMistake) {
  EXPECT_THAT(
      Warnings("data_sources {}\nflush_period_ms: 30000\n"),
      ElementsAre(HasSubstr("c.pbtxt:1:1: "),
                  "c.pbtxt:2:1: field 'flush_period_ms' is understood by Perfetto, not by culprit; "
                  "all events reach the file when it is written"));
  EXPECT_THAT(
      Warnings(
          "data_sources { config {\n name: \"linux.ftrace\"\n ftrace_config {\n   ftrace_event: "
          "\"sched/*\" } } }"),
      ElementsAre(
          "c.pbtxt:4:4: FtraceConfig has no field 'ftrace_event'; did you mean ftrace_events?"));
  EXPECT_THAT(
      Warnings("data_sources { config { name: \"linux.ftrace\" ftrace_config {\n"
               " print_filter { rules { prefix: \"a\" allow: true } } } } }"),
      ElementsAre(StartsWith("c.pbtxt:2:2: field 'print_filter' is understood by Perfetto")));
}

TEST(ConfigPbtxt, ADataSourceThatIsLackedIsNamed) {
  EXPECT_THAT(
      Warnings("data_sources { config {\n name: \"android.log\"\n android_log_config { min_prio: 3 "
               "} } }"),
      ElementsAre(
          "c.pbtxt:2:2: culprit has no data source 'android.log': nothing is recorded for it"));
  EXPECT_THAT(
      Warnings("data_sources { config {\n android_log_config { }\n name: \"linux.ftrace\" } }\n"
               "data_sources { config { java_hprof_config { } name: \"android.java_hprof\" } }"),
      ElementsAre(HasSubstr("c.pbtxt:2:2: field 'android_log_config' is understood by Perfetto"),
                  HasSubstr("c.pbtxt:4:47: culprit has no data source 'android.java_hprof'")));
  EXPECT_THAT(Warnings("data_sources { config { name: \"linux.ftrase\" } }"),
              ElementsAre(HasSubstr(
                  "'linux.ftrase': nothing is recorded for it; did you mean linux.ftrace?")));
  EXPECT_THAT(Warnings("duration_ms: 1"),
              ElementsAre("c.pbtxt: there is no data source: nothing is recorded"));
}

TEST(ConfigPbtxt, WhatHasNoEffectIsSaid) {
  EXPECT_THAT(
      Warnings("data_sources { config { name: \"linux.sys_stats\" target_buffer: 2\n"
               " ftrace_config { }\n"
               " sys_stats_config { psi_period_ms: 1 meminfo_counters: MEMINFO_DIRTY } } }"),
      ElementsAre(HasSubstr("c.pbtxt:1:49: there is no buffer 2"),
                  HasSubstr("c.pbtxt:2:2: ftrace_config belongs to data source linux.ftrace"),
                  HasSubstr("c.pbtxt:3:21: the least period is 10 ms"),
                  HasSubstr("c.pbtxt:3:38: meminfo_counters without meminfo_period_ms")));
  EXPECT_THAT(
      Warnings(
          "buffers { fill_policy: RING_BUFFER } data_sources { config { name: \"linux.ftrace\" "
          "ftrace_config { atrace_categories: \"gfx\" } } }\n"
          "builtin_data_sources { primary_trace_clock: BUILTIN_CLOCK_REALTIME }"),
      ElementsAre(HasSubstr("atrace categories that have nothing on Linux, so nothing is recorded "
                            "for them: 'gfx'"),
                  HasSubstr("c.pbtxt:2:24: the kernel cannot trace on this clock")));
}

TEST(ConfigPbtxt, PollsAreNoFasterThanTheLeastPeriod) {
  const auto parsed = Parse(
      "data_sources { config { name: \"linux.sys_stats\" sys_stats_config { psi_period_ms: 1 } } "
      "}");
  EXPECT_EQ(parsed.config.poll.psi, Milliseconds(10));
}

// docs/config.md names every field that is followed.
TEST(ConfigPbtxt, EveryFieldIsDocumented) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  if (source == nullptr) GTEST_SKIP() << "CULPRIT_SOURCE_DIR is not set: run by ctest";
  const auto page = ReadFile(std::string(source) + "/docs/config.md");
  ASSERT_TRUE(page.ok()) << page.error().ToString();
  const auto proto = ReadFile(std::string(source) + "/src/capture/trace_config.proto");
  ASSERT_TRUE(proto.ok()) << proto.error().ToString();
  int fields = 0;
  for (const auto line : SplitLines(*proto)) {
    const auto words = SplitWords(line);
    if (words.size() < 4 || (words[0] != "optional" && words[0] != "repeated")) continue;
    EXPECT_THAT(*page, HasSubstr(words[2]));
    ++fields;
  }
  EXPECT_GT(fields, 30);
}

}  // namespace
}  // namespace culprit::capture
