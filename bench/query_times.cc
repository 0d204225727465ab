// query_times DATABASE RUNS FILE.sql...: opens a database of `culprit load` as the program does,
// runs each query RUNS times and prints "open MS", then "FILE MS" with the median of each.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/file.h"
#include "query/session.h"

namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
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
  auto begin = Clock::now();
  auto session = culprit::query::Session::Open(argv[1]);
  if (!session.ok()) return Fail(session.error());
  fmt::print("open {:.2f}\n", MillisecondsSince(begin));
  for (int i = 3; i < argc; ++i) {
    const auto sql = culprit::ReadFile(argv[i]);
    if (!sql.ok()) return Fail(sql.error());
    std::vector<double> times;
    for (int run = 0; run < std::atoi(argv[2]); ++run) {
      begin = Clock::now();
      const auto result = session->Run(*sql);
      if (!result.ok()) return Fail(result.error());
      times.push_back(MillisecondsSince(begin));
    }
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    fmt::print("{} {:.2f}\n", argv[i], times[times.size() / 2]);
  }
  return 0;
}
