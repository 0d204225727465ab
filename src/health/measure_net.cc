// Network: interfaces, rings, pause frames, the kernel's queues, TCP; RDMA ports.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "health/measures.h"

namespace culprit::health {
namespace {

std::string_view SysNet(const Moment& moment, std::string_view name, std::string_view file) {
  return moment.texts.Get("/sys/class/net/" + std::string(name) + "/" + std::string(file));
}

std::optional<double> SysNetDelta(const Context& context, std::string_view name,
                                  std::string_view file) {
  return Delta(kernel::ParseSingle(SysNet(context.before, name, file)),
               kernel::ParseSingle(SysNet(context.after, name, file)));
}

struct Pair {
  const kernel::NetDevStat* before;
  const kernel::NetDevStat* after;
};

// Interfaces of both samples whose counters did not fall (a driver that was loaded anew starts at
// 0). `left_out` gets the names of the others.
std::vector<Pair> Interfaces(const Context& context, Readings& out,
                             std::string* left_out = nullptr) {
  std::vector<Pair> pairs;
  if (!context.NeedFile(out, "/proc/net/dev") || !context.NeedTwo(out)) return pairs;
  for (const auto& now : context.after.interfaces) {
    if (now.name == "lo") continue;
    const auto old =
        std::ranges::find(context.before.interfaces, now.name, &kernel::NetDevStat::name);
    const bool grown = old != context.before.interfaces.end() && now.rx.bytes >= old->rx.bytes &&
                       now.rx.packets >= old->rx.packets && now.tx.bytes >= old->tx.bytes &&
                       now.tx.packets >= old->tx.packets;
    if (grown) {
      pairs.push_back({&*old, &now});
    } else if (left_out != nullptr && left_out->size() < 200) {
      *left_out += (left_out->empty() ? "" : ", ") + std::string(now.name);
    }
  }
  if (pairs.empty()) out.NotApplicable("no interface beside lo that is in both samples");
  return pairs;
}

double ProtocolDelta(const Context& context, std::string_view protocol, std::string_view name) {
  return Delta(kernel::FindProtocolValue(context.before.protocols, protocol, name),
               kernel::FindProtocolValue(context.after.protocols, protocol, name))
      .value_or(0);
}

bool NeedProtocol(const Context& context, Readings& out, std::string_view path,
                  std::string_view protocol, std::string_view name) {
  if (!context.NeedFile(out, path) || !context.NeedTwo(out)) return false;
  if (kernel::FindProtocolValue(context.after.protocols, protocol, name)) return true;
  out.NotApplicable(fmt::format("this kernel does not count {}", name));
  return false;
}

}  // namespace

void MeasureNicUtil(const Context& context, Readings& out) {
  for (const auto& [before, after] : Interfaces(context, out)) {
    // -1 and a failing read mean that the driver does not know (virtual ones do not).
    const auto mbit = kernel::ParseSingle(SysNet(context.after, after->name, "speed"));
    if (!mbit || *mbit == 0 || *mbit > 10'000'000) continue;
    const double rx = 8 * static_cast<double>(after->rx.bytes - before->rx.bytes) / context.seconds;
    const double tx = 8 * static_cast<double>(after->tx.bytes - before->tx.bytes) / context.seconds;
    Reading& reading = out.Value(std::string(after->name),
                                 100 * std::max(rx, tx) / (static_cast<double>(*mbit) * 1e6));
    reading.evidence.push_back(fmt::format("receives {:.2f} Gbit/s, sends {:.2f} Gbit/s of {:.1f}",
                                           rx / 1e9, tx / 1e9, static_cast<double>(*mbit) / 1000));
  }
  if (out.rows().empty()) out.NotApplicable("no interface that is in both samples says its speed");
}

void MeasureDrops(const Context& context, Readings& out) {
  std::string left_out;
  for (const auto& [before, after] : Interfaces(context, out, &left_out)) {
    const auto rx_packets = static_cast<double>(after->rx.packets - before->rx.packets);
    const auto tx_packets = static_cast<double>(after->tx.packets - before->tx.packets);
    const double rx = Delta(before->rx.drops, after->rx.drops).value_or(0);
    const double tx = Delta(before->tx.drops, after->tx.drops).value_or(0);
    const double missed =
        SysNetDelta(context, after->name, "statistics/rx_missed_errors").value_or(0);
    const auto share = [](double dropped, double passed) {
      return dropped + passed > 0 ? 100 * dropped / (dropped + passed) : 0;
    };
    const bool sending = share(tx, tx_packets) > share(rx, rx_packets);
    Reading& reading =
        out.Value(std::string(after->name), std::max(share(tx, tx_packets), share(rx, rx_packets)));
    reading.evidence.push_back(fmt::format("{}: {:.0f} dropped beside {:.0f} packets in {:.1f} s",
                                           sending ? "sending" : "receiving", sending ? tx : rx,
                                           sending ? tx_packets : rx_packets, context.seconds));
    if (missed > 0)
      reading.evidence.push_back(
          fmt::format("{:.0f} missed by the card (its ring was full)", missed));
    const double packets = sending ? tx_packets + tx : rx_packets + rx;
    if (packets <= 10'000) reading.worst = FindingStatus::kOk;
  }
  if (left_out.empty()) return;
  for (Reading& reading : out.rows())
    reading.evidence.push_back("not compared, new or counting from 0 again: " + left_out);
}

void MeasureNicErrors(const Context& context, Readings& out) {
  for (const auto& [before, after] : Interfaces(context, out)) {
    const double errors = Delta(before->rx.errors, after->rx.errors).value_or(0) +
                          Delta(before->tx.errors, after->tx.errors).value_or(0);
    const auto packets = static_cast<double>(after->rx.packets - before->rx.packets +
                                             after->tx.packets - before->tx.packets);
    const double crc = SysNetDelta(context, after->name, "statistics/rx_crc_errors").value_or(0);
    Reading& reading = out.Value(std::string(after->name),
                                 errors + packets > 0 ? 100 * errors / (errors + packets) : 0);
    reading.evidence.push_back(
        fmt::format("{:.0f} errors ({:.0f} CRC) beside {:.0f} packets", errors, crc, packets));
    if (errors + packets < 100) reading.worst = FindingStatus::kOk;
  }
}

void MeasureRing(const Context& context, Readings& out) {
  for (const auto& [before, after] : Interfaces(context, out)) {
    const double fifo = Delta(before->rx.fifo, after->rx.fifo).value_or(0);
    const double missed =
        SysNetDelta(context, after->name, "statistics/rx_missed_errors").value_or(0);
    Reading& reading = out.Value(std::string(after->name), fifo + missed);
    // "RX-MAX RX" by ethtool
    kernel::WordCursor words(context.after.texts.Get("@ring/" + std::string(after->name)));
    const auto most = words.Number();
    const auto now = words.Number();
    if (!most || !now) continue;
    reading.evidence.push_back(fmt::format("receive ring {} of {}", *now, *most));
    if (fifo + missed > 0 && *now < *most) {
      reading.advice = fmt::format("ethtool -G {} rx {}", after->name, *most);
    }
  }
}

void MeasureSoftnet(const Context& context, Readings& out) {
  constexpr std::string_view kPath = "/proc/net/softnet_stat";
  if (!context.NeedFile(out, kPath) || !context.NeedTwo(out)) return;
  std::vector<kernel::SoftnetStat> before, after;
  kernel::ParseSoftnet(context.before.texts.Get(kPath), before);
  if (!kernel::ParseSoftnet(context.after.texts.Get(kPath), after)) {
    out.Unknown("/proc/net/softnet_stat cannot be understood");
    return;
  }
  double dropped = 0, squeezed = 0;
  std::pair<double, std::uint32_t> worst{-1, 0};
  for (const auto& now : after) {
    const auto old = std::ranges::find(before, now.cpu, &kernel::SoftnetStat::cpu);
    if (old == before.end()) continue;
    const double delta = Delta(old->dropped, now.dropped).value_or(0);
    dropped += delta;
    squeezed += Delta(old->squeezed, now.squeezed).value_or(0);
    worst = std::max(worst, {delta, now.cpu});
  }
  Reading& reading = out.Value("", dropped / context.seconds);
  reading.evidence.push_back(
      fmt::format("{:.0f} dropped/s, {:.0f} times/s the budget was used up (normal under load)",
                  dropped / context.seconds, squeezed / context.seconds));
  if (worst.first > 0) reading.evidence.push_back(fmt::format("most on CPU {}", worst.second));
}

void MeasureRetransmits(const Context& context, Readings& out) {
  if (!NeedProtocol(context, out, "/proc/net/snmp", "Tcp", "RetransSegs")) return;
  const double sent = ProtocolDelta(context, "Tcp", "OutSegs");
  const double again = ProtocolDelta(context, "Tcp", "RetransSegs");
  Reading& reading = out.Value("", sent > 0 ? 100 * again / sent : 0);
  reading.evidence.push_back(fmt::format("{:.0f} of {:.0f} segments sent again", again, sent));
  if (sent < 1000) reading.worst = FindingStatus::kOk;
}

void MeasureListen(const Context& context, Readings& out) {
  if (!NeedProtocol(context, out, "/proc/net/netstat", "TcpExt", "ListenOverflows")) return;
  const double overflows = ProtocolDelta(context, "TcpExt", "ListenOverflows") / context.seconds;
  const double drops = ProtocolDelta(context, "TcpExt", "ListenDrops") / context.seconds;
  Reading& reading = out.Value("", std::max(overflows, drops));
  reading.evidence.push_back(fmt::format("{:.1f} overflows/s, {:.1f} drops/s", overflows, drops));
  if (std::max(overflows, drops) <= 1) return;
  // The kernel does not count by socket; the queue of a full one shows it (ss -lt: Recv-Q over
  // Send-Q).
  reading.advice =
      "ss -lnt | awk '$2 > $3': the server that accepts too slowly; then its backlog and "
      "net.core.somaxconn";
}

void MeasureFlaps(const Context& context, Readings& out) {
  if (!context.NeedTwo(out)) return;
  context.after.texts.Under("/sys/class/net/", [&](auto path, auto text) {
    if (!path.ends_with("/carrier_changes")) return;
    const std::string name(path.substr(15, path.find('/', 15) - 15));
    const auto delta =
        Delta(kernel::ParseSingle(context.before.texts.Get(path)), kernel::ParseSingle(text));
    if (name == "lo" || !delta) return;
    Reading& reading = out.Value(name, *delta);
    const std::string state{TrimBlanks(SysNet(context.after, name, "operstate"))};
    reading.evidence.push_back(
        fmt::format("{} changes since boot, now {}", TrimBlanks(text), state));
    const bool was_up = context.baseline != nullptr &&
                        context.baseline->contains("net." + name + ".operstate") &&
                        context.baseline->at("net." + name + ".operstate") == "up";
    const double down_s =
        context.HeldFor("net.flaps " + name, state == "down" && (was_up || *delta > 0));
    if (was_up && state != "up") {
      reading.status = FindingStatus::kCritical;
      reading.summary = fmt::format("{} is {}; the saved baseline has it up", name, state);
    } else if (down_s >= 30) {
      reading.status = FindingStatus::kCritical;
      reading.summary = fmt::format("{} lost its link {:.0f} s ago", name, down_s);
    }
  });
  if (out.rows().empty()) out.NotApplicable("no interface counts carrier changes");
}

void MeasurePause(const Context& context, Readings& out) {
  if (!context.NeedTwo(out)) return;
  context.after.texts.Under("@ethstats/", [&](auto path, auto text) {
    const std::string name(path.substr(10));
    std::vector<kernel::NamedValue> before, after;
    kernel::ParseNamedValues(context.before.texts.Get(path), before);
    kernel::ParseNamedValues(text, after);
    double longest_us = 0, frames = 0;
    std::string longest;
    for (const auto& value : after) {
      const double delta = Delta(kernel::FindValue(before, value.name), value.value).value_or(0);
      if (value.name.find("duration") != value.name.npos) {
        if (delta > longest_us) longest_us = delta, longest = value.name;
      } else {
        frames += delta;
      }
    }
    Reading& reading = out.Value(name, 100 * longest_us / 1e6 / context.seconds);
    reading.evidence.push_back(fmt::format("{:.0f} pause frames/s{}", frames / context.seconds,
                                           longest.empty() ? "" : ", longest " + longest));
  });
  if (out.rows().empty()) out.NotApplicable("no interface counts pause frames (ethtool -S)");
}

namespace {

// "mlx5_0 port 1" of "/sys/class/infiniband/mlx5_0/ports/1/...".
std::string PortOf(std::string_view path) {
  const auto parts = Split(path.substr(22), '/');
  return parts.size() >= 3 ? fmt::format("{} port {}", parts[0], parts[2]) : std::string(path);
}

void RdmaDeltas(const Context& context, Readings& out, std::string_view folder,
                std::string_view alarm) {
  if (!context.NeedTwo(out)) return;
  std::map<std::string, std::map<std::string, double>> ports;
  context.after.texts.Under("/sys/class/infiniband/", [&](auto path, auto text) {
    if (path.find(folder) == path.npos) return;
    const auto delta =
        Delta(kernel::ParseSingle(context.before.texts.Get(path)), kernel::ParseSingle(text));
    ports[PortOf(path)][std::string(path.substr(path.rfind('/') + 1))] = delta.value_or(0);
  });
  for (const auto& [port, counters] : ports) {
    double bad = 0;
    std::string list;
    for (const auto& [name, delta] : counters) {
      if (delta > 0) list += fmt::format("{}{} {:.0f}", list.empty() ? "" : ", ", name, delta);
      if (alarm.find(name) != alarm.npos) bad += delta;
    }
    Reading& reading = out.Value(port, bad);
    if (!list.empty()) reading.evidence.push_back("in the sample: " + list);
  }
  if (out.rows().empty()) out.NotApplicable("no RDMA device");
}

}  // namespace

void MeasureRdmaPorts(const Context& context, Readings& out) {
  context.after.texts.Under("/sys/class/infiniband/", [&](auto path, auto text) {
    if (!path.ends_with("/state") || path.ends_with("/phys_state")) return;
    const std::string folder(path.substr(0, path.rfind('/')));
    const auto get = [&](std::string_view file) {
      return std::string(TrimBlanks(context.after.texts.Get(folder + std::string(file))));
    };
    const std::string state(TrimBlanks(text)), physical = get("/phys_state"), rate = get("/rate");
    Reading& reading = out.Value(PortOf(path), state.starts_with("4") ? 0 : 1);
    reading.worst = FindingStatus::kOk;
    reading.summary = fmt::format("{} is {}, {}, {}", PortOf(path), state, physical, rate);
    // A cabled port that got no further has no subnet manager; one that is down may be unused.
    if (physical.starts_with("5") && !state.starts_with("4")) {
      reading.worst = FindingStatus::kCritical;
      reading.status = FindingStatus::kWarning;
      reading.advice =
          "the cable is there but the port is not active: is a subnet manager running? (sminfo)";
    }
    if (context.baseline == nullptr) return;
    const auto parts = Split(path.substr(22), '/');
    for (const auto& [name, value] :
         {std::pair{"state", &state}, {"phys_state", &physical}, {"rate", &rate}}) {
      const auto saved =
          context.baseline->find(fmt::format("rdma.{}.{}.{}", parts[0], parts[2], name));
      if (saved == context.baseline->end() || saved->second == *value) continue;
      reading.worst = FindingStatus::kCritical;
      reading.status = FindingStatus::kCritical;
      reading.evidence.push_back(
          fmt::format("{} is {}, the baseline has {}", name, *value, saved->second));
    }
  });
  if (context.baseline != nullptr) {
    for (const auto& [key, value] : *context.baseline) {
      if (!key.starts_with("rdma.") || !key.ends_with(".state")) continue;
      const auto parts = Split(key, '.');
      if (parts.size() != 4) continue;
      const std::string path =
          fmt::format("/sys/class/infiniband/{}/ports/{}/state", parts[1], parts[2]);
      if (context.after.texts.Has(path)) continue;
      Reading& reading = out.Value(fmt::format("{} port {}", parts[1], parts[2]), 1);
      reading.status = FindingStatus::kCritical;
      reading.summary = fmt::format("{} port {} of the baseline is gone", parts[1], parts[2]);
    }
  }
  if (out.rows().empty()) out.NotApplicable("no RDMA device");
}

void MeasureRdmaErrors(const Context& context, Readings& out) {
  RdmaDeltas(context, out, "/counters/", "link_downed");
}

void MeasureRoce(const Context& context, Readings& out) {
  RdmaDeltas(context, out, "/hw_counters/", "local_ack_timeout_err");
}

}  // namespace culprit::health
