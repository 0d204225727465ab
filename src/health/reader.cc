#include "health/reader.h"

#include <fcntl.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "health/device_probes.h"
#include "health/gpu_holders.h"
#include "health/mounts.h"
#include "health/nvml.h"
#include "health/taskstats.h"
#include "kernel/proc_task.h"

namespace culprit::health {
namespace {

// Reads every file that the patterns name into `put(path, text)`.
template <class Begin, class Put>
void ReadPatterns(const std::string& root, const std::vector<std::string_view>& patterns,
                  Begin begin, Put put) {
  for (const std::string_view pattern : patterns) {
    const bool many = pattern.find('*') != pattern.npos;
    for (std::string& path : ExpandPattern(root, pattern)) {
      begin(path);
      Text text = ReadText(root, path);
      // Of a pattern, what is not there is not there.
      if (many && (text.error_number == ENOENT || text.error_number == ENOTDIR)) continue;
      put(std::move(path), std::move(text));
    }
  }
}

std::string ReadClock() {
  timex clock{};
  const int state = adjtimex(&clock);
  const bool nanoseconds = (clock.status & STA_NANO) != 0;
  const double offset_s = static_cast<double>(clock.offset) / (nanoseconds ? 1e9 : 1e6);
  return "state " + std::to_string(state) + "\nunsync " +
         std::to_string((clock.status & STA_UNSYNC) != 0 ? 1 : 0) + "\noffset_s " +
         std::to_string(offset_s) + "\nmaxerror_us " + std::to_string(clock.maxerror) + "\n";
}

// Every record that the kernel still has. Each read gives one, and EAGAIN is the end.
Text ReadKmsg() {
  Text text;
  const UniqueFd fd(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    text.error_number = errno;
    return text;
  }
  std::array<char, 8192> record{};
  while (text.text.size() < kMostFileBytes) {
    const ssize_t got = read(fd.get(), record.data(), record.size());
    if (got > 0) text.text.append(record.data(), static_cast<std::size_t>(got));
    // EPIPE: records were overwritten meanwhile, the next read goes on behind them.
    if (got < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (got <= 0) {
      if (got < 0 && errno != EAGAIN && text.text.empty()) text.error_number = errno;
      break;
    }
  }
  return text;
}

std::string LinkText(const std::string& path) {
  char target[256];
  const ssize_t size = readlink(path.c_str(), target, sizeof target);
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : std::string();
}

// Inside a container, or "".
std::string ContainerKind() {
  // The first pid namespace of a kernel has this inode number (include/linux/proc_ns.h): whatever
  // files lie about, who is in it sees every process.
  const std::string pid_namespace = LinkText("/proc/self/ns/pid");
  if (pid_namespace == "pid:[4026531836]") return "";
  if (PathExists("/run/.containerenv")) return "podman";
  if (PathExists("/.dockerenv")) return "docker";
  if (PathExists("/var/run/secrets/kubernetes.io")) return "kubernetes";
  if (!pid_namespace.empty()) return "a pid namespace";
  return "";
}

}  // namespace

NodeFacts NodeReader::ReadFacts() const {
  NodeFacts facts;
  facts.live = live();
  facts.is_root = !live() || geteuid() == 0;
  const auto read = [&](std::string_view path) {
    return std::string(TrimBlanks(ReadText(root_, path).text));
  };
  facts.host = read("/proc/sys/kernel/hostname");
  if (facts.host.empty()) facts.host = read("/etc/hostname");
  facts.boot_id = read("/proc/sys/kernel/random/boot_id");
  if (live()) facts.container = ContainerKind();
  const std::string text = ReadText(root_, "/proc/self/cgroup").text;
  std::vector<kernel::CgroupLine> lines;
  kernel::ParseTaskCgroups(text, lines);
  for (const auto& line : lines) {
    if (line.hierarchy == 0) facts.started_cgroup = line.path;
  }
  return facts;
}

void NodeReader::Launch(std::string_view probe, std::string_view comm, const ChildProbe::Work& work,
                        std::vector<Running>& into) {
  auto child = ChildProbe::Start(comm, work);
  if (!child.ok()) {
    stuck_.push_back({std::string(probe), child.error().what, StuckProbe::End::kNotStarted, 0});
    return;
  }
  into.push_back({std::string(probe), std::string(comm), std::move(child).value(), NowBoottime()});
}

void NodeReader::Gather(std::vector<Running>& running, Moment& moment, TimeNs deadline) {
  for (Running& probe : running) {
    const bool done = probe.child.Wait(deadline);
    probe.child.Collect(moment.texts);
    if (done) continue;
    stuck_.push_back({probe.probe, probe.child.stuck_at(),
                      probe.child.died() ? StuckProbe::End::kDied : StuckProbe::End::kHangs,
                      ToSeconds(NowBoottime() - probe.started)});
    if (probe.probe == "NVML" && !probe.child.died()) {
      TaskRow task;
      task.pid = task.tid = probe.child.pid();
      ReadStack("", task);
      std::string frames;
      for (const std::string& frame : task.stack) frames += (frames.empty() ? "" : " < ") + frame;
      moment.texts.Put("@nvml/stack", {frames, 0});
    }
    if (!probe.child.Kill()) abandoned_.push_back(std::move(probe));
  }
  running.clear();
}

Moment NodeReader::Read(bool last, TimeNs deadline) {
  Moment moment;
  moment.at = NowBoottime();
  std::vector<Running> beside;
  const bool drivers_hang = std::ranges::count(abandoned_, "drivers", &Running::probe) > 0;
  if (live() && !drivers_hang && (!plan_.sys_files.empty() || plan_.ethtool)) {
    Launch(
        "drivers", "culprit-sysfs",
        [this](ProbeOutput& output) {
          ReadPatterns(
              root_, plan_.sys_files, [&](const std::string& path) { output.Begin(path); },
              [&](const std::string& path, const Text& text) {
                output.Put(path, text.text, text.error_number);
              });
          if (plan_.ethtool) ProbeEthtool(output);
        },
        beside);
  }
  const auto keep = [&](std::string path, Text text) {
    moment.texts.Put(std::move(path), std::move(text));
  };
  const auto nothing = [](const std::string&) {};
  ReadPatterns(root_, plan_.proc_files, nothing, keep);
  const auto delays_on = kernel::ParseSingle(moment.texts.Get("/proc/sys/kernel/task_delayacct"));
  if (live() && plan_.delays && delays_on.value_or(0) != 0)
    Launch("taskstats", "culprit-delays", ProbeDelays, beside);
  if (!live()) ReadPatterns(root_, plan_.sys_files, nothing, keep);
  if (plan_.tasks) {
    moment.tasks = ScanTasks(root_);
    ReadWaits(root_, moment.tasks.waiting);
    if (last) ReadWaits(root_, moment.tasks.zombies);
    if (last) ReadOrphanCgroups(root_, moment.tasks.orphans);
  }
  if (plan_.cgroups) moment.cgroups = ReadCgroups(root_);
  if (plan_.cgroups && last) AskCgroupsWhoWaits(moment);
  if (plan_.descriptors && last) {
    moment.descriptors = ReadDescriptors(root_, moment.tasks.names);
  }
  if (plan_.kmsg && last)
    moment.texts.Put("/dev/kmsg", live() ? ReadKmsg() : ReadText(root_, "/dev/kmsg"));
  if (plan_.clock && live()) moment.texts.Put("@clock", {ReadClock(), 0});
  if (plan_.stacks && last) ReadStacks(moment, deadline);
  Gather(beside, moment, deadline);
  if (!live() && last && plan_.holders) ReadGpuHolders(root_, moment);
  ParseMoment(moment);
  return moment;
}

void NodeReader::AskCgroupsWhoWaits(Moment& moment) const {
  // Three files of each cgroup: only when there is something to explain.
  constexpr double kWorthALookPct = 2;
  for (const std::string resource : {"cpu", "memory", "io"}) {
    kernel::Pressure pressure;
    if (!kernel::ParsePressure(moment.texts.Get("/proc/pressure/" + resource), pressure)) continue;
    if (!pressure.some || pressure.some->avg10_pct < kWorthALookPct) continue;
    moment.cgroup_pressure[resource] = PressureOfCgroups(root_, moment.cgroups, resource);
  }
}

void NodeReader::ReadStacks(Moment& moment, TimeNs deadline) {
  auto& rows = moment.tasks.waiting;
  if (rows.empty()) return;
  // Hundreds of tasks have few stacks; beyond this a reader learns nothing more.
  const std::size_t most = std::min<std::size_t>(rows.size(), 2000);
  if (!live()) {
    for (std::size_t i = 0; i < most; ++i) ReadStack(root_, rows[i]);
    return;
  }
  std::vector<Running> beside;
  Launch(
      "task stacks", "culprit-stacks",
      [&](ProbeOutput& output) {
        for (std::size_t i = 0; i < most; ++i) {
          output.Begin("/proc/" + std::to_string(rows[i].tid) + "/stack");
          TaskRow row = rows[i];
          ReadStack(root_, row);
          std::string text;
          for (const std::string& frame : row.stack) text += frame + "\n";
          if (row.stack.empty()) text = "!" + row.stack_error;
          output.Put("@stack/" + std::to_string(row.tid), text);
        }
      },
      beside);
  // Stacks are worth a second, not the whole of the time that is left.
  Gather(beside, moment, std::min(deadline, NowBoottime() + Seconds(1)));
  for (TaskRow& row : rows) {
    const std::string_view text = moment.texts.Get("@stack/" + std::to_string(row.tid));
    row.stack_error = text.starts_with('!') ? text.substr(1)
                      : text.empty()        ? "not read in time"
                                            : "";
    if (!row.stack_error.empty()) continue;
    for (const std::string_view frame : SplitLines(text)) row.stack.emplace_back(frame);
  }
}

void NodeReader::StartMounts(const Moment& first) {
  const std::string mountinfo = ReadText(root_, "/proc/self/mountinfo").text;
  std::vector<kernel::Mount> local, network;
  for (kernel::Mount& mount : MountsToProbe(mountinfo)) {
    const std::string comm = MountProbeComm(mount);
    const auto ours = std::ranges::find_if(abandoned_, [&](const Running& probe) {
      return probe.comm == comm || probe.child.stuck_at() == mount.mount_point;
    });
    if (ours != abandoned_.end()) {
      stuck_.push_back({"mount", mount.mount_point, StuckProbe::End::kHangs,
                        ToSeconds(NowBoottime() - ours->started)});
      continue;
    }
    const auto& waiting = first.tasks.waiting;
    const auto held = std::ranges::find(waiting, comm, &TaskRow::comm);
    if (held != waiting.end()) {
      stuck_.push_back(
          {"mount", mount.mount_point, StuckProbe::End::kHangs, held->waited_s.value_or(0)});
      continue;
    }
    (KindOfMount(mount) == MountKind::kNetwork ? network : local).push_back(std::move(mount));
  }
  if (!local.empty()) {
    Launch(
        "mount", "culprit-statfs",
        [local](ProbeOutput& output) {
          for (const auto& mount : local) ProbeMount(mount, output);
        },
        slow_);
  }
  // A server may be away for each of them alone: a child each. Beyond this many they share.
  constexpr std::size_t kMostChildren = 64;
  for (std::size_t i = 0; i < std::min(network.size(), kMostChildren); ++i) {
    Launch(
        "mount", MountProbeComm(network[i]),
        [&network, i](ProbeOutput& output) {
          for (std::size_t at = i; at < network.size(); at += kMostChildren)
            ProbeMount(network[at], output);
        },
        slow_);
  }
}

void NodeReader::StartSlow(const Moment& first, DurationNs sample) {
  std::erase_if(abandoned_, [](Running& probe) {
    return probe.child.Wait(NowBoottime()) || probe.child.died();
  });
  if (!live()) return;
  if (plan_.mounts) StartMounts(first);
  if (plan_.nvml && (NvmlMayExist() || HasGpu(first.texts)) && !NvmlStillHangs()) {
    Launch(
        "NVML", "culprit-nvml", [sample](ProbeOutput& output) { ProbeNvml(output, sample); },
        slow_);
  }
  if (plan_.nvme && PathExists("/sys/class/nvme")) Launch("NVMe", "culprit-nvme", ProbeNvme, slow_);
}

bool NodeReader::NvmlStillHangs() {
  for (const Running& probe : abandoned_) {
    if (probe.probe != "NVML") continue;
    stuck_.push_back({"NVML", probe.child.stuck_at(), StuckProbe::End::kHangs,
                      ToSeconds(NowBoottime() - probe.started)});
    return true;
  }
  return false;
}

void NodeReader::CollectSlow(Moment& moment, TimeNs deadline) {
  // Whoever has not answered a statfs by then will keep an application waiting just as long. A
  // driver of a busy node may be slow and well: it has the whole time.
  constexpr DurationNs kPatience = Seconds(3);
  std::vector<Running> drivers;
  for (std::size_t i = slow_.size(); i-- > 0;) {
    if (slow_[i].probe == "mount") continue;
    drivers.push_back(std::move(slow_[i]));
    slow_.erase(slow_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  Gather(slow_, moment, std::min(deadline, NowBoottime() + kPatience));
  Gather(drivers, moment, deadline);
  if (plan_.holders) ReadGpuHolders(root_, moment);
}

void NodeReader::ForgetStuck() { stuck_.clear(); }

}  // namespace culprit::health
