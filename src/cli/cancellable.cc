#include "cli/cancellable.h"

namespace culprit::cli {

Cancellable::Cancellable(SignalWatch signals)
    : signals_(std::move(signals)), state_(std::make_unique<State>()) {}

Result<Cancellable> Cancellable::Open() {
  CULPRIT_ASSIGN(auto signals, SignalWatch::Open());
  return Cancellable(std::move(signals));
}

void Cancellable::Run(const std::function<void()>& work) {
  State& state = *state_;
  signals_.During(
      work,
      [&state] {
        state.cancelled = true;
        const std::lock_guard lock(state.session_mutex);
        if (state.session != nullptr) state.session->Interrupt();
      },
      [&state](DurationNs elapsed) {
        const std::lock_guard lock(state.session_mutex);
        query::Session* session = state.session;
        // Again: one that comes before a statement has begun is lost on it.
        if (state.cancelled && session != nullptr) session->Interrupt();
        if (state.hidden) return;
        if (const double pct = state.loaded_pct; pct >= 0) {
          state.progress.Show("loading", pct, elapsed);
        } else if (session != nullptr) {
          state.progress.Show("query", session->ProgressPct(), elapsed);
        }
      });
  HideProgress();
}

void Cancellable::Watch(query::Session* session) {
  const std::lock_guard lock(state_->session_mutex);
  state_->session = session;
}

std::function<bool(const load::LoadProgress&)> Cancellable::OnLoadProgress() {
  return [&state = *state_](const load::LoadProgress& progress) {
    state.loaded_pct = progress.bytes_total == 0 || progress.bytes_done >= progress.bytes_total
                           ? -1
                           : 100.0 * static_cast<double>(progress.bytes_done) /
                                 static_cast<double>(progress.bytes_total);
    return !state.cancelled;
  };
}

void Cancellable::HideProgress() {
  state_->hidden = true;
  state_->progress.Clear();
}

}  // namespace culprit::cli
