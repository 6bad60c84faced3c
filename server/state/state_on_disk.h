// The server's state on disk, from the opening of the directory to the clean stop.
//
//     auto state = StateOnDisk::Open(options);         // gives the secret and the clock's start
//     (*state)->StartLoading(hub, on_loaded);
//     (*state)->StartSaving(settings, on_saved);       // once it is loaded
//     (*state)->Stop();                                // saves the rest
//
// The thread that owns the object calls these functions, in this order. Sessions and INFO call the
// others, from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/clock.h"
#include "core/base/thread_role.h"
#include "core/limiter/change_hub.h"
#include "persistence/backup_directory.h"
#include "persistence/saver.h"
#include "persistence/storage.h"
#include "server/config/options.h"
#include "server/config/settings.h"
#include "server/os/system_clock.h"
#include "server/os/waiting_thread.h"
#include "server/state/save_thread.h"

namespace weir {

// public-functions: 27, one row of functions for each file of the state.
class StateOnDisk {
 public:
  // Opens the data directory, and that of backups. Null if the options keep no state on disk.
  static absl::StatusOr<std::unique_ptr<StateOnDisk>> Open(const Options& options);
  // Ends the thread, without a last save.
  ~StateOnDisk();
  StateOnDisk(const StateOnDisk&) = delete;
  StateOnDisk& operator=(const StateOnDisk&) = delete;

  [[nodiscard]] const HashSecret& secret() const noexcept { return secret_; }
  // The shift of the clock of decisions over the host's, of a server that was promoted once and
  // stopped cleanly as a primary; else 0.
  [[nodiscard]] Nanos kept_shift() const noexcept { return kept_shift_; }
  // The time that the host's clock must not precede, so that full buckets stay full.
  [[nodiscard]] SystemClock::PreviousRun previous_run() const noexcept { return previous_run_; }

  // Says that the server's clock began at previous_run(), because the wall clock is behind that.
  // Until something is saved, the next start must begin there, too. Requires: StartLoading() was
  // not called.
  void KeepClockPast();

  // Whether the state may lack what the server has answered or acknowledged: it was not stopped
  // cleanly and saved no change at once, or was restored from a backup, or damage was accepted.
  [[nodiscard]] bool may_lack() const noexcept { return may_lack_; }
  // Whether damage was accepted: the state is not that of the record "history" at its offset.
  [[nodiscard]] bool has_losses() const noexcept { return has_losses_; }
  // Whether RL.BACKUP has made the directory: the record "history" gives no role.
  [[nodiscard]] bool is_backup() const noexcept { return is_backup_; }
  // The record "history" on disk (replication/history.h), or an empty text.
  [[nodiscard]] const std::string& history() const noexcept { return history_; }
  // Makes each save write that record, too. Requires: StartLoading() was not called.
  void KeepHistory(HistoryRecord& history);

  // Begins to load the state on a thread, which calls `on_loaded` at its end.
  void StartLoading(ChangeHub& hub, std::function<void(const absl::Status&)> on_loaded);
  void StartSaving(const Settings& settings, SaveThread::OnSaved on_saved);
  // Ends the job of the thread; no callback is called afterwards.
  void Halt();
  // Halts, saves what is not saved yet and records a clean stop. Fails if that is not possible.
  absl::Status Stop();

  // --- From any thread ---

  // True until StartSaving.
  [[nodiscard]] bool loading() const noexcept { return loading_.load(std::memory_order_acquire); }
  // True if the reply to every change must wait for a save (--durability always).
  [[nodiscard]] bool always() const noexcept { return always_; }
  // True if the last save failed.
  [[nodiscard]] bool is_failing() const noexcept { return !loading() && save_thread_->failing(); }
  // True if every change must be saved before it is answered, and the last save failed.
  [[nodiscard]] bool writes_blocked() const noexcept { return always_ && is_failing(); }
  // Requests a save that begins later, and returns its ticket. Requires: !loading().
  [[nodiscard]] std::uint64_t RequestSave();

  // True if the options name a directory of backups.
  [[nodiscard]] bool has_backups() const noexcept { return backups_ != nullptr; }
  // Requests a save, and calls `task` at its end on the thread of saves, with the save's result.
  // Requires: !loading() and has_backups().
  using BackupTask =
      std::function<void(const absl::Status& saved, Saver& saver, BackupDirectory& backups)>;
  void RunAfterSave(BackupTask task);

  [[nodiscard]] const LoadReport& load_report() const noexcept { return load_report_; }
  [[nodiscard]] Nanos load_time() const noexcept { return load_time_.load(); }
  [[nodiscard]] bool unclean_restart() const noexcept { return unclean_restart_; }
  [[nodiscard]] bool saving() const noexcept { return !loading() && save_thread_->saving(); }
  // Requires: !loading().
  [[nodiscard]] Saver::Status status() const;

 private:
  StateOnDisk(const Options& options, std::unique_ptr<Storage> storage,
              std::unique_ptr<BackupDirectory> backups);
  void Load(ChangeHub& hub, const std::function<void(const absl::Status&)>& on_loaded);
  [[nodiscard]] bool has_begun_to_load() const noexcept { return clock_ != nullptr; }

  SaverOptions saver_options_;
  const bool always_;
  const HashSecret secret_;
  const std::string history_;
  const bool unclean_restart_;
  const bool is_backup_;
  const bool has_losses_;
  const bool may_lack_;
  const Nanos kept_shift_;
  const SystemClock::PreviousRun previous_run_;
  bool keeps_clock_past_ = false;

  const Clock* clock_ = nullptr;  // set by StartLoading
  ThreadRole saver_thread_;       // of weir-saver
  // Moves to the saver once it is loaded.
  std::unique_ptr<Storage> storage_ ABSL_GUARDED_BY(saver_thread_);
  std::atomic<bool> loading_{true};
  std::atomic<bool> stop_{false};
  LoadReport load_report_;
  std::atomic<Nanos> load_time_{Nanos{0}};
  WaitingThread thread_{"weir-saver"};  // loads, and then saves
  // Null: there is none.
  const std::unique_ptr<BackupDirectory> backups_ ABSL_PT_GUARDED_BY(saver_thread_);
  std::optional<Saver> saver_;
  std::optional<SaveThread> save_thread_;
};

}  // namespace weir
