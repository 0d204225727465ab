// A storm of softirqs: packets of a loopback device of our own, handled on the victim's CPU. Not
// one leaves this machine, nor even the network namespace, which ends with its process.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "kernel/proc_task.h"
#include "lab/scenes.h"

namespace culprit::lab {
namespace {

// "4" for CPU 2, "1,00000000" for CPU 32, as /sys wants it.
std::string CpuMask(int cpu) {
  std::string mask = fmt::format("{:x}", 1U << (cpu % 32));
  for (int i = 0; i < cpu / 32; ++i) mask += ",00000000";
  return mask;
}

// A network namespace whose loopback hands its packets to `cpu`. `folder` becomes the mount point
// of a /sys that shows this namespace, in a mount namespace of our own.
Status EnterNetwork(const std::string& folder, int cpu) {
  if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) return ErrnoError("unshare", "the network", errno);
  if (mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("sysfs", folder.c_str(), "sysfs", 0, nullptr) != 0) {
    return ErrnoError("mount sysfs on", folder, errno);
  }
  CULPRIT_TRY(WriteControlFile(folder + "/class/net/lo/queues/rx-0/rps_cpus", CpuMask(cpu)));
  const UniqueFd socket_fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(socket_fd.get(), SIOCSIFFLAGS, &request) != 0) {
    return ErrnoError("bring up", "the loopback device", errno);
  }
  return {};
}

// Sends to a socket that nobody reads: its queue is full at once, and each packet is work in vain.
Status Flood(Actor& actor) {
  const UniqueFd receiver(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const UniqueFd sender(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(receiver.get(), generic, size) != 0 ||
      getsockname(receiver.get(), generic, &size) != 0 ||
      connect(sender.get(), generic, size) != 0) {
    return ErrnoError("make", "the sockets of the flood", errno);
  }
  const char packet[64] = {};
  actor.Begin();
  while (actor.Acting()) {
    for (int i = 0; i < 100; ++i) {
      [[maybe_unused]] const ssize_t sent = send(sender.get(), packet, sizeof(packet), 0);
    }
    actor.slot().work += 100;
  }
  return {};
}

// Reads the clock without pause; what lies between two readings was taken from it.
void Watch(Actor& actor) {
  constexpr std::int64_t kGapNs = 1'500;
  actor.Begin();
  std::int64_t gaps = 0, worst = 0, count = 0;
  const std::int64_t runnable = actor.SchedStat().first;
  std::int64_t last = MonotonicNs();
  while (actor.Acting()) {
    for (int i = 0; i < 1'000; ++i) {
      const std::int64_t now = MonotonicNs();
      if (now - last > kGapNs) {
        gaps += now - last;
        worst = std::max(worst, now - last);
        ++count;
      }
      last = now;
    }
    ++actor.slot().work;
  }
  const std::int64_t preempted = actor.SchedStat().first - runnable;
  actor.slot().waits[static_cast<std::size_t>(Wait::kInterrupts)] = {
      std::max<std::int64_t>(gaps - preempted, 0), count, worst};
}

// CPU time of the kernel thread that does softirqs on `cpu` when they become too many; the victim
// is ready all the while.
std::int64_t KsoftirqdNs(int cpu) {
  const std::string name = fmt::format("ksoftirqd/{}", cpu);
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string path = entry.path().string();
    const auto comm = ReadFile(path + "/comm");
    if (!comm || TrimBlanks(*comm) != name) continue;
    const auto text = ReadFile(path + "/schedstat");
    if (!text) return 0;
    const auto stat = kernel::ParseTaskSchedStat(*text);
    return stat ? static_cast<std::int64_t>(stat->run_ns) : 0;
  }
  return 0;
}

}  // namespace

Status PlayIrq(Stage& stage, Truth& truth) {
  if (geteuid() != 0) return Error{"a network namespace of its own needs root", "run as root"};
  if (stage.cpus().size() < 2) return Error{"irq needs two CPUs", "run it on a bigger machine"};
  Crew& crew = stage.crew();
  CULPRIT_ASSIGN(const std::string folder, stage.Folder(0, false));
  const int cpu = stage.cpu();
  CULPRIT_TRY(crew.Start({.name = "irq_victim", .act = Watch, .cpu = cpu}));
  for (std::int64_t i = 0; i < stage.scale(); ++i) {
    CULPRIT_TRY(crew.Start({.name = "udp_flooder",
                            .act =
                                [folder, cpu](Actor& actor) {
                                  if (const Status entered = EnterNetwork(folder, cpu); !entered) {
                                    return actor.Fail(entered.error());
                                  }
                                  if (const Status sent = Flood(actor); !sent) {
                                    actor.Fail(sent.error());
                                  }
                                },
                            .cpu = stage.other_cpu()}));
  }
  const std::int64_t before = KsoftirqdNs(cpu);
  CULPRIT_TRY(stage.Run(truth));
  const std::int64_t ksoftirqd = KsoftirqdNs(cpu) - before;

  const auto victims = crew.Named("irq_victim");
  AddVictims(truth, victims);
  truth.figures = {{"packets", static_cast<double>(SumOf(crew.Named("udp_flooder"), &Slot::work))},
                   {"ksoftirqd_ns", static_cast<double>(ksoftirqd)}};
  truth.culprit.kind = "softirq";
  truth.culprit.parties = PartiesOf(crew.Named("udp_flooder"));
  truth.culprit.share_of =
      "the victim's window in which softirqs ran on its CPU, in its own time or in ksoftirqd's";
  truth.culprit.measured_by =
      "gaps above 1.5 us in a loop that reads the clock, less schedstat's "
      "runnable time; schedstat of ksoftirqd";
  SetShare(truth, SumOf(victims, Wait::kInterrupts) + ksoftirqd);
  return {};
}

}  // namespace culprit::lab
