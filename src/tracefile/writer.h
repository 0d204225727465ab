// TraceWriter: the one owner of a trace file being made. It frames packets and keeps the file valid
// whatever happens (full disk, an abandoned recording); it knows nothing of what packets hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <protozero/pbf_writer.hpp>

#include "base/result.h"

namespace culprit::tracefile {

// trusted_packet_sequence_id of each of our writers. State that packets share (interned strings,
// stacks) belongs to one sequence, so every writer thread has its own.
namespace Sequence {
enum : std::uint32_t {
  kSession = 1,       // clocks, system info, config, ftrace stats, our own data
  kProcesses = 2,     // process tree and process stats
  kPollers = 3,       // sys stats
  kFtraceBase = 100,  // ftrace bundles of CPU n: kFtraceBase + n
};
}

// The fields that every packet carries beside its payload.
struct PacketHead {
  std::uint64_t timestamp_ns = 0;  // on BOOTTIME unless timestamp_clock_id says else; 0: none
  std::uint32_t sequence_id = Sequence::kSession;
  std::uint32_t sequence_flags = 0;      // SequenceFlags
  std::uint32_t timestamp_clock_id = 0;  // BuiltinClock; 0: left out, which means BOOTTIME
  std::int32_t trusted_uid = 0;
};
void WritePacketHead(protozero::pbf_writer& packet, const PacketHead& head);

// The frame of a packet inside the file: appends the tag and the length that go before `packet`.
void AppendFrame(std::string& out, std::string_view packet);

class TraceWriter {
 public:
  struct Options {
    // The user behind sudo owns the file (SUDO_UID, SUDO_GID).
    bool chown_to_sudo_user = true;
    // fdatasync before the rename: the file survives a power cut right after.
    bool sync = false;
    // No byte goes beyond this; the packet that would is refused. 0: no limit.
    std::uint64_t max_bytes = 0;
  };

  // Opens a file of mode 0600 in the folder of `path`, without a name where the file system can do
  // that (then a killed program leaves nothing), else under a temporary one; nothing appears at
  // `path` before Commit. A path that exists and is no regular file (a pipe, /dev/null) is written
  // directly.
  static Result<TraceWriter> Create(const std::string& path, Options options);
  static Result<TraceWriter> Create(const std::string& path) { return Create(path, Options{}); }

  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();  // removes a file that was not committed

  // Adds one serialised TracePacket. Thread-safe; packets of one thread keep their order. After the
  // first Error (a full disk) nothing more is taken and each call gives that Error.
  Status Append(std::string_view packet);

  // Adds packets that AppendFrame framed already, as one block.
  Status AppendFramed(std::string_view frames);

  // Writes what is buffered and renames the file to its path. After a failed write too: the file
  // then ends at the last whole packet that fitted. Returns its size in bytes; write_error() tells
  // whether it is all there.
  Result<std::uint64_t> Commit();

  std::optional<Error> write_error() const;
  // Bytes taken so far, buffered ones included.
  std::uint64_t size_bytes() const;
  const std::string& path() const;

 private:
  struct State;
  explicit TraceWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace culprit::tracefile
