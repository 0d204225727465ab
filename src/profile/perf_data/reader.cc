// perf.data -> Profile.
//
//   bytes -> RecordStream -> (in order of time) -> comms, mappings, samples of places -> Symbolizer
//
// Records of several CPUs come in rounds: what a FINISHED_ROUND ends can only be followed by
// records that are newer than the round before, so that much is put in order and handled.
#include "profile/perf_data/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/bytes.h"
#include "base/text.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/header.h"
#include "profile/perf_data/record_stream.h"
#include "profile/perf_data/record_types.h"
#include "profile/perf_data/sample.h"
#include "profile/perf_data/symbolizer.h"
#include "profile/perf_data/user_stacks.h"

namespace culprit::profile {
namespace perf_data {
namespace {

// A cache of recent addresses in front of the mappings: stacks repeat.
constexpr std::size_t kCacheSlots = 1U << 14U;
constexpr std::uint64_t kRecordsPerProgress = 1U << 16U;

class Reader {
 public:
  Reader(std::span<const std::byte> file, Header header, const ReadOptions& options,
         const std::function<void(std::size_t)>& release_before)
      : file_(file),
        header_(std::move(header)),
        options_(options),
        release_before_(release_before),
        cache_(kCacheSlots),
        user_stacks_(header_, spaces_, options.root) {
    profile_.format = "perf.data";
    profile_.has_threads = true;
    comms_[0] = profile_.strings.Intern("swapper");
  }

  Result<Profile> Read() {
    RecordStream stream(file_.subspan(header_.data_begin, header_.data_end - header_.data_begin));
    std::uint64_t records = 0;
    while (auto record = stream.Next()) {
      if (++records % kRecordsPerProgress == 0 && options_.progress &&
          !options_.progress(header_.data_begin + stream.position(), file_.size())) {
        return Error{"cancelled", ""};
      }
      if (record->type == kRecordFinishedRound) {
        FinishRound(stream);
      } else {
        Queue(*record);
      }
    }
    Flush(UINT64_MAX);
    if (header_.is_pipe && header_.events.empty()) {
      return Error{"perf.data of a pipe without any event in it", "it is cut off or damaged"};
    }
    if (header_.cut) {
      AddNote(
          "the recording was not finished or its end is missing; some facts are in that end: "
          "build ids, names of events",
          true);
    }
    if (!stream.damage().empty()) AddNote(stream.damage(), true);
    if (profile_.samples.empty()) {
      return Error{"there are no samples in it",
                   stream.damage().empty() ? Advice() : stream.damage()};
    }
    return Finish();
  }

 private:
  struct Queued {
    std::uint64_t time_ns = 0;
    Record record;
  };

  // Records without a time are handled at once, as perf does: they tell what was there before.
  void Queue(const Record& record) {
    if (record.type >= kFirstRecordOfPerf) return HandlePerf(record);
    const std::uint64_t time_ns = TimeOf(record);
    if (time_ns == 0 || time_ns == UINT64_MAX) return Handle(record);
    newest_ns_ = std::max(newest_ns_, time_ns);
    queue_.push_back({time_ns, record});
  }

  void FinishRound(RecordStream& stream) {
    Flush(flush_until_ns_);
    flush_until_ns_ = newest_ns_;
    const std::uint64_t block = queue_.empty() ? stream.block_number() : OldestBlock();
    stream.Release(block);
    if (!release_before_) return;
    const std::byte* first = file_.data() + header_.data_begin + stream.position();
    for (const Queued& queued : queue_) {
      const std::byte* at = queued.record.body.data();  // unpacked records lie outside the file
      if (at >= file_.data() && at < first) first = at;
    }
    release_before_(static_cast<std::size_t>(first - file_.data()));
  }

  std::uint64_t OldestBlock() const {
    return std::ranges::min(queue_, {}, [](const Queued& queued) { return queued.record.block; })
        .record.block;
  }

  void Flush(std::uint64_t until_ns) {
    std::ranges::stable_sort(queue_, {}, &Queued::time_ns);
    auto end = std::ranges::upper_bound(queue_, until_ns, {}, &Queued::time_ns);
    for (auto at = queue_.begin(); at != end; ++at) Handle(at->record);
    queue_.erase(queue_.begin(), end);
  }

  std::uint64_t TimeOf(const Record& record) {
    if (record.type == kRecordSample) {
      const Event* event = EventOf(record.body);
      return event != nullptr && ParseSample(record.body, *event, fields_) ? fields_.time_ns : 0;
    }
    return header_.events.empty() ? 0 : ParseRecordId(record.body, header_.events.front()).time_ns;
  }

  // All events of a file have their id at one place.
  Event* EventOf(std::span<const std::byte> sample) {
    if (header_.events.empty()) return nullptr;
    const auto offset = SampleIdOffset(header_.events.front());
    if (!offset || header_.events.size() == 1) return &header_.events.front();
    return header_.Find(static_cast<std::uint64_t>(ReadIntegerAt(sample, *offset, 8, false)));
  }

  void HandlePerf(const Record& record) {
    if (record.type == kRecordBuildId) return AddPipeBuildId(record);
    header_.AddRecord(record.type, record.body);
  }

  // As in the header's list of build ids, whose records have their own headers.
  void AddPipeBuildId(const Record& record) {
    constexpr std::size_t kPath = 4 + 24;
    if (record.body.size() <= kPath) return;
    ByteReader reader(record.body.subspan(4));
    const auto id = reader.ReadBytes(20);
    const auto size = reader.Read<std::uint8_t>();
    reader.Skip(3);
    std::string_view path = reader.ReadText(reader.remaining());
    path = path.substr(0, path.find('\0'));
    header_.build_ids[std::string(path)] =
        BuildIdText(id.first(size > 0 && size <= 20 ? size : 20));
  }

  void Handle(const Record& record) {
    switch (record.type) {
      case kRecordSample:
        return HandleSample(record);
      case kRecordMmap:
      case kRecordMmap2:
        return HandleMmap(record);
      case kRecordComm:
        return HandleComm(record);
      case kRecordFork:
        return HandleFork(record);
      case kRecordKsymbol:
        return HandleKsymbol(record);
      case kRecordLost:
        lost_ += static_cast<std::uint64_t>(ReadIntegerAt(record.body, 8, 8, false));
        return;
      case kRecordLostSamples:
        lost_samples_ += static_cast<std::uint64_t>(ReadIntegerAt(record.body, 0, 8, false));
        return;
      case kRecordThrottle:
        ++throttled_;
        return;
      default:
        return;
    }
  }

  void HandleMmap(const Record& record) {
    ByteReader reader(record.body);
    AddressSpaces::MmapRecord map;
    map.pid = reader.Read<std::int32_t>();
    reader.Skip(4);
    map.begin = reader.Read<std::uint64_t>();
    map.size = reader.Read<std::uint64_t>();
    map.file_offset = reader.Read<std::uint64_t>();
    const std::uint16_t mode = record.misc & kCpuModeMask;
    map.is_kernel = mode == kModeKernel;
    map.is_executable = (record.misc & kMiscMmapData) == 0;
    if (record.type == kRecordMmap2) {
      if ((record.misc & kMiscMmapBuildId) != 0) {
        const auto size = reader.Read<std::uint8_t>();
        reader.Skip(3);
        const auto id = reader.ReadBytes(20);
        map.build_id = BuildIdText(id.first(std::min<std::size_t>(size, id.size())));
      } else {
        reader.Skip(24);
      }
      constexpr std::uint32_t kExecutable = 4;
      map.is_executable = (reader.Read<std::uint32_t>() & kExecutable) != 0;
      reader.Skip(4);
    }
    map.path = reader.ReadText(reader.remaining());
    map.path = map.path.substr(0, map.path.find('\0'));
    if (!reader.ok()) {
      ++damaged_;
      return;
    }
    spaces_.Map(map);
  }

  void HandleComm(const Record& record) {
    ByteReader reader(record.body);
    reader.Skip(4);
    const auto tid = reader.Read<std::int32_t>();
    std::string_view comm = reader.ReadText(reader.remaining());
    comm = comm.substr(0, comm.find('\0'));
    if (!reader.ok()) return;
    // Mappings stay when it came by exec: samples within the call still have the old program's
    // stack, and the new program's mappings cover theirs.
    comms_[tid] = profile_.strings.Intern(comm);
  }

  void HandleFork(const Record& record) {
    ByteReader reader(record.body);
    const auto pid = reader.Read<std::int32_t>();
    const auto parent_pid = reader.Read<std::int32_t>();
    const auto tid = reader.Read<std::int32_t>();
    const auto parent_tid = reader.Read<std::int32_t>();
    if (!reader.ok()) return;
    spaces_.Fork(pid, parent_pid);
    const auto parent = comms_.find(parent_tid);
    if (parent == comms_.end()) {
      comms_.erase(tid);
    } else {
      const StringId comm = parent->second;
      comms_[tid] = comm;
    }
  }

  void HandleKsymbol(const Record& record) {
    ByteReader reader(record.body);
    const auto begin = reader.Read<std::uint64_t>();
    const auto size = reader.Read<std::uint32_t>();
    reader.Skip(2);
    const auto flags = reader.Read<std::uint16_t>();
    std::string_view name = reader.ReadText(reader.remaining());
    name = name.substr(0, name.find('\0'));
    constexpr std::uint16_t kUnregister = 1;
    if (reader.ok() && (flags & kUnregister) == 0) spaces_.MapKernelSymbol(begin, size, name);
  }

  void HandleSample(const Record& record) {
    Event* event = EventOf(record.body);
    if (event == nullptr) {
      ++unknown_events_;
      return;
    }
    if (!ParseSample(record.body, *event, fields_)) {
      ++damaged_;
      return;
    }
    const std::uint16_t mode = record.misc & kCpuModeMask;
    const StackId stack = StackOf(*event, mode);
    if (fields_.group.empty()) {
      AddSample(*event, fields_.period, stack);
      return;
    }
    // A group's leader reads the counts of all: each has grown by what its own sample would say.
    for (const auto& value : fields_.group) {
      Event* member = header_.Find(value.id);
      std::uint64_t& last = group_values_[value.id];
      const std::uint64_t grown = value.value - last;
      last = value.value;
      if (member != nullptr && grown != 0) AddSample(*member, grown, stack);
    }
  }

  void AddSample(Event& event, std::uint64_t period, StackId stack) {
    ++event.samples;
    constexpr std::uint64_t kMostPeriod = std::uint64_t{1} << 53U;  // so that sums cannot overflow
    profile_.has_times |= fields_.time_ns != 0;
    profile_.samples.push_back(
        {.ts = static_cast<std::int64_t>(fields_.time_ns & INT64_MAX),
         .weight = static_cast<std::int64_t>(std::clamp<std::uint64_t>(period, 1, kMostPeriod)),
         .stack = stack,
         .thread = ThreadOf(fields_.pid, fields_.tid),
         .cpu = fields_.cpu,
         .metric = static_cast<std::uint16_t>(&event - header_.events.data())});
  }

  ThreadId ThreadOf(std::int32_t pid, std::int32_t tid) {
    const StringId comm = CommOf(tid);
    const StringId process = CommOf(pid);
    Known& known = threads_[(std::uint64_t{static_cast<std::uint32_t>(pid)} << 32U) |
                            static_cast<std::uint32_t>(tid)];
    if (!known.valid || known.comm != comm || known.process != process) {
      known = {profile_.AddThread({.comm = comm, .process = process, .pid = pid, .tid = tid}), comm,
               process, true};
    }
    return known.id;
  }

  StringId CommOf(std::int32_t tid) {
    const auto found = comms_.find(tid);
    if (found != comms_.end()) return found->second;
    return comms_[tid] = profile_.strings.Intern(fmt::format(":{}", tid));
  }

  // The stack of the sample in fields_, by frame numbers of places_.
  StackId StackOf(const Event& event, std::uint16_t mode) {
    const bool has_copy = (event.sample_type & kStackUser) != 0;
    if (!fields_.has_callchain && !has_copy) {
      if (fields_.ip == 0) return 0;
      return raw_.InternStack(StackId{0}, PlaceOf(mode, fields_.ip, false));
    }
    chain_.clear();
    frame_pointers_.clear();
    if (!fields_.has_callchain && mode == kModeKernel) {
      chain_.push_back(PlaceOf(mode, fields_.ip, false));
    }
    const std::size_t count = fields_.callchain.size() / 8;
    bool first_of_context = true;
    for (std::size_t i = 0; i < count; ++i) {
      const auto address =
          static_cast<std::uint64_t>(ReadIntegerAt(fields_.callchain, i * 8, 8, false));
      if (address >= kContextMax) {
        first_of_context = true;
        switch (address) {
          case kContextKernel:
            mode = kModeKernel;
            continue;
          case kContextUser:
            mode = kModeUser;
            continue;
          case kContextHypervisor:
            mode = kModeHypervisor;
            continue;
          case kContextGuest:
          case kContextGuestKernel:
            mode = kModeGuestKernel;
            continue;
          case kContextGuestUser:
            mode = kModeGuestUser;
            continue;
          default:
            ++bad_chains_;
            chain_.clear();
            i = count;
            continue;
        }
      }
      if (has_copy && mode == kModeUser) {
        frame_pointers_.push_back(address);
      } else {
        chain_.push_back(PlaceOf(mode, address, !first_of_context));
      }
      first_of_context = false;
    }
    if (has_copy) {
      for (const auto& frame : user_stacks_.Chain(event, fields_, frame_pointers_)) {
        chain_.push_back(PlaceOf(kModeUser, frame.address, frame.is_caller));
      }
    }
    std::ranges::reverse(chain_);
    return raw_.InternStack(chain_);
  }

  FrameId PlaceOf(std::uint16_t mode, std::uint64_t address, bool is_caller) {
    const bool is_kernel = mode == kModeKernel;
    is_caller = is_caller && !is_kernel;
    Cached& cached = cache_[(address ^ (address >> 14U) ^ (is_caller ? 1U : 0U)) % kCacheSlots];
    if (cached.address == address && cached.generation == spaces_.generation() + 1 &&
        cached.pid == fields_.pid && cached.mode == mode && cached.is_caller == is_caller) {
      return cached.place;
    }
    const Mapping* mapping = is_kernel           ? spaces_.FindKernel(address)
                             : mode == kModeUser ? spaces_.FindUser(fields_.pid, address)
                                                 : nullptr;
    Place place{
        .module = mapping == nullptr ? 0 : mapping->module,
        .address = address,
        .offset = mapping == nullptr ? address : address - mapping->begin + mapping->file_offset,
        .is_kernel = is_kernel,
        .is_caller = is_caller};
    // In a file the offset says all; the address is another one in each process.
    const bool by_offset = !is_kernel && mapping != nullptr;
    const PlaceKey key{
        by_offset ? place.offset : place.address,
        (std::uint64_t{place.module} << 2U) | (is_kernel ? 2U : 0U) | (is_caller ? 1U : 0U)};
    const auto [entry, added] = place_ids_.try_emplace(key, static_cast<FrameId>(places_.size()));
    if (added) places_.push_back(place);
    cached = {address, spaces_.generation() + 1, fields_.pid, mode, is_caller, entry->second};
    return entry->second;
  }

  void AddNote(std::string text, bool is_loss) {
    profile_.notes.push_back({std::move(text), is_loss});
  }

  std::string Advice() const {
    if (lost_ + lost_samples_ > 0) {
      return fmt::format(
          "{} records were lost while it was recorded: perf record -m 16M, or a "
          "lower frequency",
          lost_ + lost_samples_);
    }
    return "record longer, or with an event that this machine has: perf record -e cpu-clock";
  }

  void AddCounts() {
    const auto note = [this](std::uint64_t count, std::string_view text, bool is_loss) {
      if (count > 0) AddNote(FormatCount(count) + " " + std::string(text), is_loss);
    };
    note(lost_, "records were lost, as the buffer was full (perf record -m makes it larger)", true);
    note(lost_samples_, "samples were lost in the CPU's or kernel's own buffer", true);
    note(throttled_,
         "times the kernel throttled sampling (kernel.perf_event_max_sample_rate): what ran then "
         "has too few samples",
         true);
    note(unknown_events_, "samples of an event that the header does not know", true);
    note(damaged_, "records are shorter than their fields", true);
    note(bad_chains_, "call chains have markers that do not exist and were left out", true);
    user_stacks_.AddNotes(profile_);
  }

  // Build ids of the header's list are those of modules that had none in their mapping.
  void GiveBuildIds() {
    for (Module& module : spaces_.modules()) {
      if (!module.build_id.empty()) continue;
      auto found = header_.build_ids.find(module.path);
      if (found == header_.build_ids.end() && module.path.starts_with("[kernel")) {
        found = header_.build_ids.find("[kernel.kallsyms]");
      }
      if (found != header_.build_ids.end()) module.build_id = found->second;
    }
  }

  Result<Profile> Finish() {
    AddCounts();
    GiveBuildIds();
    header_.NameEvents();
    for (const Event& event : header_.events) {
      const bool is_time =
          event.name.starts_with("cpu-clock") || event.name.starts_with("task-clock");
      profile_.metrics.push_back({event.name, is_time ? "ns" : ""});
    }
    const auto frames = Symbolizer(header_, spaces_.modules(), options_).Name(places_, profile_);
    // The same tree with names: callers stand before what they call.
    std::vector<StackId> named(raw_.stacks.size());
    for (StackId id = 1; id < raw_.stacks.size(); ++id) {
      StackId stack = named[raw_.stacks[id].parent];
      for (const FrameId frame : frames[raw_.stacks[id].frame]) {
        stack = profile_.InternStack(stack, frame);
      }
      named[id] = stack;
    }
    for (Sample& sample : profile_.samples) sample.stack = named[sample.stack];
    return std::move(profile_);
  }

  struct PlaceKey {
    std::uint64_t address = 0;
    std::uint64_t where = 0;
    bool operator==(const PlaceKey&) const = default;
  };
  struct PlaceKeyHash {
    std::size_t operator()(const PlaceKey& key) const {
      std::uint64_t value = (key.address ^ (key.where << 48U)) * 0x9e3779b97f4a7c15U;
      return static_cast<std::size_t>(value ^ (value >> 29U));
    }
  };
  struct Cached {
    std::uint64_t address = 0;
    std::uint64_t generation = 0;  // one more than the spaces' own: 0 is an empty slot
    std::int32_t pid = 0;
    std::uint16_t mode = 0;
    bool is_caller = false;
    FrameId place = 0;
  };
  struct Known {
    ThreadId id = 0;
    StringId comm = 0;
    StringId process = 0;
    bool valid = false;
  };

  std::span<const std::byte> file_;
  Header header_;
  const ReadOptions& options_;
  const std::function<void(std::size_t)>& release_before_;
  Profile profile_;
  Profile raw_;  // stacks of places: its frame numbers are indices of places_
  AddressSpaces spaces_;
  std::vector<Place> places_;
  std::unordered_map<PlaceKey, FrameId, PlaceKeyHash> place_ids_;
  std::vector<Cached> cache_;
  UserStacks user_stacks_;
  std::vector<std::uint64_t> frame_pointers_;
  std::vector<FrameId> chain_;
  SampleFields fields_;
  std::unordered_map<std::int32_t, StringId> comms_;               // by tid
  std::unordered_map<std::uint64_t, Known> threads_;               // by pid and tid
  std::unordered_map<std::uint64_t, std::uint64_t> group_values_;  // by event id
  std::vector<Queued> queue_;
  std::uint64_t newest_ns_ = 0;
  std::uint64_t flush_until_ns_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t lost_samples_ = 0;
  std::uint64_t throttled_ = 0;
  std::uint64_t unknown_events_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t bad_chains_ = 0;
};

}  // namespace
}  // namespace perf_data

Result<Profile> ReadPerfData(std::string_view bytes, const ReadOptions& options,
                             const std::function<void(std::size_t)>& release_before) {
  const std::span<const std::byte> file(reinterpret_cast<const std::byte*>(bytes.data()),
                                        bytes.size());
  CULPRIT_ASSIGN(auto header, perf_data::ReadHeader(file));
  return perf_data::Reader(file, std::move(header), options, release_before).Read();
}

}  // namespace culprit::profile
