#include "capture/encode_pipeline.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/bytes.h"
#include "tracefile/fields.h"

namespace culprit::capture {
namespace {

namespace tf = tracefile;

// Ring pages of one chunk: the unit of work, and with the bundles that it gives the unit of memory.
constexpr std::size_t kChunkBytes = 128 * 1024;
// A chunk of a quiet CPU ends earlier, so that its bundles find their place among the others.
constexpr std::uint64_t kChunkNs = 250'000'000;
// Bundles waiting for the file; past this the encoders wait too.
constexpr std::size_t kMostWaitingBytes = 32U << 20;

constexpr std::size_t kMostSamples = 8;

void LowerPriority() {
  const auto self = static_cast<id_t>(::syscall(SYS_gettid));
  const sched_param none = {};
  // Each is a courtesy: where it is refused the work is done all the same.
  static_cast<void>(::sched_setscheduler(0, SCHED_BATCH, &none));
  static_cast<void>(::setpriority(PRIO_PROCESS, self, 19));
  constexpr int kBestEffortLowest = 2 << 13 | 7;  // IOPRIO_CLASS_BE; idle could starve for ever
  static_cast<void>(::syscall(SYS_ioprio_set, 1, 0, kBestEffortLowest));
}

std::uint32_t FtraceClockOf(std::string_view clock) {
  if (clock == "boot" || clock.empty()) return tf::FtraceClock::kUnspecified;
  if (clock == "global") return tf::FtraceClock::kGlobal;
  if (clock == "local") return tf::FtraceClock::kLocal;
  if (clock == "mono_raw") return tf::FtraceClock::kMonoRaw;
  return tf::FtraceClock::kUnknown;
}

}  // namespace

Pipeline::Pipeline(const FtraceSpool& spool, const EncodePlan& plan, LazySymbols& symbols,
                   tf::TraceWriter& writer)
    : spool_(spool),
      plan_(plan),
      symbols_(symbols),
      writer_(writer),
      counts_(plan.events().size()),
      cpus_(spool.cpus.size() + spool.marker_cpus.size()) {}

Status Pipeline::Prepare() {
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    cpus_[i].summary.cpu = SpoolOf(i).cpu;
    CULPRIT_TRY(Enqueue(i, 0));
  }
  return {};
}

std::optional<std::uint64_t> Pipeline::first_page_ns() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.top().start_ns;
}

Status Pipeline::Run(unsigned threads, bool low_priority) {
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < std::max(1U, threads); ++i) {
    workers.emplace_back([this, low_priority] {
      if (low_priority) LowerPriority();
      Work();
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (error_) return *error_;
  return {};
}

Status Pipeline::Read(std::size_t cpu, std::uint64_t page, std::span<std::byte> into) const {
  const CpuSpool& spool = SpoolOf(cpu);
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(spool.pages.get(), into.data() + done, into.size() - done,
                                static_cast<off_t>(page * PageBytes() + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError("read", "the spool of CPU " + std::to_string(spool.cpu), errno);
    if (got == 0) {
      return Error{"read the spool of CPU " + std::to_string(spool.cpu) + ": it ends before its " +
                       std::to_string(spool.page_count) + " pages",
                   {}};
    }
    done += static_cast<std::size_t>(got);
  }
  return {};
}

Result<std::uint64_t> Pipeline::PageStart(std::size_t cpu, std::uint64_t page) const {
  std::byte header[64] = {};
  const std::size_t size = std::min<std::size_t>(plan_.page().timestamp_offset + 8, sizeof(header));
  CULPRIT_TRY(Read(cpu, page, std::span(header).first(size)));
  return static_cast<std::uint64_t>(ReadIntegerAt(header, plan_.page().timestamp_offset, 8, false));
}

// Puts a CPU among those that wait for their chunk at `page`; nothing when there is none.
Status Pipeline::Enqueue(std::size_t cpu, std::uint64_t page) {
  cpus_[cpu].next_page = page;
  if (page >= SpoolOf(cpu).page_count) return {};
  CULPRIT_ASSIGN(const std::uint64_t start_ns, PageStart(cpu, page));
  waiting_.push({start_ns, cpu});
  return {};
}

// Reads the chunk's pages, settles where it ends, lets the next one of the CPU be taken, and
// encodes.
Status Pipeline::Encode(Chunk& chunk, std::vector<std::byte>& buffer, BundleWriter& bundle,
                        ChunkOutput& output) {
  buffer.resize(chunk.pages * PageBytes());
  CULPRIT_TRY(Read(chunk.cpu, chunk.first_page, buffer));
  for (std::size_t i = 1; i < chunk.pages; ++i) {
    const auto start_ns = static_cast<std::uint64_t>(
        ReadIntegerAt(buffer, i * PageBytes() + plan_.page().timestamp_offset, 8, false));
    if (start_ns > chunk.start_ns && start_ns - chunk.start_ns > kChunkNs) chunk.pages = i;
  }
  {
    const std::lock_guard lock(mutex_);
    CULPRIT_TRY(Enqueue(chunk.cpu, chunk.first_page + chunk.pages));
    progress_.notify_all();
  }
  output = EncodeChunk(
      plan_, bundle,
      {SpoolOf(chunk.cpu).cpu, std::span<const std::byte>(buffer).first(chunk.pages * PageBytes()),
       PageBytes(), chunk.number == 0, IsMarkers(chunk.cpu)});
  return {};
}

void Pipeline::Work() {
  std::vector<std::byte> buffer;
  BundleWriter bundle(plan_, symbols_, FtraceClockOf(spool_.clock));
  std::unique_lock lock(mutex_);
  while (true) {
    progress_.wait(lock, [this] {
      if (error_) return true;
      if (is_writing_ && ready_bytes_ > kMostWaitingBytes) return false;
      return !waiting_.empty() || in_work_.empty();
    });
    if (error_ || waiting_.empty()) break;
    const Waiting next = waiting_.top();
    waiting_.pop();
    Cpu& cpu = cpus_[next.cpu];
    const std::uint64_t left = SpoolOf(next.cpu).page_count - cpu.next_page;
    const std::uint64_t most = std::max<std::uint64_t>(1, kChunkBytes / PageBytes());
    Chunk chunk{next.cpu, cpu.next_chunk++, next.start_ns, cpu.next_page,
                static_cast<std::size_t>(std::min(left, most))};
    in_work_.push_back(chunk);
    lock.unlock();
    ChunkOutput output;
    const Status status = Encode(chunk, buffer, bundle, output);
    lock.lock();
    if (!status.ok()) {
      if (!error_) error_ = status.error();
      break;
    }
    Deliver(chunk, std::move(output), lock);
  }
  progress_.notify_all();
}

void Pipeline::Deliver(const Chunk& chunk, ChunkOutput output, std::unique_lock<std::mutex>& lock) {
  std::uint64_t order = chunk.number << 20;
  for (EncodedBundle& bundle : output.bundles) {
    ready_bytes_ += bundle.packet.size();
    ready_.push_back(
        {std::max(bundle.start_ns, chunk.start_ns), chunk.cpu, order++, std::move(bundle.packet)});
    std::push_heap(ready_.begin(), ready_.end(), Later{});
  }
  output.bundles.clear();
  std::erase_if(in_work_, [&](const Chunk& other) {
    return other.cpu == chunk.cpu && other.number == chunk.number;
  });
  // Gaps join the end of one chunk with the start of the next: results count in the chunks' order.
  Cpu& cpu = cpus_[chunk.cpu];
  cpu.early.emplace_back(chunk.number, std::move(output));
  for (bool found = true; found;) {
    found = false;
    for (auto it = cpu.early.begin(); it != cpu.early.end(); ++it) {
      if (it->first != cpu.finished_chunk) continue;
      Account(cpu, it->second);
      cpu.early.erase(it);
      ++cpu.finished_chunk;
      found = true;
      break;
    }
  }
  if (!is_writing_) WriteReady(lock);
  progress_.notify_all();
}

void Pipeline::Account(Cpu& cpu, ChunkOutput& output) {
  CpuEncodeSummary& summary = cpu.summary;
  for (const ChunkOutput::Gap& gap : output.gaps) {
    LostGap lost;
    if (gap.begin_ns) {
      lost.begin = TimeNs{static_cast<std::int64_t>(*gap.begin_ns)};
    } else {
      lost.begin = summary.last;
    }
    lost.end = TimeNs{static_cast<std::int64_t>(gap.end_ns)};
    lost.events = gap.events;
    summary.lost_events += gap.events.value_or(0);
    summary.gaps.push_back(lost);
  }
  summary.events += output.events;
  summary.bad_pages += output.bad_pages;
  if (output.first_ns && !summary.first) {
    summary.first = TimeNs{static_cast<std::int64_t>(*output.first_ns)};
  }
  if (output.last_ns) summary.last = TimeNs{static_cast<std::int64_t>(*output.last_ns)};
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += output.counts[i];
  errors_ += output.errors;
  stacks_ += output.stacks;
  for (const std::uint32_t status : output.statuses) {
    if (std::find(statuses_.begin(), statuses_.end(), status) == statuses_.end()) {
      statuses_.push_back(status);
    }
  }
  for (std::string& sample : output.error_samples) {
    if (samples_.size() < kMostSamples &&
        std::find(samples_.begin(), samples_.end(), sample) == samples_.end()) {
      samples_.push_back(std::move(sample));
    }
  }
}

// Moves the earliest bundle to `block` when nothing earlier can come any more.
bool Pipeline::TakeEarliest(std::string& block) {
  if (ready_.empty()) return false;
  const std::uint64_t start_ns = ready_.front().start_ns;
  if (!waiting_.empty() && waiting_.top().start_ns <= start_ns) return false;
  for (const Chunk& chunk : in_work_) {
    if (chunk.start_ns <= start_ns) return false;
  }
  std::pop_heap(ready_.begin(), ready_.end(), Later{});
  block += ready_.back().packet;
  ready_bytes_ -= ready_.back().packet.size();
  ready_.pop_back();
  return true;
}

void Pipeline::WriteReady(std::unique_lock<std::mutex>& lock) {
  constexpr std::size_t kBlockBytes = 1 << 20;
  is_writing_ = true;
  std::string block;
  while (!error_) {
    block.clear();
    while (block.size() < kBlockBytes && TakeEarliest(block)) {
    }
    if (block.empty()) break;
    lock.unlock();
    const Status status = writer_.AppendFramed(block);
    lock.lock();
    if (!status.ok() && !error_) error_ = status.error();
    progress_.notify_all();
  }
  is_writing_ = false;
}

void Pipeline::Summarise(EncodeSummary& summary) const {
  for (std::size_t i = 0; i < cpus_.size(); ++i) {
    const Cpu& cpu = cpus_[i];
    if (!IsMarkers(i)) summary.cpus.push_back(cpu.summary);
    summary.total_events += cpu.summary.events;
    if (cpu.summary.first && (!summary.first || *cpu.summary.first < *summary.first)) {
      summary.first = cpu.summary.first;
    }
    if (cpu.summary.last && (!summary.last || *summary.last < *cpu.summary.last)) {
      summary.last = cpu.summary.last;
    }
  }
  std::sort(summary.cpus.begin(), summary.cpus.end(),
            [](const auto& a, const auto& b) { return a.cpu < b.cpu; });
  for (const auto& event : plan_.events()) {
    if (counts_[event->index] != 0) summary.events[event->name] += counts_[event->index];
  }
  summary.parse_errors = errors_;
  summary.error_samples = samples_;
  summary.kernel_stacks = stacks_;
}

}  // namespace culprit::capture
