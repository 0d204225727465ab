#include "analysis/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace culprit::analysis {
namespace {

constexpr std::size_t kMostPictures = 3;
constexpr std::size_t kMostCpus = 8;
constexpr std::size_t kMostRequestLanes = 4;
// Of a lane: a picture is a thousand dots wide, more cannot be seen.
constexpr std::size_t kMostSegments = 1000;
// A wait of nothing has no picture; shorter ones are shown in this much time.
constexpr std::int64_t kLeastLengthNs = 10'000;

SegmentKind KindOf(Activity activity) {
  switch (activity) {
    case Activity::kRunning:
      return SegmentKind::kRunning;
    case Activity::kPreempted:
    case Activity::kRunnable:
      return SegmentKind::kReady;
    case Activity::kBlocked:
      return SegmentKind::kBlocked;
    case Activity::kSleeping:
      return SegmentKind::kSleeping;
    case Activity::kStopped:
      return SegmentKind::kStopped;
    case Activity::kDead:
    case Activity::kUnknown:
      return SegmentKind::kUnknown;
  }
  return SegmentKind::kUnknown;
}

std::string_view NameOf(Activity activity) {
  constexpr std::string_view kNames[] = {"running", "preempted", "ready",  "sleeping",
                                         "blocked", "stopped",   "exited", "not known"};
  return kNames[static_cast<int>(activity)];
}

class Painter {
 public:
  Painter(const Timeline& timeline, const ExplainFinding& finding, Picture& picture)
      : timeline_(timeline), finding_(finding), picture_(picture) {}

  void Paint() {
    const Utid victim = finding_.victims.front().victim.utid;
    AddThread(victim, "victim");
    const auto& task = finding_.culprit.task;
    if (task && task->utid != kNone && task->utid != victim) AddThread(task->utid, "culprit");
    for (const TaskName& via : finding_.via) {
      if (picture_.lanes.size() < 4) AddThread(via.utid, "waited for");
    }
    for (const std::int16_t cpu : CpusOfVictim(victim)) AddCpu(cpu);
    if (!finding_.culprit.device.empty()) AddRequests();
  }

 private:
  void Add(PictureLane& lane, Interval time, SegmentKind kind, std::string label, bool is_culprit) {
    const Interval part = Intersect(time, picture_.time);
    if (part.length() == 0) return;
    const std::int64_t dot = picture_.time.length() / static_cast<std::int64_t>(kMostSegments);
    // What is smaller than a dot is seen as part of what was before it.
    if (!lane.segments.empty() && part.length() < dot &&
        lane.segments.back().time.end == part.begin) {
      lane.segments.back().time.end = part.end;
      return;
    }
    if (lane.segments.size() < 2 * kMostSegments) {
      lane.segments.push_back({part, kind, std::move(label), is_culprit});
    }
  }

  void AddThread(Utid utid, std::string_view role) {
    PictureLane lane;
    const Thread& thread = timeline_.thread(utid);
    lane.name = fmt::format("{} (tid {})", thread.name, thread.tid);
    lane.role = role;
    for (const State& state : timeline_.StatesIn(utid, picture_.time)) {
      std::string label(NameOf(state.activity));
      if (state.activity == Activity::kRunning) label += fmt::format(" on CPU {}", state.cpu);
      const std::uint32_t what = state.wait_class != 0 ? state.wait_class : state.blocked_in;
      if (state.activity == Activity::kBlocked && what != 0) {
        label += fmt::format(" in {}", timeline_.Text(what));
      }
      Add(lane, {state.ts, state.end}, KindOf(state.activity), std::move(label), role == "culprit");
    }
    picture_.lanes.push_back(std::move(lane));
  }

  // Where it ran or stood ready in that time.
  std::set<std::int16_t> CpusOfVictim(Utid victim) const {
    std::set<std::int16_t> cpus;
    for (const State& state : timeline_.StatesIn(victim, picture_.time)) {
      if (state.cpu >= 0 && cpus.size() < kMostCpus) cpus.insert(state.cpu);
    }
    for (const TaskName& via : finding_.via) {
      for (const State& state : timeline_.StatesIn(via.utid, picture_.time)) {
        if (state.cpu >= 0 && cpus.size() < kMostCpus) cpus.insert(state.cpu);
      }
    }
    return cpus;
  }

  bool IsCulprit(Utid utid) const {
    const auto& task = finding_.culprit.task;
    if (!task || task->utid == kNone) return false;
    if (utid == task->utid || timeline_.SameProcess(utid, task->utid)) return true;
    return timeline_.thread(utid).name == timeline_.thread(task->utid).name;
  }

  void AddCpu(std::int16_t cpu) {
    if (static_cast<std::size_t>(cpu) >= timeline_.cpu_count()) return;
    PictureLane lane;
    lane.name = fmt::format("CPU {}", cpu);
    lane.role = "cpu";
    const Utid victim = finding_.victims.front().victim.utid;
    for (const CpuRun& run : timeline_.RunsIn(static_cast<std::size_t>(cpu), picture_.time)) {
      if (run.utid == kIdleThread) continue;
      const Thread& thread = timeline_.thread(run.utid);
      Add(lane, {run.ts, run.end}, run.utid == victim ? SegmentKind::kRunning : SegmentKind::kOther,
          fmt::format("{} (tid {})", thread.name, thread.tid), IsCulprit(run.utid));
    }
    picture_.lanes.push_back(std::move(lane));
  }

  // Requests side by side, as many as there are lanes for.
  void AddRequests() {
    std::vector<PictureLane> lanes;
    std::vector<std::int64_t> free_at;
    for (const DiskRequest& request : timeline_.disk_requests()) {
      if (timeline_.Text(request.device) != finding_.culprit.device || request.complete < 0)
        continue;
      if (Intersect({request.begin, request.complete}, picture_.time).length() == 0) continue;
      std::size_t place = 0;
      while (place < free_at.size() && free_at[place] > request.begin) ++place;
      if (place == kMostRequestLanes) continue;
      if (place == lanes.size()) {
        lanes.push_back({fmt::format("disk {}", finding_.culprit.device), "disk", {}});
        free_at.push_back(0);
      }
      free_at[place] = request.complete;
      const bool is_known = request.utid != kNone && request.utid < timeline_.threads().size();
      Add(lanes[place], {request.begin, request.complete}, SegmentKind::kRequest,
          fmt::format("{} {} bytes of {}", timeline_.Text(request.op), request.bytes,
                      is_known ? timeline_.thread(request.utid).name : "not known"),
          is_known && IsCulprit(request.utid));
    }
    for (PictureLane& lane : lanes) picture_.lanes.push_back(std::move(lane));
  }

  const Timeline& timeline_;
  const ExplainFinding& finding_;
  Picture& picture_;
};

}  // namespace

std::vector<Picture> MakePictures(const Timeline& timeline,
                                  std::span<const ExplainFinding> findings) {
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < findings.size() && pictures.size() < kMostPictures; ++i) {
    const Amount& waited = findings[i].victims.front().waited;
    if (waited.worst_ns <= 0) continue;
    if (findings[i].level < Level::kWarning && !pictures.empty()) break;
    Picture picture;
    picture.finding = i;
    picture.wait = {waited.worst_ts, waited.worst_ts + waited.worst_ns};
    const std::int64_t margin = std::max(waited.worst_ns / 4, kLeastLengthNs);
    picture.time =
        Intersect({picture.wait.begin - margin, picture.wait.end + margin}, timeline.window());
    if (picture.time.length() == 0) continue;
    Painter(timeline, findings[i], picture).Paint();
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

}  // namespace culprit::analysis
