#include "server/state/state_on_disk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <spdlog/spdlog.h>

#include "core/base/check.h"
#include "replication/history.h"
#include "server/os/log.h"

namespace weir {
namespace {

// After a crash, the clock may have handed out later times than the one on disk: those of the tick
// under way, and of the interval before it. With `always`, no answer depends on such a time.
constexpr int kIntervalsUnknown = 2;

// No two hosts whose clocks are kept differ by more.
constexpr Nanos kShiftMax = std::chrono::hours{24};

// Returns the shift of a server that was no replica when it was stopped cleanly.
Nanos KeptShiftOf(const Storage& storage, const Options& options) {
  if (options.reset_clock || storage.unclean_restart() || storage.is_backup()) return Nanos{0};
  const std::optional<History> history = ReadHistoryValue(storage.history());
  if (!history || history->is_replica) return Nanos{0};
  const Nanos shift = history->clock_shift;
  if (shift >= -kShiftMax && shift <= kShiftMax) return shift;
  spdlog::warn("the last run's time was {} s from its host's clock, which is too much to keep",
               std::chrono::floor<std::chrono::seconds>(shift).count());
  return Nanos{0};
}

// Times of the host's clock, from those of the last run.
SystemClock::PreviousRun PreviousRunOf(const Storage& storage, const Options& options,
                                       Nanos shift) {
  if (options.reset_clock) return {};
  const bool may_be_later = storage.unclean_restart() && options.durability != Durability::kAlways;
  const Nanos unknown =
      may_be_later ? kIntervalsUnknown * Nanos{options.snapshot_interval} : Nanos{0};
  return {.last_time = storage.clock_mark() - shift,
          .uncertainty = std::max(unknown, storage.clock_allowance())};
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateOnDisk>> StateOnDisk::Open(const Options& options) {
  if (!options.keeps_state()) return nullptr;
  absl::StatusOr<std::unique_ptr<Storage>> storage =
      Storage::Open({.directory = options.data_dir, .accept_damage = options.accept_damaged_state});
  if (!storage.ok()) return storage.status();
  for (const std::string& loss : (*storage)->accepted_losses()) {
    spdlog::warn("data directory {}: {}", EscapedForLog(options.data_dir), EscapedForLog(loss));
  }
  std::unique_ptr<BackupDirectory> backups;
  if (!options.backup_dir.empty()) {
    auto opened = BackupDirectory::Open(options.backup_dir, options.data_dir);
    if (!opened.ok()) return opened.status();
    backups = *std::move(opened);
  }
  return std::unique_ptr<StateOnDisk>(
      new StateOnDisk(options, *std::move(storage), std::move(backups)));
}

StateOnDisk::StateOnDisk(const Options& options, std::unique_ptr<Storage> storage,
                         std::unique_ptr<BackupDirectory> backups)
    : saver_options_{.database = {.directory = options.data_dir},
                     .consistent_snapshot = options.durability == Durability::kAlways},
      always_(options.durability == Durability::kAlways),
      secret_(storage->secret()),
      history_(storage->history()),
      unclean_restart_(storage->unclean_restart()),
      is_backup_(storage->is_backup()),
      has_losses_(!storage->accepted_losses().empty()),
      may_lack_((unclean_restart_ && !always_) || is_backup_ || has_losses_),
      kept_shift_(KeptShiftOf(*storage, options)),
      previous_run_(PreviousRunOf(*storage, options, kept_shift_)),
      storage_(std::move(storage)),
      backups_(std::move(backups)) {}

StateOnDisk::~StateOnDisk() { Halt(); }

void StateOnDisk::Halt() {
  stop_ = true;
  if (save_thread_) save_thread_->Stop();
  thread_.Await();
}

void StateOnDisk::KeepClockPast() {
  WEIR_CHECK(!has_begun_to_load());
  keeps_clock_past_ = true;
}

void StateOnDisk::KeepHistory(HistoryRecord& history) {
  WEIR_CHECK(!has_begun_to_load());
  saver_options_.history = &history;
}

void StateOnDisk::StartLoading(ChangeHub& hub, std::function<void(const absl::Status&)> on_loaded) {
  WEIR_CHECK(!has_begun_to_load());
  clock_ = &hub.clock();
  thread_.Begin([this, &hub, done = std::move(on_loaded)] { Load(hub, done); });
}

void StateOnDisk::Load(ChangeHub& hub, const std::function<void(const absl::Status&)>& on_loaded) {
  saver_thread_.TakeOver();
  const auto [now, begun] = hub.clock().Read();
  if (storage_->had_exhausted_record()) {
    spdlog::warn(
        "the state was saved with --unclean-restart empty, an option that no longer exists: "
        "buckets "
        "that are not on disk are full");
  }
  const LoadOptions options{.now = now,
                            .drops_full = hub.drops_full(),
                            .clock_allowance = keeps_clock_past_
                                                   ? std::optional(previous_run_.uncertainty)
                                                   : std::nullopt};
  absl::Status loaded = storage_->Load(hub.table(), hub.policies(), options, load_report_, stop_);
  load_time_ = hub.clock().HostNow() - begun;
  if (storage_->holds_are_stale() && load_report_.dropped_holds > 0) {
    spdlog::warn(
        "an older server has used the data directory since holds were saved: {} of them are gone, "
        "and their charges stay",
        load_report_.dropped_holds.load());
  }
  for (const std::string& error : load_report_.errors) {
    spdlog::warn("a record on disk is bad: {}", EscapedForLog(error));
  }
  if (loaded.ok()) {
    saver_.emplace(hub, std::move(storage_), saver_options_);
  }
  on_loaded(loaded);
}

void StateOnDisk::StartSaving(const Settings& settings, SaveThread::OnSaved on_saved) {
  WEIR_CHECK(loading());
  thread_.Await();
  WEIR_CHECK(saver_.has_value());
  save_thread_.emplace(thread_, *saver_, *clock_, settings, std::move(on_saved));
  loading_.store(false, std::memory_order_release);
}

std::uint64_t StateOnDisk::RequestSave() {
  WEIR_CHECK(!loading());
  return save_thread_->Request();
}

void StateOnDisk::RunAfterSave(BackupTask task) {
  WEIR_CHECK(has_backups());
  WEIR_CHECK(!loading());
  save_thread_->RunAfterSave([this, task = std::move(task)](const absl::Status& saved) {
    saver_thread_.AssertHeld();
    task(saved, *saver_, *backups_);
  });
}

Saver::Status StateOnDisk::status() const {
  WEIR_CHECK(!loading());
  return saver_->status();
}

absl::Status StateOnDisk::Stop() {
  Halt();
  // A load that was interrupted has made no saver and has changed nothing on disk.
  return saver_ ? saver_->SaveAndStop() : absl::OkStatus();
}

}  // namespace weir
