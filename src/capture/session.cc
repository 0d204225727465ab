#include "capture/session.h"

#include <algorithm>

#include "base/text.h"
#include "capture/process_scan.h"
#include "capture/system_info.h"
#include "capture/trace_clock.h"

namespace culprit::capture {
namespace {

// A recording that keeps the newest events keeps the newest polls: as many as make sense beside
// them.
constexpr std::uint64_t kRingOfPacketsShare = 4;  // of the rings' size
constexpr std::uint64_t kLeastRingOfPackets = std::uint64_t{4} << 20;

ScanParts PartsOf(const ProcessScan& scan) {
  return {.tree = true, .thread_names = scan.thread_names, .stats = true};
}

std::vector<ControlWrite> RestoresOf(const std::optional<TopLevelMarkers>& markers) {
  return markers ? markers->restores() : std::vector<ControlWrite>();
}

bool CopiesMarkers(const Instance& instance) {
  return instance.directory().Has(JoinPath("options", kCopyTraceMarker));
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Start(RecordConfig config, Options options) {
  std::unique_ptr<Session> session(new Session(std::move(config), std::move(options)));
  const RecordConfig& wanted = session->config_;
  CULPRIT_TRY(session->OpenPackets());
  if (!wanted.events.empty() || wanted.markers || wanted.d_state_stacks) {
    CULPRIT_TRY(session->SetUpKernel());
  }
  session->begin_ = session->segment_begin_ = NowBoottime();
  session->WriteHead(*session->packets_);
  if (session->kernel_) CULPRIT_TRY(session->kernel_->Start());
  // While the events of forks and exits are recorded already, so that no thread falls between.
  if (wanted.processes.at_start) {
    ScanProcesses(wanted.clock, PartsOf(wanted.processes),
                  [&](std::string_view packet) { session->packets_->AppendLasting(packet); });
  }
  if (session->drain_ && wanted.fill_policy == FillPolicy::kDrain) {
    CULPRIT_TRY(session->drain_->StartReader());
  }
  CULPRIT_ASSIGN(session->pollers_, Pollers::Start(wanted, *session->packets_));
  if (wanted.own_threads) {
    CULPRIT_ASSIGN(session->own_threads_, OwnThreads::Start(wanted.clock, wanted.pids));
  }
  return session;
}

Session::~Session() {
  if (kernel_) static_cast<void>(kernel_->Stop());
  pollers_.reset();
  drain_.reset();  // its open files would keep the instance
}

Status Session::SetUpKernel() {
  CULPRIT_ASSIGN(const kernel::Tracefs tracefs, kernel::Tracefs::FindOrMount());
  if (const auto removed = RemoveDeadInstances(tracefs); removed) {
    for (const std::string& name : *removed) {
      notes_.push_back("removed " + name + ", which a recorder that is gone left in the kernel");
    }
  } else {
    notes_.push_back(removed.error().ToString());
  }
  CULPRIT_ASSIGN(Instance instance, Instance::Create(tracefs));
  std::optional<TopLevelMarkers> markers;
  if (config_.markers && (config_.markers_from_top_level || !CopiesMarkers(instance))) {
    auto borrowed = TopLevelMarkers::Inspect(tracefs.top(), instance.directory().SubBufferBytes());
    if (borrowed) {
      markers.emplace(std::move(borrowed).value());
    } else {
      notes_.push_back("no markers: " + borrowed.error().ToString());
    }
  }
  CULPRIT_ASSIGN(Guardian guardian, Guardian::Start(instance.directory(), RestoresOf(markers)));
  guardian_.emplace(std::move(guardian));
  CULPRIT_ASSIGN(KernelSession kernel,
                 KernelSession::Open(std::move(instance), config_, std::move(markers)));
  kernel_.emplace(std::move(kernel));
  notes_.insert(notes_.end(), kernel_->notes().begin(), kernel_->notes().end());
  if (kernel_->events().empty() && !config_.events.empty()) {
    Error error{"none of the events that were asked for can be recorded",
                "see culprit record --list"};
    for (const std::string& note : kernel_->notes()) error.place += note + "\n";
    return error;
  }
  Drain::Options drain;
  drain.spool_directory = options_.spool_directory;
  drain.period = config_.drain_period;
  if (config_.fill_policy == FillPolicy::kDrain) drain.max_bytes = config_.max_file_bytes;
  CULPRIT_ASSIGN(drain_, Drain::Open(*kernel_, std::move(drain)));
  return {};
}

Status Session::OpenPackets() {
  const std::uint64_t limit =
      config_.fill_policy == FillPolicy::kRing
          ? std::max(config_.ring_bytes / kRingOfPacketsShare, kLeastRingOfPackets)
          : 0;
  CULPRIT_ASSIGN(packets_, PacketSpool::Create(options_.spool_directory, limit));
  return {};
}

void Session::WriteHead(PacketSpool& packets) const {
  packets.AppendLasting(ClockSnapshotPacket(config_.clock));
  packets.AppendLasting(SystemInfoPacket(config_.clock, options_.version));
  packets.AppendLasting(TraceConfigPacket(config_));
  std::vector<ProcessNote> notes = FindGpuHolders();
  notes.insert(notes.end(), targets_.begin(), targets_.end());
  for (const std::int32_t pid : config_.pids) notes.push_back({kNoteTarget, pid, "--pid"});
  for (ProcessNote& note : ListBlockDevices()) notes.push_back(std::move(note));
  if (!notes.empty()) packets.AppendLasting(ProcessNotesPacket(config_.clock, notes));
}

Status Session::NoteTarget(std::int32_t pid) {
  targets_.push_back({kNoteTarget, pid, "command"});
  packets_->AppendLasting(ProcessNotesPacket(config_.clock, {targets_.back()}));
  return own_threads_ ? own_threads_->Watch(pid) : Status();
}

std::uint64_t Session::LostEvents() const {
  std::uint64_t lost = 0;
  if (!kernel_) return lost;
  for (const int cpu : kernel_->cpus()) lost += capture::LostEvents(kernel_->Stats(cpu));
  return lost;
}

LiveState Session::State() const {
  LiveState state;
  state.elapsed = NowBoottime() - begin_;
  if (!kernel_) return state;
  for (const int cpu : kernel_->cpus()) {
    const RingStats stats = kernel_->Stats(cpu);
    state.lost_events += capture::LostEvents(stats);
    state.events += stats.entries + stats.read_events;
    state.fill_pct =
        std::max(state.fill_pct, 100.0 * static_cast<double>(stats.bytes) /
                                     static_cast<double>(kernel_->ring_bytes_per_cpu()));
  }
  state.fill_pct = std::min(state.fill_pct, 100.0);
  state.spooled_bytes = drain_->spooled_bytes();
  return state;
}

bool Session::RingIsFull() const {
  return kernel_ && std::ranges::any_of(kernel_->cpus(), [this](int cpu) {
           return kernel_->Stats(cpu).dropped_events > 0;
         });
}

Status Session::ResumeDrain() { return drain_ ? drain_->Resume() : Status(); }

Status Session::RenewGuardian() {
  CULPRIT_ASSIGN(Guardian next,
                 Guardian::Start(kernel_->directory(), RestoresOf(kernel_->top_level_markers())));
  *guardian_ = std::move(next);
  return {};
}

Result<Segment> Session::NextSegment() {
  std::unique_ptr<PacketSpool> finished = std::move(packets_);
  if (const Status opened = OpenPackets(); !opened) {
    packets_ = std::move(finished);
    return opened.error();
  }
  WriteHead(*packets_);
  Segment segment;
  // One scan ends the old file and begins the new one.
  ScanProcesses(config_.clock, PartsOf(config_.processes), [&](std::string_view packet) {
    finished->Append(packet);
    packets_->AppendLasting(packet);
  });
  pollers_->SwitchTo(*packets_);
  if (drain_) {
    CULPRIT_ASSIGN(segment.ftrace, drain_->NextSegment());
  }
  finished->Append(ClockSnapshotPacket(config_.clock));
  segment.packets = std::move(finished);
  segment.begin = segment_begin_;
  segment.end = segment_begin_ = NowBoottime();
  return segment;
}

Result<Segment> Session::Finish() {
  Segment segment;
  segment.begin = segment_begin_;
  if (kernel_) CULPRIT_TRY(kernel_->Stop());
  segment.end = NowBoottime();
  if (own_threads_) {
    own_threads_->Finish(*packets_);
    notes_.insert(notes_.end(), own_threads_->notes().begin(), own_threads_->notes().end());
    own_threads_.reset();
  }
  pollers_->Stop();
  packets_->Append(ClockSnapshotPacket(config_.clock));
  if (config_.processes.at_stop) {
    ScanProcesses(config_.clock, PartsOf(config_.processes),
                  [this](std::string_view packet) { packets_->Append(packet); });
  }
  if (drain_) {
    CULPRIT_ASSIGN(segment.ftrace, drain_->Finish());
    if (std::string note = drain_->MarkersNote(); !note.empty()) notes_.push_back(std::move(note));
    drain_.reset();
  }
  if (kernel_) {
    // An instance that stays is the guardian's and the next start's to remove; the events are here.
    if (const Status removed = kernel_->Remove(); !removed) {
      notes_.push_back(removed.error().ToString());
    }
    kernel_.reset();
    guardian_.reset();
  }
  segment.packets = std::move(packets_);
  return segment;
}

}  // namespace culprit::capture
