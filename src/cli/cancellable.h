// Long work of a verb on a trace: progress on a terminal, and ^C that stops it in order, so that
// no half file stays behind.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "base/signal_watch.h"
#include "load/load.h"
#include "query/progress.h"
#include "query/session.h"

namespace culprit::cli {

// Exit status after ^C, as shells have it.
inline constexpr int kExitCancelled = 130;

// Make it before anything that starts threads (SignalWatch says why).
class Cancellable {
 public:
  static Result<Cancellable> Open();

  // Runs `work` with progress and ^C. Afterwards cancelled() says whether it was stopped.
  void Run(const std::function<void()>& work);

  // For load::LoadOptions and query::SessionOptions.
  std::function<bool(const load::LoadProgress&)> OnLoadProgress();
  // From now on (until nullptr) ^C interrupts this session, and its progress is shown.
  void Watch(query::Session* session);
  bool shows_progress() const { return state_->progress.visible(); }
  // Output has begun: a line of progress would go into it.
  void HideProgress();

  const std::atomic<bool>& cancelled() const { return state_->cancelled; }
  SignalWatch& signals() { return signals_; }

 private:
  struct State {
    std::atomic<bool> cancelled = false;
    std::atomic<bool> hidden = false;
    std::mutex session_mutex;  // held while the session is spoken to: it may be gone afterwards
    query::Session* session = nullptr;
    std::atomic<double> loaded_pct = -1;  // -1: not loading
    query::ProgressLine progress;
  };
  explicit Cancellable(SignalWatch signals);
  SignalWatch signals_;
  std::unique_ptr<State> state_;
};

}  // namespace culprit::cli
