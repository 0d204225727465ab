#include "sampling/sampler.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/text.h"
#include "kernel/proc_scan.h"
#include "symbols/unwind.h"

namespace culprit::sampling {
namespace {

constexpr std::size_t kRingBytes = std::size_t{1} << 20;
constexpr std::size_t kRingBytesWithStacks = std::size_t{8} << 20;
constexpr std::uint32_t kStackBytes = 16384;  // of one copied stack
// Rings are looked at this often even when none is part full, so that rounds stay small.
constexpr int kRoundMs = 500;

bool IsMissing(int error_number) {
  return error_number == ENOENT || error_number == EOPNOTSUPP || error_number == ENODEV;
}

std::vector<std::int32_t> ThreadsOf(std::int32_t pid) {
  std::vector<std::int32_t> tids;
  std::error_code failed;
  for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/task", failed),
       end;
       !failed && at != end; at.increment(failed)) {
    if (const auto tid = ParseInteger<std::int32_t>(at->path().filename().string())) {
      tids.push_back(*tid);
    }
  }
  return tids;
}

Status WriteAt(int fd, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return ErrnoError("write", "the spool of samples", errno);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return {};
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

// `event` nullptr: the dummy, which gives mappings, names, forks and exits.
perf_event_attr Sampler::Attributes(const SampledEvent* event) const {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                           PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                           PERF_SAMPLE_CALLCHAIN;
  attributes.sample_id_all = 1;
  attributes.inherit = !config_.pids.empty();
  attributes.use_clockid = 1;
  attributes.clockid = config_.clock_id;
  attributes.watermark = 1;
  const bool has_stacks = config_.call_graph != CallGraph::kFramePointers;
  attributes.wakeup_watermark =
      static_cast<std::uint32_t>((has_stacks ? kRingBytesWithStacks : kRingBytes) / 4);
  if (has_stacks) {
    attributes.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attributes.sample_regs_user = symbols::UnwindRegisters();
    attributes.sample_stack_user = kStackBytes;
    attributes.exclude_callchain_user = config_.call_graph == CallGraph::kDwarf;
  }
  attributes.exclude_kernel = user_only_;
  attributes.exclude_hv = user_only_;
  attributes.exclude_callchain_kernel = user_only_;
  if (event == nullptr) {
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_DUMMY;
    attributes.mmap = 1;
    attributes.mmap2 = 1;
    attributes.comm = 1;
    attributes.comm_exec = 1;
    attributes.task = 1;
    attributes.build_id = 1;
    attributes.ksymbol = config_.pids.empty();
    return attributes;
  }
  attributes.type = event->type;
  attributes.config = event->config;
  if (event->is_tracepoint) {
    attributes.sample_period = 1;
  } else {
    attributes.freq = 1;
    attributes.sample_freq = config_.frequency_hz;
  }
  // The clock ticks on idle CPUs as well; counters of the CPU rest there.
  attributes.exclude_idle = event->type == PERF_TYPE_SOFTWARE;
  return attributes;
}

Status Sampler::OpenOn(std::size_t event, std::int32_t tid, int cpu, std::size_t ring) {
  const std::string_view name = event == 0 ? "dummy" : config_.events[event - 1].name;
  OpenedEvent opened = OpenPerfEvent(file_events_[event].attributes, tid, cpu);
  if (opened.error_number == ESRCH) return {};                              // the thread is gone
  if (opened.error_number == ENODEV && rings_[ring] == nullptr) return {};  // the CPU is offline
  if (!opened.fd.valid()) return RefusedEvent(name, opened.error_number);
  if (rings_[ring] == nullptr) {
    const bool has_stacks = config_.call_graph != CallGraph::kFramePointers;
    CULPRIT_ASSIGN(PerfRing mapped,
                   PerfRing::Map(opened.fd.get(), has_stacks ? kRingBytesWithStacks : kRingBytes));
    rings_[ring] = std::make_unique<PerfRing>(std::move(mapped));
  } else if (ioctl(opened.fd.get(), PERF_EVENT_IOC_SET_OUTPUT, rings_[ring]->fd()) != 0) {
    return ErrnoError("share a ring of perf events", name, errno);
  }
  std::uint64_t id = 0;
  if (ioctl(opened.fd.get(), PERF_EVENT_IOC_ID, &id) != 0) {
    return ErrnoError("get the id of", name, errno);
  }
  file_events_[event].ids.push_back(id);
  fds_.push_back(std::move(opened.fd));
  return {};
}

Status Sampler::OpenAll() {
  CULPRIT_ASSIGN(const std::string online, ReadFile("/sys/devices/system/cpu/online"));
  const auto cpus = kernel::ParseCpuList(TrimBlanks(online));
  if (!cpus || cpus->empty()) return Error{"/sys/devices/system/cpu/online is not readable", ""};
  for (const std::uint32_t cpu : *cpus) cpus_.push_back(static_cast<int>(cpu));
  rings_.resize(cpus_.size());

  // What stands in for what this machine lacks is found out by trying, on ourselves.
  file_events_.push_back({Attributes(nullptr), {}});
  if (OpenPerfEvent(file_events_[0].attributes, 0, -1).error_number == EINVAL) {
    file_events_[0].attributes.build_id = 0;  // before Linux 5.12
    file_events_[0].attributes.ksymbol = 0;   // before Linux 5.1
  }
  for (SampledEvent& event : config_.events) {
    perf_event_attr attributes = Attributes(&event);
    OpenedEvent tried = OpenPerfEvent(attributes, 0, -1);
    const bool is_refused = tried.error_number == EACCES || tried.error_number == EPERM;
    if (is_refused && !config_.pids.empty() && !user_only_) {
      // What any user may have of his own processes (perf_event_paranoid 2).
      user_only_ = true;
      attributes = Attributes(&event);
      tried = OpenPerfEvent(attributes, 0, -1);
      notes_.push_back("this user may not sample the kernel's code: stacks are of user code alone");
    }
    if (IsMissing(tried.error_number) && (event.name == "cycles" || event.name == "cpu-cycles")) {
      notes_.push_back(
          "this machine counts no cycles (as many VMs), so cpu-clock is sampled: code that has "
          "interrupts off shows where it lets them in again");
      CULPRIT_ASSIGN(event, FindEvent("cpu-clock"));
      attributes = Attributes(&event);
      tried = OpenPerfEvent(attributes, 0, -1);
    }
    if (!tried.fd.valid()) return RefusedEvent(event.name, tried.error_number);
    file_events_.push_back({attributes, {}});
  }
  if (user_only_) {
    file_events_[0].attributes.exclude_kernel = 1;
    file_events_[0].attributes.exclude_hv = 1;
    file_events_[0].attributes.exclude_callchain_kernel = 1;
    file_events_[0].attributes.ksymbol = 0;
  }
  const std::size_t events = file_events_.size();
  if (config_.pids.empty()) {
    for (std::size_t ring = 0; ring < cpus_.size(); ++ring) {
      for (std::size_t event = 0; event < events; ++event) {
        CULPRIT_TRY(OpenOn(event, -1, cpus_[ring], ring));
      }
    }
    return {};
  }
  for (const std::int32_t pid : config_.pids) {
    const auto tids = ThreadsOf(pid);
    if (tids.empty()) {
      return Error{"there is no process " + std::to_string(pid), "see ps -e"};
    }
    for (const std::int32_t tid : tids) {
      for (std::size_t ring = 0; ring < cpus_.size(); ++ring) {
        for (std::size_t event = 0; event < events; ++event) {
          CULPRIT_TRY(OpenOn(event, tid, cpus_[ring], ring));
        }
      }
    }
  }
  return {};
}

Result<std::unique_ptr<Sampler>> Sampler::Start(SampleConfig config, const std::string& directory) {
  std::unique_ptr<Sampler> sampler(new Sampler(std::move(config)));
  CULPRIT_TRY(sampler->OpenAll());
  CULPRIT_ASSIGN(sampler->file_, OpenNamelessFile(directory));
  CULPRIT_TRY(sampler->WriteHead(0));
  // After the events are on: what is mapped meanwhile is told twice, never not at all.
  const std::string known = KnownProcesses(sampler->config_.pids);
  CULPRIT_TRY(WriteAt(sampler->file_.get(), known, sampler->head_bytes_));
  sampler->data_bytes_ = known.size();
  const int stop = eventfd(0, EFD_CLOEXEC);
  if (stop < 0) return ErrnoError("make an eventfd", "", errno);
  sampler->stop_.Reset(stop);
  sampler->thread_ = std::thread([raw = sampler.get()] { raw->Run(); });
  return sampler;
}

Sampler::~Sampler() { EndThread(); }

void Sampler::EndThread() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

Status Sampler::WriteHead(std::uint64_t data_bytes) {
  const std::string head = PerfFileHead(file_events_, data_bytes);
  head_bytes_ = head.size();
  return WriteAt(file_.get(), head, 0);
}

void Sampler::Run() {
  std::vector<pollfd> polls{{stop_.get(), POLLIN, 0}};
  for (const auto& ring : rings_) {
    if (ring != nullptr) polls.push_back({ring->fd(), POLLIN, 0});
  }
  while (problem_.empty()) {
    poll(polls.data(), polls.size(), kRoundMs);
    if (polls[0].revents != 0) return;
    // The watched thread that owns the ring is gone (POLLHUP): the ring goes on for the others.
    for (pollfd& each : polls) {
      if ((each.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) each.fd = -1;
    }
    Drain();
  }
}

void Sampler::Drain() {
  const auto append = [this](std::string_view bytes) {
    if (bytes.empty()) return true;
    if (const Status wrote = WriteAt(file_.get(), bytes, head_bytes_ + data_bytes_); !wrote) {
      problem_ = wrote.error().ToString();
      return false;
    }
    data_bytes_ += bytes.size();
    return true;
  };
  const std::uint64_t before = data_bytes_;
  for (const auto& ring : rings_) {
    if (ring == nullptr || !problem_.empty()) continue;
    ring->Drain([&](std::span<const std::byte> first, std::span<const std::byte> rest) {
      const std::uint64_t begin = data_bytes_;
      if (append(TextOf(first)) && append(TextOf(rest))) return true;
      data_bytes_ = begin;  // no half record
      return false;
    });
  }
  if (data_bytes_ != before && problem_.empty()) append(RoundRecord());
}

Result<SampleSpool> Sampler::Stop() {
  EndThread();
  for (const UniqueFd& fd : fds_) ioctl(fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  if (problem_.empty()) Drain();
  CULPRIT_TRY(WriteHead(data_bytes_));
  if (ftruncate(file_.get(), static_cast<off_t>(head_bytes_ + data_bytes_)) != 0) {
    return ErrnoError("truncate", "the spool of samples", errno);
  }
  rings_.clear();
  fds_.clear();
  SampleSpool spool;
  spool.file = std::move(file_);
  spool.events = config_.events;
  spool.problem = problem_;
  spool.config = std::move(config_);
  return spool;
}

}  // namespace culprit::sampling
