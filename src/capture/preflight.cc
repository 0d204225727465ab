#include "capture/preflight.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "capture/instance.h"
#include "capture/kernel_session.h"
#include "capture/own_threads/switch_ring.h"
#include "capture/top_level_markers.h"
#include "kernel/proc_scan.h"
#include "kernel/proc_task.h"
#include "kernel/tracefs.h"

namespace culprit::capture {
namespace {

class Preflighter {
 public:
  explicit Preflighter(const PreflightOptions& options) : options_(options) {}

  std::vector<PreflightFinding> Run();

  void CheckPrivileges();
  void CheckLockdown();
  void CheckContainer();
  void CheckTracefs();
  void CheckTriggers();
  void CheckMarkers();
  void CheckOtherTracers();
  void CheckSymbols();
  void CheckPerfEvents();
  void CheckHardwareCounters();
  void CheckLevel();
  void CheckPressure();
  void CheckMemory();
  void CheckDisk();

 private:
  bool is_real() const { return options_.root == "/"; }
  std::string PathOf(std::string_view name) const { return JoinPath(options_.root, name); }
  // The trimmed text of a file; nothing when it cannot be read.
  std::optional<std::string> Text(std::string_view name) const {
    const auto text = ReadFile(PathOf(name));
    if (!text) return std::nullopt;
    return std::string(TrimBlanks(*text));
  }
  void Add(Readiness readiness, std::string what, std::string remedy = "") {
    findings_.push_back({check_, readiness, std::move(what), std::move(remedy)});
  }
  void Ready(std::string what) { Add(Readiness::kReady, std::move(what)); }
  void Less(std::string what, std::string remedy) {
    Add(Readiness::kLess, std::move(what), std::move(remedy));
  }
  void Missing(std::string what, std::string remedy) {
    Add(Readiness::kMissing, std::move(what), std::move(remedy));
  }

  const PreflightOptions& options_;
  std::string check_;
  std::vector<PreflightFinding> findings_;
  std::optional<kernel::Tracefs> tracefs_;
  std::optional<Instance> probe_;  // on a real machine, once tracefs has been found usable
};

struct Check {
  std::string_view name;
  void (Preflighter::*run)();
};
// In this order: later ones use what earlier ones found.
constexpr Check kChecks[] = {
    {"privileges", &Preflighter::CheckPrivileges},
    {"lockdown", &Preflighter::CheckLockdown},
    {"container", &Preflighter::CheckContainer},
    {"tracefs", &Preflighter::CheckTracefs},
    {"triggers", &Preflighter::CheckTriggers},
    {"markers", &Preflighter::CheckMarkers},
    {"other tracers", &Preflighter::CheckOtherTracers},
    {"kernel symbols", &Preflighter::CheckSymbols},
    {"perf events", &Preflighter::CheckPerfEvents},
    {"hardware counters", &Preflighter::CheckHardwareCounters},
    {"pressure", &Preflighter::CheckPressure},
    {"memory", &Preflighter::CheckMemory},
    {"disk", &Preflighter::CheckDisk},
    {"level", &Preflighter::CheckLevel},
};

std::vector<PreflightFinding> Preflighter::Run() {
  for (const Check& check : kChecks) {
    check_ = check.name;
    (this->*check.run)();
  }
  return std::move(findings_);
}

void Preflighter::CheckPrivileges() {
  constexpr std::uint64_t kSysAdmin = std::uint64_t{1} << 21;
  const auto text = ReadFile(PathOf("proc/self/status"));
  kernel::TaskStatus status;
  if (!text || !kernel::ParseTaskStatus(*text, status)) {
    return Missing("/proc/self/status cannot be read", "mount /proc");
  }
  const bool capable = (status.effective_capabilities.value_or(0) & kSysAdmin) != 0;
  if (capable) {
    return Ready(status.uid.value_or(0) == 0 ? "root, with CAP_SYS_ADMIN" : "CAP_SYS_ADMIN");
  }
  Missing(status.uid.value_or(1) == 0 ? "root without CAP_SYS_ADMIN (a container?)"
                                      : "an ordinary user",
          status.uid.value_or(1) == 0
              ? "start the container with --privileged or --cap-add SYS_ADMIN"
              : "run as root (sudo culprit ...)");
}

void Preflighter::CheckLockdown() {
  const auto text = Text("sys/kernel/security/lockdown");
  if (!text) return Ready("no kernel lockdown");
  const auto begin = text->find('[');
  const auto end = text->find(']');
  const std::string mode = begin == text->npos || end == text->npos || end < begin
                               ? *text
                               : text->substr(begin + 1, end - begin - 1);
  if (mode == "confidentiality") {
    return Missing("the kernel is locked down (confidentiality), which forbids tracing",
                   "boot without lockdown=confidentiality, or with Secure Boot off");
  }
  Ready("lockdown: " + mode);
}

void Preflighter::CheckContainer() {
  // Inode of the PID namespace that the kernel boots with (PROC_PID_INIT_INO).
  constexpr ino_t kFirstPidNamespace = 0xEFFFFFFC;
  std::string kind;
  if (PathExists(PathOf(".dockerenv"))) kind = "docker";
  if (PathExists(PathOf("run/.containerenv"))) kind = "podman";
  if (const auto text = Text("run/systemd/container"); text && !text->empty()) kind = *text;
  for (const auto& [name, sign] : {std::pair{"docker", "docker"},
                                   {"kubernetes", "kubepods"},
                                   {"containerd", "cri-containerd"},
                                   {"lxc", "/lxc/"}}) {
    const auto text = Text("proc/1/cgroup");
    if (kind.empty() && text && text->find(sign) != text->npos) kind = name;
  }
  struct stat info {};
  const bool own_pids = stat(PathOf("proc/self/ns/pid").c_str(), &info) == 0 && is_real() &&
                        info.st_ino != kFirstPidNamespace;
  if (own_pids) {
    return Less((kind.empty() ? std::string("a PID namespace") : "a " + kind + " container") +
                    " of its own: the kernel's events carry the host's ids, /proc here has others, "
                    "so most threads get no process",
                "record on the host, or start the container with --pid=host");
  }
  Ready(kind.empty() ? "on the host" : "in a " + kind + " container with the host's processes");
}

void Preflighter::CheckTracefs() {
  auto found = is_real() ? kernel::Tracefs::FindOrMount() : kernel::Tracefs::Find(options_.root);
  if (!found) return Missing(found.error().what, found.error().remedy);
  tracefs_.emplace(std::move(found).value());
  const std::string& path = tracefs_->top().path();
  const auto events = tracefs_->AvailableEvents();
  if (!events) return Missing(events.error().what, events.error().remedy);
  const auto clocks = tracefs_->Clocks();
  if (!clocks || std::ranges::find(*clocks, "boot") == clocks->end()) {
    Less("no trace clock 'boot' (Linux 4.10)",
         "record with builtin_data_sources { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC }");
  }
  if (is_real()) {
    auto probe = Instance::Create(*tracefs_);
    if (!probe) return Missing(probe.error().what, probe.error().remedy);
    probe_.emplace(std::move(probe).value());
  } else if (access(tracefs_->top().PathOf("instances").c_str(), W_OK) != 0) {
    return Missing(path + "/instances is not writable", "run as root, with tracefs mounted rw");
  }
  Ready(path + ", writable, " + FormatCount(events->size()) + " events");
}

void Preflighter::CheckTriggers() {
  if (!tracefs_) return Less("not tried, without tracefs", "see there");
  if (!probe_) return Ready("not tried");
  const kernel::TraceDirectory& directory = probe_->directory();
  constexpr const char* kTrigger = "events/sched/sched_switch/trigger";
  const std::string no_stacks = "kernel stacks of D waits will be missing: ";
  if (const Status set = directory.Write(kTrigger, kDStateTrigger); !set) {
    return Less(no_stacks + set.error().what,
                "use a kernel with CONFIG_STACKTRACE and event triggers (Linux 3.14)");
  }
  static_cast<void>(directory.Write(kTrigger, "!" + std::string(kDStateTrigger)));
  const auto inside = StackTriggerStaysInside(directory);
  if (!inside) return Less(no_stacks + inside.error().what, inside.error().remedy);
  if (!*inside) {
    return Less(no_stacks + "this kernel's trigger writes into the top-level buffer",
                "use Linux 5.17, or a stable release with that fix");
  }
  Ready("the stack of each switch into D state can be recorded");
}

void Preflighter::CheckMarkers() {
  if (!tracefs_) return Less("not tried, without tracefs", "see there");
  const kernel::TraceDirectory& directory = probe_ ? probe_->directory() : tracefs_->top();
  const auto options = directory.Read("trace_options");
  if (options && options->find("copy_trace_marker") != options->npos) {
    return Ready("trace_marker reaches private instances");
  }
  const auto borrowed = TopLevelMarkers::Inspect(tracefs_->top(), directory.SubBufferBytes());
  if (borrowed) {
    return Ready("trace_marker is read from the top-level buffer, where nobody else traces");
  }
  Less("markers that programs write to trace_marker will be missing: " + borrowed.error().what,
       borrowed.error().remedy + "; or use a newer kernel (Linux 6.17)");
}

void Preflighter::CheckOtherTracers() {
  if (!tracefs_) return Ready("none to be seen, without tracefs");
  bool alone = true;
  const auto found = [&](const std::string& what, const std::string& remedy) {
    alone = false;
    Less(what, remedy);
  };
  const std::string cost = "their cost adds to the recording's; end them when it matters";
  if (const auto tracer = tracefs_->top().Read("current_tracer"); tracer) {
    const auto name = TrimBlanks(*tracer);
    if (!name.empty() && name != "nop") found("the tracer " + std::string(name) + " is on", cost);
  }
  if (const auto events = tracefs_->top().Read("set_event"); events) {
    const auto lines = SplitLines(*events);
    if (!lines.empty()) {
      found(FormatCount(lines.size()) + " events are on in the top-level buffer, " +
                std::string(lines.front()) + " among them",
            cost);
    }
  }
  const auto dead = DeadInstances(*tracefs_, options_.root);
  const auto names = tracefs_->Instances();
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (probe_ && name == probe_->name()) continue;
    if (dead && std::ranges::find(*dead, name) != dead->end()) {
      found("the instance " + name + " is left of a recorder that is gone",
            "culprit record --cleanup");
    } else {
      found("the trace instance " + name + " is in use by somebody", cost);
    }
  }
  if (alone) Ready("none");
}

void Preflighter::CheckSymbols() {
  const std::string restrict = Text("proc/sys/kernel/kptr_restrict").value_or("?");
  // The first symbols alone: the whole file is megabytes.
  std::string head(4096, '\0');
  const auto fd = OpenFile(PathOf("proc/kallsyms"), O_RDONLY);
  const ssize_t got = fd ? read(fd->get(), head.data(), head.size()) : -1;
  if (got <= 0) {
    return Less("names of kernel functions will be missing: /proc/kallsyms cannot be read",
                "use a kernel with CONFIG_KALLSYMS");
  }
  head.resize(static_cast<std::size_t>(got));
  const bool hidden = std::ranges::all_of(SplitLines(head), [](std::string_view line) {
    return line.substr(0, line.find(' ')).find_first_not_of('0') == line.npos || line.size() < 16;
  });
  if (hidden) {
    return Less("names of kernel functions will be missing: kptr_restrict is " + restrict,
                "as root: sysctl kernel.kptr_restrict=1");
  }
  Ready("readable (kptr_restrict " + restrict + ")");
}

void Preflighter::CheckPerfEvents() {
  const auto text = Text("proc/sys/kernel/perf_event_paranoid");
  const auto level = text ? ParseInteger<int>(*text) : std::nullopt;
  if (!level) {
    return Less("this kernel has no perf events", "use a kernel with CONFIG_PERF_EVENTS");
  }
  constexpr int kOwnThreads = 2;  // an ordinary user may watch his own threads up to here
  if (*level > kOwnThreads) {
    return Less(
        "perf_event_paranoid is " + *text + ": ordinary users cannot sample their own threads",
        "as root: sysctl kernel.perf_event_paranoid=2");
  }
  Ready("perf_event_paranoid is " + *text);
}

void Preflighter::CheckHardwareCounters() {
  bool has_pmu = false;
  for (const char* pmu : {"cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0"}) {
    has_pmu = has_pmu || PathExists(PathOf("sys/bus/event_source/devices/") + pmu);
  }
  bool counts = has_pmu;
  if (is_real()) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_HW_CPU_CYCLES;
    attributes.exclude_kernel = 1;
    const UniqueFd fd(static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    counts = fd.valid();
  }
  if (counts) return Ready("cycles can be counted");
  Less("no hardware counters: cycles, cache misses and the like cannot be counted",
       has_pmu ? "let this user open perf events (perf_event_paranoid, seccomp)"
               : "in a virtual machine, give it a virtual PMU");
}

void Preflighter::CheckPressure() {
  // With PSI built in and switched off the files are missing, or there and refuse.
  if (const auto text = Text("proc/pressure/cpu"); text && !text->empty()) {
    return Ready("PSI is on");
  }
  Less("pressure stalls (PSI) will be missing", "boot with psi=1");
}

void Preflighter::CheckMemory() {
  std::vector<kernel::NamedValue> values;  // point into the text
  const auto text = ReadFile(PathOf("proc/meminfo"));
  if (text) kernel::ParseNamedValues(*text, values);
  const auto available = kernel::FindValue(values, "MemAvailable");
  if (!available) return Less("how much memory is free is not known", "mount /proc");
  const std::string what =
      FormatBytes(*available) + " available, the rings take " + FormatBytes(options_.ring_bytes);
  // As much again while they are written out.
  if (*available < 2 * options_.ring_bytes) return Missing(what, "ask for less with --buffer");
  Ready(what);
}

void Preflighter::CheckDisk() {
  struct statvfs info {};
  if (statvfs(options_.directory.c_str(), &info) != 0) {
    const Error error = ErrnoError("look at the disk of", options_.directory, errno);
    return Missing(error.what, "name a folder that is there");
  }
  const std::uint64_t free = std::uint64_t{info.f_bavail} * info.f_frsize;
  const std::string what = FormatBytes(free) + " free in " + options_.directory + ", " +
                           FormatBytes(options_.disk_bytes) + " wanted";
  if (access(options_.directory.c_str(), W_OK) != 0) {
    return Missing(options_.directory + " is not writable", "choose another place");
  }
  if (free < options_.disk_bytes) return Missing(what, "free some room, or choose another place");
  Ready(what);
}

}  // namespace

// Which of the three ways of recording this place allows, and what the next one needs.
void Preflighter::CheckLevel() {
  const bool machine = std::ranges::none_of(findings_, [](const PreflightFinding& finding) {
    return finding.readiness == Readiness::kMissing && finding.check != "disk" &&
           finding.check != "memory";
  });
  if (machine) return Ready("1 of 3: the whole machine, by tracefs");
  const std::string next =
      "for the whole machine: root or CAP_SYS_ADMIN; in a container --privileged, or --cap-add "
      "SYS_ADMIN with --pid=host and tracefs mounted";
  if (!is_real()) return Less("own processes: not tried", next);
  const Status switches = SwitchRings::Probe();
  if (switches) {
    return Less(
        "2 of 3: your own processes (record --pid PID, record -- COMMAND), with exact switches by "
        "perf events",
        next);
  }
  Less("3 of 3: your own processes (record --pid PID, record -- COMMAND), sampled from /proc: " +
           switches.error().what,
       "for exact switches: " + switches.error().remedy + "; " + next);
}

std::string_view ReadinessName(Readiness readiness) {
  switch (readiness) {
    case Readiness::kReady:
      return "ok";
    case Readiness::kLess:
      return "less";
    case Readiness::kMissing:
      return "missing";
  }
  return "";
}

std::vector<PreflightFinding> Preflight(const PreflightOptions& options) {
  return Preflighter(options).Run();
}

}  // namespace culprit::capture
