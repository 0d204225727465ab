#include "load/bundle_decoder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace culprit::load {

BundleDecoder::BundleDecoder(const TraceIndex& index, unsigned threads) : clocks_(index.clocks) {
  struct Place {
    std::int64_t first_ts;
    std::size_t cpu;
    std::size_t bundle;
  };
  std::vector<Place> places;
  for (std::size_t cpu = 0; cpu < index.cpus.size(); ++cpu) {
    const std::vector<BundleRef>& bundles = index.cpus[cpu].bundles;
    jobs_of_.emplace_back(bundles.size());
    for (std::size_t i = 0; i < bundles.size(); ++i)
      places.push_back({bundles[i].first_ts, cpu, i});
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.first_ts < b.first_ts; });
  jobs_.reserve(places.size());
  for (const Place& place : places) {
    jobs_of_[place.cpu][place.bundle] = jobs_.size();
    jobs_.push_back({.bundle = &index.cpus[place.cpu].bundles[place.bundle], .decoded = nullptr});
  }
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

BundleDecoder::~BundleDecoder() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BundleDecoder::Work() {
  std::unique_lock lock(mutex_);
  while (!is_over_ && next_ < jobs_.size()) {
    if (next_ >= taken_ + kAhead) {
      // Woken once half of it is used up, not for each bundle.
      work_.wait(lock, [this] { return is_over_ || next_ < taken_ + kAhead / 2; });
      continue;
    }
    Job& job = jobs_[next_++];
    if (job.phase != Phase::kWaiting) continue;
    job.phase = Phase::kUnderWay;
    std::unique_ptr<DecodedBundle> decoded;
    if (!spare_.empty()) {
      decoded = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    if (decoded == nullptr) decoded = std::make_unique<DecodedBundle>();
    DecodeBundle(*job.bundle, clocks_, *decoded);
    lock.lock();
    job.decoded = std::move(decoded);
    job.phase = Phase::kDone;
    done_.notify_one();
  }
}

void BundleDecoder::Take(std::size_t cpu, std::size_t bundle, DecodedBundle& out) {
  Job& job = jobs_[jobs_of_[cpu][bundle]];
  std::unique_lock lock(mutex_);
  ++taken_;
  if (next_ < jobs_.size() && next_ < taken_ + kAhead / 2) work_.notify_one();
  if (job.phase == Phase::kWaiting) {
    job.phase = Phase::kUnderWay;
    lock.unlock();
    DecodeBundle(*job.bundle, clocks_, out);
    return;
  }
  done_.wait(lock, [&job] { return job.phase == Phase::kDone; });
  CULPRIT_CHECK(job.decoded != nullptr);
  std::swap(*job.decoded, out);
  spare_.push_back(std::move(job.decoded));
}

}  // namespace culprit::load
