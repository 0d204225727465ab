// make_trace EVENTS CPUS FILE [THREADS]: writes a trace of a made-up machine, the same bytes for
// the same numbers, and prints how long the way from ring pages to the finished file took, in time
// and in CPU time.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string_view>

#include "base/text.h"
#include "capture/encode.h"
#include "synthetic/synthetic_spool.h"

namespace {

int Fail(const culprit::Error& error) {
  std::fprintf(stderr, "make_trace: %s\n", error.ToString().c_str());
  return 1;
}

double CpuSeconds() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace culprit;
  const auto events = argc > 3 ? ParseInteger<std::uint64_t>(argv[1]) : std::nullopt;
  const auto cpus = argc > 3 ? ParseInteger<int>(argv[2]) : std::nullopt;
  const auto threads = argc > 4 ? ParseInteger<unsigned>(argv[4]) : 2U;
  if (!events || !cpus || *cpus < 1 || !threads) {
    std::fprintf(stderr, "usage: make_trace EVENTS CPUS FILE [THREADS]\n");
    return 2;
  }
  const auto spool = synthetic::MakeSpool({.events = *events, .cpus = *cpus});
  if (!spool.ok()) return Fail(spool.error());
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin_s = CpuSeconds();
  auto writer = tracefile::TraceWriter::Create(argv[3]);
  if (!writer.ok()) return Fail(writer.error());
  capture::EncodeOptions options;
  options.threads = *threads;
  options.low_priority = false;
  const auto summary = capture::EncodeFtrace(spool.value(), writer.value(), options);
  if (!summary.ok()) return Fail(summary.error());
  const auto bytes = writer->Commit();
  if (!bytes.ok()) return Fail(bytes.error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "{\"events\": %llu, \"bytes\": %llu, \"encode_s\": %.4f, \"encode_cpu_s\": %.4f, "
      "\"events_per_s\": %.0f}\n",
      static_cast<unsigned long long>(summary->total_events),
      static_cast<unsigned long long>(bytes.value()), took.count(), CpuSeconds() - cpu_begin_s,
      static_cast<double>(summary->total_events) / took.count());
  return 0;
}
