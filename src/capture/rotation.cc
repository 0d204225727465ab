#include "capture/rotation.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/file.h"
#include "base/text.h"

namespace culprit::capture {
namespace {

constexpr std::string_view kPattern = "culprit-00000000T000000.000Z.pftrace";  // 0: a digit
// So many segments not yet written mean that the disk cannot follow: the recorder's memory and
// spool must not grow without end.
constexpr std::size_t kMostWaiting = 4;

}  // namespace

std::string RotatedName(std::int64_t unix_ns) {
  const std::time_t seconds = unix_ns / 1'000'000'000;
  const auto milliseconds = static_cast<int>(unix_ns / 1'000'000 % 1000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[96];
  std::snprintf(text, sizeof(text), "culprit-%04d%02d%02dT%02d%02d%02d.%03dZ.pftrace",
                utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                utc.tm_sec, milliseconds);
  return text;
}

bool IsRotatedName(std::string_view name) {
  return name.size() == kPattern.size() &&
         std::equal(name.begin(), name.end(), kPattern.begin(), [](char have, char want) {
           return want == '0' ? have >= '0' && have <= '9' : have == want;
         });
}

std::vector<std::string> PruneRotated(const std::string& directory, const RotationLimits& limits,
                                      std::uint64_t reserve_bytes) {
  struct File {
    std::string name;
    std::uint64_t bytes;
  };
  std::vector<File> files;
  std::uint64_t total = reserve_bytes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(directory.c_str()), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (!IsRotatedName(entry->d_name)) continue;
    struct stat info {};
    const std::string path = JoinPath(directory, entry->d_name);
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    files.push_back({entry->d_name, static_cast<std::uint64_t>(info.st_size)});
    total += files.back().bytes;
  }
  std::ranges::sort(files, {}, &File::name);
  std::vector<std::string> removed;
  for (std::size_t i = 0; i + 1 < files.size(); ++i) {
    const bool too_many = limits.keep > 0 && files.size() - i > limits.keep;
    const bool too_large = limits.max_bytes > 0 && total > limits.max_bytes;
    if (!too_many && !too_large) break;
    if (unlink(JoinPath(directory, files[i].name).c_str()) != 0) continue;
    total -= files[i].bytes;
    removed.push_back(files[i].name);
  }
  return removed;
}

Rotation::Rotation(std::string directory, RotationLimits limits, RecordConfig config, Report report)
    : directory_(std::move(directory)),
      limits_(limits),
      config_(std::move(config)),
      report_(std::move(report)),
      thread_([this] { Run(); }) {}

Rotation::~Rotation() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Rotation::Write(Segment segment, std::int64_t begin_unix_ns) {
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= kMostWaiting) {
    report_(Error{"a file of the rotation was given up: " + std::to_string(jobs_.size()) +
                      " others wait to be written",
                  "record fewer events, or onto a faster disk"});
    return;
  }
  jobs_.push_back({std::move(segment), RotatedName(begin_unix_ns)});
  changed_.notify_all();
}

void Rotation::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty() && !busy_; });
}

std::size_t Rotation::waiting() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size() + (busy_ ? 1 : 0);
}

void Rotation::Run() {
  prctl(PR_SET_NAME, "culprit-write");
  // Of this thread alone, in Linux.
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19));
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    WriteOne(std::move(job));
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

void Rotation::WriteOne(Job job) {
  std::uint64_t raw_bytes = 0;
  for (const CpuSpool& cpu : job.segment.ftrace.cpus) {
    raw_bytes += cpu.page_count * job.segment.ftrace.page_bytes;
  }
  // Room first: with the limit reached, the new file takes the place of the oldest.
  RotationLimits before = limits_;
  if (before.keep > 0) before.keep = std::max<std::size_t>(before.keep - 1, 1);
  PruneRotated(directory_, before, raw_bytes / 2);
  WriteOptions options;
  options.threads = 1;
  const auto file =
      WriteSegment(std::move(job.segment), config_, JoinPath(directory_, job.name), options);
  PruneRotated(directory_, limits_, 0);
  report_(file);
}

}  // namespace culprit::capture
