#include "health/taskstats.h"

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text.h"
#include "health/texts.h"
#include "kernel/proc_scan.h"

namespace culprit::health {
namespace {

using Attributes = std::string_view;

std::size_t Aligned(std::size_t size) {
  return (size + NLA_ALIGNTO - 1) & ~std::size_t{NLA_ALIGNTO - 1};
}

// The payload of the first attribute of that type; empty when there is none.
std::string_view FindAttribute(Attributes bytes, std::uint16_t type) {
  while (bytes.size() >= sizeof(nlattr)) {
    nlattr head{};
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > bytes.size()) return {};
    if ((head.nla_type & NLA_TYPE_MASK) == type)
      return bytes.substr(sizeof head, head.nla_len - sizeof head);
    bytes.remove_prefix(std::min(bytes.size(), Aligned(head.nla_len)));
  }
  return {};
}

// A socket of generic netlink: one question, one answer.
class Netlink {
 public:
  Netlink() : fd_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC)) {
    const timeval patience{1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  bool valid() const { return fd_.valid(); }

  // The attributes of the answer; an errno instead when there is none.
  std::string_view Ask(std::uint16_t family, std::uint8_t command, std::uint16_t type,
                       std::string_view payload, int& error) {
    std::array<char, 256> request{};
    const std::size_t attribute = sizeof(nlattr) + payload.size();
    nlmsghdr head{};
    head.nlmsg_len =
        static_cast<std::uint32_t>(sizeof(nlmsghdr) + sizeof(genlmsghdr) + Aligned(attribute));
    head.nlmsg_type = family;
    head.nlmsg_flags = NLM_F_REQUEST;
    head.nlmsg_seq = ++sequence_;
    const genlmsghdr generic{command, 1, 0};
    const nlattr attribute_head{static_cast<std::uint16_t>(attribute), type};
    if (head.nlmsg_len > request.size()) return {};
    std::memcpy(request.data(), &head, sizeof head);
    std::memcpy(request.data() + sizeof head, &generic, sizeof generic);
    std::memcpy(request.data() + sizeof head + sizeof generic, &attribute_head,
                sizeof attribute_head);
    std::memcpy(request.data() + sizeof head + sizeof generic + sizeof attribute_head,
                payload.data(), payload.size());
    error = 0;
    if (send(fd_.get(), request.data(), head.nlmsg_len, 0) < 0) {
      error = errno;
      return {};
    }
    for (;;) {
      const ssize_t got = recv(fd_.get(), answer_.data(), answer_.size(), 0);
      if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) {
        error = got < 0 ? errno : EPROTO;
        return {};
      }
      nlmsghdr reply{};
      std::memcpy(&reply, answer_.data(), sizeof reply);
      if (reply.nlmsg_seq != sequence_) continue;  // of a question that was given up
      const std::size_t size =
          std::min<std::size_t>(reply.nlmsg_len, static_cast<std::size_t>(got));
      if (reply.nlmsg_type == NLMSG_ERROR) {
        nlmsgerr failure{};
        if (size >= sizeof reply + sizeof failure.error)
          std::memcpy(&failure.error, answer_.data() + sizeof reply, sizeof failure.error);
        error = failure.error == 0 ? EPROTO : -failure.error;
        return {};
      }
      constexpr std::size_t kHeads = sizeof(nlmsghdr) + sizeof(genlmsghdr);
      if (size < kHeads) return {};
      return {answer_.data() + kHeads, size - kHeads};
    }
  }

 private:
  UniqueFd fd_;
  std::uint32_t sequence_ = 0;
  std::array<char, 8192> answer_{};
};

}  // namespace

void ProbeDelays(ProbeOutput& output) {
  output.Begin("taskstats");
  Netlink netlink;
  int error = 0;
  const std::string_view name(TASKSTATS_GENL_NAME, sizeof(TASKSTATS_GENL_NAME));
  const auto answer =
      netlink.Ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, name, error);
  const auto family_bytes = FindAttribute(answer, CTRL_ATTR_FAMILY_ID);
  if (family_bytes.size() < sizeof(std::uint16_t)) {
    output.Put("@delays", "this kernel has no taskstats");
    return;
  }
  const auto family = ByteReader(family_bytes).Read<std::uint16_t>();
  for (const std::string& entry : ListFolder("/proc")) {
    const auto pid = ParseInteger<std::uint32_t>(entry);
    if (!pid) continue;
    std::string payload(sizeof(std::uint32_t), '\0');
    std::memcpy(payload.data(), &*pid, sizeof *pid);
    const auto reply =
        netlink.Ask(family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_TGID, payload, error);
    if (error == EPERM || error == EACCES) {
      output.Put("@delays", "taskstats: " + std::generic_category().message(error), error);
      return;
    }
    const auto stats_bytes =
        FindAttribute(FindAttribute(reply, TASKSTATS_TYPE_AGGR_TGID), TASKSTATS_TYPE_STATS);
    // The struct only ever grows at its end; what an old kernel does not have stays 0.
    if (stats_bytes.size() < offsetof(taskstats, freepages_delay_total)) continue;
    taskstats stats{};
    std::memcpy(&stats, stats_bytes.data(), std::min(sizeof stats, stats_bytes.size()));
    const auto line = [](std::string_view key, std::uint64_t value) {
      return std::string(key) + " " + std::to_string(value) + "\n";
    };
    output.Put("@delays/" + entry, line("cpu", stats.cpu_delay_total) +
                                       line("block_io", stats.blkio_delay_total) +
                                       line("swap_in", stats.swapin_delay_total) +
                                       line("reclaim", stats.freepages_delay_total) +
                                       line("thrashing", stats.thrashing_delay_total));
  }
}

TaskDelays ParseDelays(std::string_view text) {
  std::vector<kernel::NamedValue> values;
  kernel::ParseNamedValues(text, values);
  const auto of = [&](std::string_view name) {
    return kernel::FindValue(values, name).value_or(0);
  };
  return {of("cpu"), of("block_io"), of("swap_in"), of("reclaim"), of("thrashing")};
}

}  // namespace culprit::health
