// ping_pong ROUND_TRIPS: two threads pinned to one CPU pass a byte to and fro through pipes, so
// that each round trip is two switches and two wakings. Prints the nanoseconds that all of them
// took.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

void Pass(int from, int to, long count) {
  char byte = 0;
  for (long i = 0; i < count; ++i) {
    if (read(from, &byte, 1) != 1 || write(to, &byte, 1) != 1) std::exit(1);
  }
}

long long CpuTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  const long round_trips = argc > 1 ? std::atol(argv[1]) : 100'000;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  // The last CPU that is allowed: the first takes most interrupts.
  int cpu = CPU_SETSIZE - 1;
  while (cpu > 0 && !CPU_ISSET(cpu, &allowed)) --cpu;
  CPU_ZERO(&allowed);
  CPU_SET(cpu, &allowed);
  if (sched_setaffinity(0, sizeof allowed, &allowed) != 0) return 1;

  std::array<int, 2> there{}, back{};
  if (pipe(there.data()) != 0 || pipe(back.data()) != 0) return 1;
  std::thread other([&] { Pass(there[0], back[1], round_trips); });
  const long long cpu_begin = CpuTime();
  const auto begin = std::chrono::steady_clock::now();
  char byte = 'x';
  if (write(there[1], &byte, 1) != 1) return 1;
  Pass(back[0], there[1], round_trips - 1);
  if (read(back[0], &byte, 1) != 1) return 1;
  const auto took = std::chrono::steady_clock::now() - begin;
  const long long cpu_took = CpuTime() - cpu_begin;
  other.join();
  std::printf("%lld %lld\n", static_cast<long long>(std::chrono::nanoseconds(took).count()),
              cpu_took);
  return 0;
}
