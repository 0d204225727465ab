// PacketWalker: the packets of a Trace one after the other, through damage: a file that is cut ends
// the walk, bytes that make no sense are skipped up to the next place that does, and counted.
// Looks no deeper than the framing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace culprit::tracefile {

class PacketWalker {
 public:
  explicit PacketWalker(std::string_view trace) : trace_(trace) {}

  // The next whole packet; false at the end. packet() lies in the trace.
  bool Next();
  std::string_view packet() const { return packet_; }
  std::size_t position() const { return position_; }

  bool is_cut() const { return is_cut_; }  // the last packet is not whole
  std::uint64_t skipped_bytes() const { return skipped_bytes_; }
  std::uint64_t unknown_fields() const { return unknown_fields_; }  // of Trace itself

 private:
  bool Resync();

  std::string_view trace_;
  std::string_view packet_;
  std::size_t position_ = 0;
  std::uint64_t skipped_bytes_ = 0;
  std::uint64_t unknown_fields_ = 0;
  bool is_cut_ = false;
};

// Whether `bytes` parse to their end as a TracePacket: every field that is known has its wire type,
// and one that every packet carries is there.
bool LooksLikePacket(std::string_view bytes);

}  // namespace culprit::tracefile
