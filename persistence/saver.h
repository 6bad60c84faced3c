// A saver: at each tick it writes the changes since the last one, and it recovers from failures.
//
// A tick takes the changes from the hub and writes them, with those that others took since the last
// tick (save_fold.h): many changes in several parts, each of which is written as a whole or not at
// all. When a write fails, its part is kept and the database is closed, since after a failed sync
// its reports cannot be trusted. The next try reopens the database and begins with that part: 1 s
// after the first failure, then after 2, 4 and from then on 8 s. Ticks before that time fail at
// once. Requests are decided all the time.
//
// Memory: one part, which has at most some 300,000 buckets and holds, and all changed limits and
// policies; and the fold.
//
// One thread calls Save; any thread may call status().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/limiter/change_hub.h"
#include "core/limiter/change_reader.h"
#include "core/policies/policies.h"
#include "persistence/save_fold.h"
#include "persistence/storage.h"

namespace weir {

// Gives the record "history", which says what the state on disk is a state of.
class HistoryRecord {
 public:
  virtual ~HistoryRecord() = default;
  // Called before the first part of a save is taken.
  virtual void BeginSave() = 0;
  // Called before each part is taken. Returns a record to write ahead of the part; empty:
  // there is none.
  [[nodiscard]] virtual std::string UrgentRecord() = 0;
  // Called when that record is on disk.
  virtual void OnUrgentSaved() = 0;
  // Called after each part was taken. Returns the record to write with it; empty: the one on disk
  // stays.
  [[nodiscard]] virtual std::string Record(bool is_last) = 0;
  // Called when all parts of the save are on disk.
  virtual void EndSave() = 0;
  // Called after EndSave. Returns whether the role in the record is this server's own; then the
  // directory no longer counts as a backup.
  [[nodiscard]] virtual bool HasOwnRole() const { return false; }
};

struct SaverOptions {
  DatabaseOptions database;  // with which to reopen it
  // Locks all changed partitions at once, so that a request is saved as a whole or not at all.
  bool consistent_snapshot = false;
  HistoryRecord* history = nullptr;  // null: there is none
};

class Saver {
 public:
  static constexpr Nanos kRetryMin = std::chrono::seconds{1};
  static constexpr Nanos kRetryMax = std::chrono::seconds{8};

  struct Status {
    std::string error;                     // of the last tick; empty: it succeeded
    std::optional<HostInstant> last_save;  // the beginning of the last tick that succeeded
    Nanos last_save_duration{0};
    std::uint64_t last_save_records = 0;  // buckets
    std::uint64_t saves = 0;              // ticks that have written changes
    std::uint64_t failures = 0;
    std::uint64_t unsaved = 0;  // buckets that were taken, but could not be written
  };

  // Attaches to the hub until it is destroyed.
  Saver(ChangeHub& hub, std::unique_ptr<Storage> storage, SaverOptions options);
  ~Saver();
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // A tick. When it returns ok, all changes made before the call are on disk. Before the time of
  // the next try it returns the last failure at once.
  absl::Status Save();

  // Makes a database in `directory` with what the last tick has saved (Database::LinkTo). A failure
  // to write to the own database counts as one of a tick. Requires: the last tick succeeded.
  absl::Status LinkTo(const std::string& directory);

  // The last tick, which tries at once even after a failure, and MarkStopped. The last call.
  absl::Status SaveAndStop();

  [[nodiscard]] Status status() const;

 private:
  absl::Status Reopen();
  absl::Status SaveNow();
  absl::Status WriteUrgentRecord();
  // What is written as a whole.
  struct Part {
    LimiterChanges changes;
    PolicyChanges policies;
    Instant mark;
    Instant drop_mark;
    std::string history;
  };
  // Takes a part from `first_partition` on, and returns where the next one begins.
  std::size_t TakePart(std::size_t first_partition);
  // Writes the part that was taken. Adds its buckets to `written` if there are any changes.
  absl::Status WritePart(std::optional<std::size_t>& written);
  void OnSaved(HostInstant begun, std::optional<std::size_t> written);
  absl::Status OnFailure(const absl::Status& failure);

  ChangeHub& hub_;
  ChangeReader& reader_;
  const Clock& clock_;
  const SaverOptions options_;
  HashSecret secret_;  // on disk, as far as is known
  SaveFold fold_;
  std::unique_ptr<Storage> storage_;  // null after a failure
  std::optional<Part> part_;          // taken and not written yet
  absl::Status failure_;              // of the last tick
  Nanos retry_after_ = kRetryMin;
  HostInstant retry_at_{};

  mutable Mutex mutex_;
  Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
