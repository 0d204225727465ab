#include "load/append_pool.h"

namespace culprit::load {

AppendPool::AppendPool(const tables::Database& database, unsigned threads)
    : database_(database), most_waiting_(threads + 1) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

AppendPool::~AppendPool() {
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool AppendPool::has_failed() const {
  const std::lock_guard lock(mutex_);
  return error_.has_value();
}

void AppendPool::Submit(const std::string& table, std::size_t rows, Fill fill) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.size() < most_waiting_ || error_.has_value(); });
  if (error_.has_value()) return;
  waiting_.push_back({table, submitted_[table]++, rows, std::move(fill)});
  ++under_way_;
  lock.unlock();
  changed_.notify_all();
}

Status AppendPool::Append(Segment& segment) {
  CULPRIT_ASSIGN(auto appender, tables::Appender::Open(database_, segment.table, segment.rows));
  CULPRIT_TRY(segment.fill(appender));
  segment.fill = nullptr;
  // Its turn comes when all before it are in. Segments are taken up in order, so the one that is
  // waited for is being worked on.
  {
    std::unique_lock lock(mutex_);
    changed_.wait(
        lock, [&] { return committed_[segment.table] == segment.number || error_.has_value(); });
    if (error_.has_value()) return *error_;
  }
  return appender.Close();
}

void AppendPool::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !waiting_.empty() || is_done_; });
    if (waiting_.empty()) return;
    Segment segment = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    changed_.notify_all();
    const Status status = Append(segment);
    lock.lock();
    ++committed_[segment.table];
    --under_way_;
    if (!status.ok() && !error_.has_value()) error_ = status.error();
    changed_.notify_all();
  }
}

Status AppendPool::Finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return under_way_ == 0 || error_.has_value(); });
  if (error_.has_value()) return *error_;
  return {};
}

}  // namespace culprit::load
