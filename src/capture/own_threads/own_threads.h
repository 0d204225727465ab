// Records what one's own processes do without root: exact switches by perf events where the place
// grants them, samples of /proc otherwise (and beside them, for what switches do not tell). Writes
// the result as packets at the end; other threads of the machine stay unknown.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "capture/packet_spool.h"
#include "capture/record_config.h"

namespace culprit::capture {

// What this place allows of a recording, best first.
enum class RecordLevel : std::uint8_t {
  kMachine,      // tracefs: every thread, wakers, stacks, devices
  kSwitches,     // perf events: switches of own threads, exactly
  kProcSamples,  // /proc alone: states of own threads by samples
};

class OwnThreads {
 public:
  // Begins with these processes; `pids` may be empty, Watch adds more.
  static Result<std::unique_ptr<OwnThreads>> Start(TraceClock clock,
                                                   const std::vector<std::int32_t>& pids);
  ~OwnThreads();

  // A process with all its threads, and all that it makes from now on.
  Status Watch(std::int32_t pid);
  // What is exact and what is sampled, and why: lines for a person.
  const std::vector<std::string>& notes() const;
  // Ends it and writes what every thread did.
  void Finish(PacketSpool& packets);

 private:
  class Recorder;
  explicit OwnThreads(std::unique_ptr<Recorder> recorder);
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace culprit::capture
