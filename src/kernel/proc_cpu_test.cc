#include "kernel/proc_cpu.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/file.h"
#include "kernel/proc_scan.h"

namespace culprit::kernel {
namespace {

std::string Case(const std::string& path) {
  const char* source = std::getenv("CULPRIT_SOURCE_DIR");
  auto text = ReadFile(std::string(source == nullptr ? "." : source) + "/../shared/cases/" + path);
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : text.error().what);
  return text.ok() ? *text : std::string();
}

TEST(ProcCpu, ReadsTheSharedCaseOfCountersThatFall) {
  MachineStat stat;
  ASSERT_TRUE(ParseMachineStat(Case("small/37-cpu-counter-regress/t0/stat"), stat));
  ASSERT_TRUE(stat.all.has_value());
  EXPECT_EQ((*stat.all)[CpuColumn::kUser], 10000U);
  ASSERT_EQ(stat.cpus.size(), 2U);
  EXPECT_EQ(stat.cpus[0].ticks[CpuColumn::kIowait], 200U);
  EXPECT_EQ(stat.cpus[1].ticks[CpuColumn::kIdle], 90000U);
  EXPECT_EQ(stat.context_switches, 5000U);
  EXPECT_FALSE(stat.procs_running.has_value()) << "absent is not 0";
}

TEST(ProcCpu, OldKernelsHaveFewerColumnsAndOfflineCpusHaveNoLine) {
  MachineStat stat;
  ASSERT_TRUE(
      ParseMachineStat("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\ncpu2 1 2 3 4\n"
                       "cpu3 1 2\ncpuX 1 2 3 4\nintr 9 1 0 8\nsoftirq 10 1 2 3\n",
                       stat, true));
  EXPECT_FALSE(stat.all->has(CpuColumn::kSteal));
  EXPECT_TRUE(stat.all->has(CpuColumn::kSoftirq));
  ASSERT_EQ(stat.cpus.size(), 2U);
  EXPECT_EQ(stat.cpus[1].cpu, 2U);
  EXPECT_EQ(stat.interrupts, 9U);
  EXPECT_EQ(stat.interrupts_by_number, (std::vector<std::uint64_t>{1, 0, 8}));
  EXPECT_EQ(stat.softirqs_by_vector[2], 3U);
  ASSERT_FALSE(ParseMachineStat("", stat));
  EXPECT_TRUE(stat.cpus.empty());
}

TEST(ProcCpu, AThousandCpus) {
  std::string text = "cpu  1 2 3 4 5 6 7 8 9 10\n";
  for (int cpu = 0; cpu < 1024; ++cpu) {
    text += "cpu" + std::to_string(cpu) + " " + std::to_string(cpu) + " 2 3 4 5 6 7 8 9 10\n";
  }
  MachineStat stat;
  ASSERT_TRUE(ParseMachineStat(text, stat));
  ASSERT_EQ(stat.cpus.size(), 1024U);
  EXPECT_EQ(stat.cpus[1023].ticks[CpuColumn::kUser], 1023U);
}

TEST(ProcCpu, LoadAverage) {
  const auto load = ParseLoadAverage(Case("small/45-dstate-snapshot/proc/loadavg"));
  ASSERT_TRUE(load.has_value());
  EXPECT_DOUBLE_EQ(load->load_1min, 12.49);
  EXPECT_DOUBLE_EQ(load->load_15min, 12.29);
  EXPECT_EQ(load->runnable, 1U);
  EXPECT_EQ(load->tasks, 78U);
  for (const char* bad : {"", "1 2", "1 2 3 4", "a b c 1/2", "-1 2 3 1/2", "1 2 3 /"}) {
    EXPECT_FALSE(ParseLoadAverage(bad).has_value()) << bad;
  }
  EXPECT_DOUBLE_EQ(ParseUptime("7192.55 28000.10\n").value_or(0), 7192.55);
  EXPECT_FALSE(ParseUptime("").has_value());
}

TEST(ProcCpu, SchedStatTakesTimeRunAndWaited) {
  std::vector<CpuSchedStat> cpus;
  ASSERT_TRUE(
      ParseSchedStat("version 15\ntimestamp 1\ncpu0 1 0 2 3 4 5 600 700 8\n"
                     "domain0 3 1 2 3\ncpu1 1 0 2 3\n",
                     cpus));
  ASSERT_EQ(cpus.size(), 1U) << "a torn line is left out";
  EXPECT_EQ(cpus[0].run_ns, 600U);
  EXPECT_EQ(cpus[0].wait_ns, 700U);
  EXPECT_EQ(cpus[0].slices, 8U);
}

TEST(ProcCpu, Pressure) {
  Pressure pressure;
  ASSERT_TRUE(ParsePressure(Case("small/43-psi-unavailable/proc/pressure/cpu"), pressure));
  EXPECT_EQ(pressure.some->total_us, 0U);
  EXPECT_FALSE(pressure.full.has_value()) << "kernels before 5.13 have no full line for cpu";
  EXPECT_FALSE(ParsePressure("", pressure)) << "PSI off";
  ASSERT_TRUE(
      ParsePressure("some avg10=0.10 avg60=2.00 avg300=3.85 total=15\n"
                    "full avg10=0.20 avg60=3.00 avg300=4.95 total=25\n",
                    pressure));
  EXPECT_DOUBLE_EQ(pressure.full->avg60_pct, 3.0);
  EXPECT_EQ(pressure.full->total_us, 25U);
  EXPECT_FALSE(ParsePressure("some avg10=0.10 avg60=x avg300=3.85 total=15\n", pressure));
}

TEST(ProcCpu, Softirqs) {
  std::vector<SoftirqLine> lines;
  ASSERT_TRUE(ParseSoftirqs("          CPU0       CPU1\n   HI:  1  0\nNET_RX:  20  30\n", lines));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].name, "NET_RX");
  EXPECT_EQ(lines[1].by_cpu, (std::vector<std::uint64_t>{20, 30}));
}

TEST(ProcScan, NamedValues) {
  std::vector<NamedValue> values;
  ParseNamedValues(
      "MemTotal:  16 kB\nHugePages_Total:       3\npgfault 7\nmax max\n: 4\n"
      "huge 99999999999999999999\nwrap: 18446744073709551615 kB\nlow 0",
      values);
  EXPECT_EQ(FindValue(values, "MemTotal"), 16384U);
  EXPECT_EQ(FindValue(values, "HugePages_Total"), 3U);
  EXPECT_EQ(FindValue(values, "pgfault"), 7U);
  EXPECT_EQ(FindValue(values, "low"), 0U);
  for (const char* absent : {"max", "huge", "wrap", "Mem"}) {
    EXPECT_FALSE(FindValue(values, absent).has_value()) << absent;
  }
  EXPECT_EQ(ParseSingle(" 42\n"), 42U);
  for (const char* bad : {"", "max\n", "-1", "4 2"}) {
    EXPECT_FALSE(ParseSingle(bad).has_value()) << bad;
  }
}

TEST(ProcScan, CpuLists) {
  EXPECT_EQ(ParseCpuList("0-2,8,10-11\n"), (std::vector<std::uint32_t>{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(ParseCpuList("\n"), std::vector<std::uint32_t>{});
  for (const char* bad : {"a", "3-1", "0-4294967295", "1-", "-1", "1-2-3"}) {
    EXPECT_FALSE(ParseCpuList(bad).has_value()) << bad;
  }
  EXPECT_EQ(ParseCpuList("4294967295"), std::vector<std::uint32_t>{4294967295U});
}

}  // namespace
}  // namespace culprit::kernel
