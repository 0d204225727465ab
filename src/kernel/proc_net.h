// Network counters as text gives them: /proc/net/dev, softnet_stat, snmp and netstat.
// Nothing here asks the kernel through sockets.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace culprit::kernel {

// One interface of /proc/net/dev; the columns of that file, in its words.
struct NetDevStat {
  std::string_view name;
  struct Receive {
    std::uint64_t bytes = 0, packets = 0, errors = 0, drops = 0;
    std::uint64_t fifo = 0, frame = 0, compressed = 0, multicast = 0;
  } rx;
  struct Transmit {
    std::uint64_t bytes = 0, packets = 0, errors = 0, drops = 0;
    std::uint64_t fifo = 0, collisions = 0, carrier = 0, compressed = 0;
  } tx;
};
bool ParseNetDev(std::string_view text, std::vector<NetDevStat>& interfaces);

// A CPU of /proc/net/softnet_stat. Old kernels have nine columns and no CPU number: then the line
// number stands for it.
struct SoftnetStat {
  std::uint32_t cpu = 0;
  std::uint64_t processed = 0;
  std::uint64_t dropped = 0;   // the backlog was full
  std::uint64_t squeezed = 0;  // the budget or the time was used up
};
bool ParseSoftnet(std::string_view text, std::vector<SoftnetStat>& cpus);

// /proc/net/snmp and netstat: pairs of lines "Tcp: Name Name" / "Tcp: 1 2". Negative values
// (MaxConn is -1) are left out.
struct ProtocolValue {
  std::string_view protocol;  // "Tcp", "TcpExt"
  std::string_view name;
  std::uint64_t value = 0;
};
void ParseProtocolValues(std::string_view text, std::vector<ProtocolValue>& values);
std::optional<std::uint64_t> FindProtocolValue(const std::vector<ProtocolValue>& values,
                                               std::string_view protocol, std::string_view name);

}  // namespace culprit::kernel
