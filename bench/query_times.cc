// query_times DATABASE RUNS FILE.sql...: opens a database of `culprit load` as the program does,
// runs each query RUNS times and prints "open MS CPU_MS", then "FILE MS CPU_MS" with the medians of
// wall and CPU time.
#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/file.h"
#include "query/session.h"

namespace {

using Clock = std::chrono::steady_clock;

// Milliseconds since its making, on the wall clock and of CPU time of all threads.
class Timer {
 public:
  double Wall() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
  }
  double Cpu() const { return CpuNow() - cpu_begin_; }

 private:
  static double CpuNow() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
  }
  Clock::time_point begin_ = Clock::now();
  double cpu_begin_ = CpuNow();
};

double Median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int Fail(const culprit::Error& error) {
  fmt::print(stderr, "query_times: {}\n", error.ToString());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: query_times DATABASE RUNS FILE.sql...\n");
    return 2;
  }
  const Timer opening;
  auto session = culprit::query::Session::Open(argv[1]);
  if (!session.ok()) return Fail(session.error());
  fmt::print("open {:.2f} {:.2f}\n", opening.Wall(), opening.Cpu());
  for (int i = 3; i < argc; ++i) {
    const auto sql = culprit::ReadFile(argv[i]);
    if (!sql.ok()) return Fail(sql.error());
    std::vector<double> wall, cpu;
    for (int run = 0; run < std::max(1, std::atoi(argv[2])); ++run) {
      const Timer timer;
      const auto result = session->Run(*sql);
      if (!result.ok()) return Fail(result.error());
      wall.push_back(timer.Wall());
      cpu.push_back(timer.Cpu());
    }
    fmt::print("{} {:.2f} {:.2f}\n", argv[i], Median(wall), Median(cpu));
  }
  return 0;
}
