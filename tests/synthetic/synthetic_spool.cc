#include "synthetic/synthetic_spool.h"

#include <cstring>
#include <vector>

#include "base/file.h"

namespace culprit::synthetic {
namespace {

constexpr std::uint64_t kBeginNs = 1'000'000'000'000;

constexpr std::string_view kCommonFields =
    "format:\n"
    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

void Append(std::string& out, std::uint32_t word) {
  out.append(reinterpret_cast<const char*>(&word), sizeof(word));
}

// Puts a value at its place in a record.
template <class T>
void Put(std::string& record, std::size_t offset, T value) {
  std::memcpy(record.data() + offset, &value, sizeof(value));
}

void PutComm(std::string& record, std::size_t offset, std::string_view comm) {
  comm = comm.substr(0, 15);
  comm.copy(record.data() + offset, comm.size());
}

// A small generator whose sequence is fixed for all time, unlike those of <random>'s distributions.
class Sequence {
 public:
  explicit Sequence(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  std::uint32_t Below(std::uint32_t limit) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 33) % limit);
  }

 private:
  std::uint64_t state_;
};

struct Thread {
  std::int32_t pid;
  std::string comm;
  std::int32_t prio;
  bool is_runnable = false;
};

// One CPU: its threads, who runs, and the pages that tell it.
class CpuScript {
 public:
  CpuScript(const SpoolOptions& options, int cpu)
      : options_(options),
        cpu_(cpu),
        sequence_(options.seed * 1000 + static_cast<std::uint64_t>(cpu)),
        time_ns_(kBeginNs + static_cast<std::uint64_t>(cpu) * 137),
        page_(options.page_bytes, time_ns_) {
    threads_.push_back({0, "swapper/" + std::to_string(cpu), 120, true});
    for (int i = 0; i < options.threads_per_cpu; ++i) {
      threads_.push_back(
          {1000 * (cpu + 1) + i, "worker-" + std::to_string(i), 100 + i % 40, false});
    }
  }

  Result<capture::CpuSpool> Write(std::uint64_t events) {
    capture::CpuSpool spool;
    spool.cpu = cpu_;
    CULPRIT_ASSIGN(spool.pages, OpenNamelessFile(options_.directory));
    for (std::uint64_t done = 0; done < events;) {
      done += Step(events - done);
      if (block_.size() >= (1U << 20)) CULPRIT_TRY(Flush(spool));
    }
    if (!page_.empty()) EndPage(time_ns_);
    CULPRIT_TRY(Flush(spool));
    spool.page_count = pages_;
    spool.at_end.read_events = events;
    return spool;
  }

 private:
  // A wakeup where the next thread slept, and the switch to it; returns the number of events.
  std::uint64_t Step(std::uint64_t left) {
    std::size_t next = sequence_.Below(4) == 0 ? 0 : 1 + sequence_.Below(ThreadCount());
    if (next == current_) next = current_ == 0 ? 1 : 0;
    std::uint64_t events = 0;
    Thread& to = threads_[next];
    if (!to.is_runnable && left > 1) {
      Advance(2000);
      Add(Bytes(WakingRecord{threads_[current_].pid, to.comm, to.pid, to.prio, cpu_,
                             static_cast<std::uint8_t>(sequence_.Below(2) * 8)}));
      ++events;
    }
    Thread& from = threads_[current_];
    const std::uint32_t kind = sequence_.Below(16);
    const std::int64_t state = current_ == 0 ? 0 : kind == 0 ? 2 : kind < 3 ? 0x100 : 1;
    from.is_runnable = state == 0 || state == 0x100;
    Advance(6000);
    Add(Bytes(SwitchRecord{from.comm, from.pid, from.prio, state, to.comm, to.pid, to.prio}));
    current_ = next;
    return events + 1;
  }

  std::uint32_t ThreadCount() const { return static_cast<std::uint32_t>(threads_.size() - 1); }
  void Advance(std::uint32_t most_ns) { time_ns_ += 200 + sequence_.Below(most_ns); }

  void Add(const std::string& record) {
    if (page_.Add(time_ns_, record)) return;
    EndPage(time_ns_);
    page_.Add(time_ns_, record);
  }

  void EndPage(std::uint64_t next_start_ns) {
    block_ += page_.Finish();
    ++pages_;
    page_ = PageWriter(options_.page_bytes, next_start_ns);
  }

  Status Flush(capture::CpuSpool& spool) {
    const Status status = WriteAll(spool.pages.get(), block_, "synthetic spool");
    block_.clear();
    return status;
  }

  const SpoolOptions& options_;
  int cpu_;
  Sequence sequence_;
  std::uint64_t time_ns_;
  PageWriter page_;
  std::vector<Thread> threads_;
  std::size_t current_ = 0;
  std::string block_;
  std::uint64_t pages_ = 0;
};

}  // namespace

PageWriter::PageWriter(std::uint32_t page_bytes, std::uint64_t start_ns, std::uint32_t commit_bytes)
    : page_bytes_(page_bytes),
      start_ns_(start_ns),
      time_ns_(start_ns),
      commit_bytes_(commit_bytes) {}

bool PageWriter::Add(std::uint64_t time_ns, std::string_view data) {
  const std::uint64_t delta = time_ns - time_ns_;
  const bool is_extended = delta >= (1ULL << 27);
  const std::size_t words = (data.size() + 3) / 4;
  const bool is_large = words > 28;
  const std::size_t size = (is_extended ? 8 : 0) + (is_large ? 8 : 4) + words * 4;
  if (data_.size() + size > page_bytes_ - 8 - commit_bytes_) return false;
  if (is_extended) {
    Append(data_, 30 | static_cast<std::uint32_t>(delta & ((1U << 27) - 1)) << 5);
    Append(data_, static_cast<std::uint32_t>(delta >> 27));
  }
  const std::uint32_t short_delta = is_extended ? 0 : static_cast<std::uint32_t>(delta);
  Append(data_, (is_large ? 0 : static_cast<std::uint32_t>(words)) | short_delta << 5);
  if (is_large) Append(data_, static_cast<std::uint32_t>(words * 4 + 4));
  data_ += data;
  data_.append(words * 4 - data.size(), '\0');
  time_ns_ = time_ns;
  return true;
}

std::string PageWriter::Finish() const {
  std::string page(16, '\0');
  Put(page, 0, start_ns_);
  Put(page, 8, data_.size() | (lost_ != 0 ? 3ULL << 30 : 0));
  page.resize(8 + commit_bytes_);
  page += data_;
  if (lost_ != 0) page.append(reinterpret_cast<const char*>(&lost_), sizeof(lost_));
  page.resize(page_bytes_);
  return page;
}

std::string Bytes(const SwitchRecord& record) {
  std::string bytes(64, '\0');
  Put(bytes, 0, kSwitchId);
  Put(bytes, 4, record.prev_pid);
  PutComm(bytes, 8, record.prev_comm);
  Put(bytes, 24, record.prev_pid);
  Put(bytes, 28, record.prev_prio);
  Put(bytes, 32, record.prev_state);
  PutComm(bytes, 40, record.next_comm);
  Put(bytes, 56, record.next_pid);
  Put(bytes, 60, record.next_prio);
  return bytes;
}

std::string Bytes(const WakingRecord& record) {
  std::string bytes(36, '\0');
  Put(bytes, 0, kWakingId);
  Put(bytes, 2, record.common_flags);
  Put(bytes, 4, record.common_pid);
  PutComm(bytes, 8, record.comm);
  Put(bytes, 24, record.pid);
  Put(bytes, 28, record.prio);
  Put(bytes, 32, record.target_cpu);
  return bytes;
}

capture::EventFormatText SwitchFormat() {
  return {
      "sched", "sched_switch",
      "name: sched_switch\nID: " + std::to_string(kSwitchId) + "\n" + std::string(kCommonFields) +
          "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
          "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
          "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
          "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
          "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
          "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
          "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
          "print fmt: \"prev_state=%s%s\", (REC->prev_state & 0xff) ? "
          "__print_flags(REC->prev_state & 0xff, \"|\", { 0x01, \"S\" }, { 0x02, \"D\" }, "
          "{ 0x04, \"T\" }, { 0x08, \"t\" }, { 0x10, \"X\" }, { 0x20, \"Z\" }, "
          "{ 0x40, \"P\" }, { 0x80, \"I\" }) : \"R\", REC->prev_state & 0x100 ? \"+\" : \"\"\n"};
}

capture::EventFormatText WakingFormat() {
  return {"sched", "sched_waking",
          "name: sched_waking\nID: " + std::to_string(kWakingId) + "\n" +
              std::string(kCommonFields) +
              "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
              "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
              "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
              "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n"
              "print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, "
              "REC->prio, REC->target_cpu\n"};
}

std::string HeaderPage(std::uint32_t page_bytes) {
  return "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
         "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
         "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
         "\tfield: char data;\toffset:16;\tsize:" +
         std::to_string(page_bytes - 16) + ";\tsigned:0;\n";
}

std::string HeaderEvent() {
  return "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
         "\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n"
         "\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
}

Result<capture::FtraceSpool> MakeSpool(const SpoolOptions& options) {
  capture::FtraceSpool spool;
  spool.page_bytes = options.page_bytes;
  spool.header_page = HeaderPage(options.page_bytes);
  spool.header_event = HeaderEvent();
  spool.formats = {SwitchFormat(), WakingFormat()};
  for (int cpu = 0; cpu < options.cpus; ++cpu) {
    const auto cpus = static_cast<std::uint64_t>(options.cpus);
    const std::uint64_t share =
        options.events / cpus + (static_cast<std::uint64_t>(cpu) < options.events % cpus ? 1 : 0);
    CULPRIT_ASSIGN(capture::CpuSpool cpu_spool, CpuScript(options, cpu).Write(share));
    spool.cpus.push_back(std::move(cpu_spool));
  }
  return spool;
}

}  // namespace culprit::synthetic
