// load_times FILE [ROUNDS]: loads a trace (make_sched_trace writes a large one) into an in-memory
// database and prints events a second, from the file to the finished tables.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "load/load.h"
#include "tables/database.h"
#include "tables/schema.h"

namespace {

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

culprit::Status Run(const std::string& path, int rounds) {
  using namespace culprit;
  for (int round = 0; round < rounds; ++round) {
    CULPRIT_ASSIGN(auto database, tables::Database::OpenInMemory());
    CULPRIT_ASSIGN(auto connection, database.Connect());
    CULPRIT_TRY(tables::CreateSchema(connection));
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    const auto start = std::chrono::steady_clock::now();
    CULPRIT_ASSIGN(const auto summary, load::LoadTrace(path, database));
    const double seconds = Seconds(start);
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    const auto cpu_s = [](const rusage& usage) {
      return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    };
    CULPRIT_ASSIGN(const auto rows,
                   connection.QueryInteger("SELECT (SELECT count(*) FROM sched) + (SELECT count(*) "
                                           "FROM thread_state)"));
    std::printf("%.0f sched events/s: %llu in %.3f s, %.2f s of CPU, %lld rows, peak %ld MiB\n",
                static_cast<double>(summary.sched_events) / seconds,
                static_cast<unsigned long long>(summary.sched_events), seconds,
                cpu_s(after) - cpu_s(before), static_cast<long long>(rows), after.ru_maxrss / 1024);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: load_times FILE [ROUNDS]\n", stderr);
    return 2;
  }
  const auto status = Run(argv[1], argc > 2 ? std::atoi(argv[2]) : 1);
  if (!status.ok()) {
    std::fprintf(stderr, "load_times: %s\n", status.error().ToString().c_str());
    return 1;
  }
  return 0;
}
