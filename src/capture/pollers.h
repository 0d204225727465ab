// The thread that reads the machine's counters at their periods and writes them as packets. What is
// read is in sys_stats.h and counter_tracks.h.
#pragma once

#include <memory>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/result.h"
#include "capture/counter_tracks.h"
#include "capture/packet_spool.h"
#include "capture/record_config.h"
#include "capture/sys_stats.h"

namespace culprit::capture {

class Pollers {
 public:
  // Reads everything once, then starts the thread; no thread when nothing is asked for.
  static Result<std::unique_ptr<Pollers>> Start(const RecordConfig& config, PacketSpool& spool,
                                                const std::string& root = "/");
  ~Pollers() { Stop(); }

  // A new file begins: everything is written again, to `spool` from now on.
  void SwitchTo(PacketSpool& spool);
  // Reads everything a last time and ends the thread.
  void Stop();

 private:
  Pollers(const RecordConfig& config, PacketSpool& spool, const std::string& root);
  void Run();
  // Reads the sources that are due and says when the next one is. With `all`, every one.
  std::int64_t Poll(bool all);
  void WriteSysStats(std::uint64_t begin_ns, std::string body);

  RecordConfig config_;
  SysStatsReader sys_stats_;
  CounterTracks tracks_;
  std::unique_ptr<NetDevReader> net_;
  std::unique_ptr<CgroupReader> cgroups_;
  std::vector<std::int64_t> next_ns_;  // beside the table of sources

  std::mutex mutex_;  // all of the above and spool_
  PacketSpool* spool_;
  UniqueFd stop_;  // eventfd
  std::thread thread_;
};

}  // namespace culprit::capture
