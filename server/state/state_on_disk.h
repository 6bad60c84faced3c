// The server's state on disk, from the opening of the directory to the clean stop.
//
//     auto state = StateOnDisk::Open(options);         // its secret and clock are needed first
//     (*state)->StartLoading(limiter, policies, clock, on_loaded);
//     (*state)->StartSaving(settings, on_saved);       // once it is loaded
//     (*state)->Stop();                                // saves the rest
//
// The functions of a life are for the thread that owns it, in that order; those that sessions and
// INFO ask are for any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/clock.h"
#include "core/limiter/limiter.h"
#include "core/words/policies.h"
#include "persistence/saver.h"
#include "persistence/storage.h"
#include "server/config/options.h"
#include "server/config/settings.h"
#include "server/os/system_clock.h"
#include "server/state/save_thread.h"

namespace weir {

class StateOnDisk {
 public:
  // Null where the options want none.
  static absl::StatusOr<std::unique_ptr<StateOnDisk>> Open(const Options& options);
  // Ends the threads, without a last save.
  ~StateOnDisk();
  StateOnDisk(const StateOnDisk&) = delete;
  StateOnDisk& operator=(const StateOnDisk&) = delete;

  [[nodiscard]] const HashSecret& secret() const noexcept { return secret_; }
  // What the server's clock has to go on from: what was full must not be less full again.
  [[nodiscard]] SystemClock::PreviousRun previous_run() const noexcept { return previous_run_; }

  // The server's clock began at previous_run() because the wall clock is behind it. The next start
  // is then to begin there, too, until something is saved. Before StartLoading.
  void KeepClockPast() noexcept { keeps_clock_past_ = true; }

  // Loads in a thread of its own, which calls `on_loaded` at its end.
  void StartLoading(Limiter& limiter, Policies& policies, const Clock& clock,
                    std::function<void(const absl::Status&)> on_loaded);
  void StartSaving(const Settings& settings, SaveThread::OnSaved on_saved);
  // Ends the threads: no callback comes any more.
  void Halt();
  // Halts. What was loaded is saved and the stop is noted to be a clean one; fails if
  // that is not possible.
  absl::Status Stop();

  // --- From any thread ---

  // True until StartSaving.
  [[nodiscard]] bool loading() const noexcept { return loading_.load(std::memory_order_acquire); }
  // Replies to what has changed something have to wait for a save.
  [[nodiscard]] bool always() const noexcept { return always_; }
  // Every change has to be saved before it is answered, and nothing can be just now.
  [[nodiscard]] bool writes_blocked() const noexcept {
    return always_ && !loading() && save_thread_->failing();
  }
  // The ticket of a save that begins later. Requires: !loading().
  [[nodiscard]] std::uint64_t RequestSave() { return save_thread_->Request(); }

  [[nodiscard]] const LoadReport& load_report() const noexcept { return load_report_; }
  [[nodiscard]] Nanos load_time() const noexcept { return load_time_.load(); }
  [[nodiscard]] bool unclean_restart() const noexcept { return unclean_restart_; }
  [[nodiscard]] bool saving() const noexcept { return !loading() && save_thread_->saving(); }
  // Requires: !loading().
  [[nodiscard]] Saver::Status status() const { return saver_->status(); }

 private:
  StateOnDisk(const Options& options, std::unique_ptr<Storage> storage);
  void Load(Limiter& limiter, Policies& policies, const Clock& clock,
            const std::function<void(const absl::Status&)>& on_loaded);

  const SaverOptions saver_options_;
  const bool always_;
  const HashSecret secret_;
  const bool unclean_restart_;
  const SystemClock::PreviousRun previous_run_;
  bool keeps_clock_past_ = false;

  const Clock* clock_ = nullptr;      // set by StartLoading
  std::unique_ptr<Storage> storage_;  // until the saver has it
  std::atomic<bool> loading_{true};
  std::atomic<bool> stop_{false};
  LoadReport load_report_;
  std::atomic<Nanos> load_time_{Nanos{0}};
  std::thread load_thread_;
  std::optional<Saver> saver_;
  std::optional<SaveThread> save_thread_;
};

}  // namespace weir
