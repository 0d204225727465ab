#include "health/device_probes.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/nvme_ioctl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/text.h"
#include "health/texts.h"

namespace culprit::health {
namespace {

bool Ask(int socket, const std::string& interface, void* command) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = static_cast<char*>(command);
  return ioctl(socket, SIOCETHTOOL, &request) == 0;
}

// Drivers name them rx_prio3_pause, tx_pause_ctrl_phy, rx_pause_duration, prio0_rx_pfc ...
bool IsPause(std::string_view name) {
  return name.find("pause") != name.npos || name.find("pfc") != name.npos;
}

std::string PauseCounters(int socket, const std::string& interface) {
  // The count of names follows the struct as its flexible member.
  std::vector<std::uint64_t> set_bytes(sizeof(ethtool_sset_info) / sizeof(std::uint64_t) + 1);
  auto* set = reinterpret_cast<ethtool_sset_info*>(set_bytes.data());
  set->cmd = ETHTOOL_GSSET_INFO;
  set->sset_mask = 1ULL << ETH_SS_STATS;
  if (!Ask(socket, interface, set) || set->sset_mask == 0) return "";
  const std::uint32_t count = std::min<std::uint32_t>(set->data[0], 16384);
  // The driver writes as many as it has now, whatever we ask for: room for one that grew meanwhile.
  const std::uint32_t room = count * 2 + 256;
  std::vector<char> names(sizeof(ethtool_gstrings) + std::size_t{room} * ETH_GSTRING_LEN);
  auto* strings = reinterpret_cast<ethtool_gstrings*>(names.data());
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = count;
  std::vector<std::uint64_t> values(1 + std::size_t{room});
  auto* stats = reinterpret_cast<ethtool_stats*>(values.data());
  stats->cmd = ETHTOOL_GSTATS;
  stats->n_stats = count;
  if (!Ask(socket, interface, strings) || !Ask(socket, interface, stats)) return "";
  std::string text;
  const std::uint32_t both = std::min({strings->len, stats->n_stats, room});
  for (std::uint32_t i = 0; i < both; ++i) {
    const char* name = names.data() + sizeof(ethtool_gstrings) + std::size_t{i} * ETH_GSTRING_LEN;
    const std::string_view known(name, strnlen(name, ETH_GSTRING_LEN));
    if (!IsPause(known)) continue;
    std::string word(known);
    std::ranges::replace(word, ' ', '_');
    text += word + " " + std::to_string(values[1 + i]) + "\n";
  }
  return text;
}

constexpr unsigned kGetLogPage = 0x02, kIdentify = 0x06;

bool Admin(int fd, unsigned opcode, std::uint32_t namespace_id, std::uint32_t dword10,
           std::vector<char>& data) {
  nvme_admin_cmd command{};
  command.opcode = static_cast<std::uint8_t>(opcode);
  command.nsid = namespace_id;
  command.addr = reinterpret_cast<std::uint64_t>(data.data());
  command.data_len = static_cast<std::uint32_t>(data.size());
  command.cdw10 = dword10;
  command.timeout_ms = 3000;
  return ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command) == 0;
}

}  // namespace

void ProbeEthtool(ProbeOutput& output) {
  const UniqueFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_fd.valid()) return;
  for (const std::string& name : ListFolder("/sys/class/net")) {
    if (name == "lo" || name.size() >= IFNAMSIZ) continue;
    output.Begin("ethtool " + name);
    ethtool_ringparam ring{};
    ring.cmd = ETHTOOL_GRINGPARAM;
    if (Ask(socket_fd.get(), name, &ring)) {
      output.Put("@ring/" + name,
                 std::to_string(ring.rx_max_pending) + " " + std::to_string(ring.rx_pending));
    }
    if (const std::string text = PauseCounters(socket_fd.get(), name); !text.empty()) {
      output.Put("@ethstats/" + name, text);
    }
  }
}

std::string NvmeHealthText(std::string_view log, std::string_view identify) {
  ByteReader reader(log);
  const auto warning = reader.Read<std::uint8_t>();
  const auto temperature_k = reader.Read<std::uint16_t>();
  const auto spare = reader.Read<std::uint8_t>();
  const auto spare_threshold = reader.Read<std::uint8_t>();
  const auto used = reader.Read<std::uint8_t>();
  // Bytes 160 to 175: media and data integrity errors, 128 bits, of which 64 are plenty.
  reader.Skip(160 - reader.position());
  const auto media_errors = reader.Read<std::uint64_t>();
  const auto media_errors_high = reader.Read<std::uint64_t>();
  if (!reader.ok()) return "";
  ByteReader controller(identify);
  controller.Skip(266);
  const auto warning_k = controller.Read<std::uint16_t>();
  const auto critical_k = controller.Read<std::uint16_t>();
  const auto line = [](std::string_view name, std::uint64_t value) {
    return std::string(name) + " " + std::to_string(value) + "\n";
  };
  return line("critical_warning", warning) + line("temperature_k", temperature_k) +
         line("spare", spare) + line("spare_threshold", spare_threshold) +
         line("percentage_used", used) +
         line("media_errors", media_errors_high != 0 ? ~std::uint64_t{0} : media_errors) +
         line("wctemp_k", warning_k) + line("cctemp_k", critical_k);
}

void ProbeNvme(ProbeOutput& output) {
  for (const std::string& name : ListFolder("/sys/class/nvme")) {
    output.Begin("/dev/" + name);
    const UniqueFd fd(open(("/dev/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) {
      output.Put("@nvme/" + name, "");
      continue;
    }
    std::vector<char> log(512), identify(4096);
    // Log page 2 of all namespaces; 128 dwords, less one, in the upper half.
    if (!Admin(fd.get(), kGetLogPage, 0xffffffff, 0x02 | 127U << 16, log)) log.clear();
    if (!Admin(fd.get(), kIdentify, 0, 1, identify)) identify.clear();
    output.Put("@nvme/" + name,
               NvmeHealthText({log.data(), log.size()}, {identify.data(), identify.size()}));
  }
}

}  // namespace culprit::health
