// The state of a limiter and its policies on disk: loaded once, then saved as it changes.
//
//     auto storage = Storage::Open({.directory = "data"});          // the secret, the clock's mark
//     (*storage)->Load(limiter.table(), policies, {.now = clock.Now()}, report, stop);
//     (*storage)->Save(reader.TakeChanges(now, false), policies.TakeChanges(), mark, mark);
//     (*storage)->MarkStopped(clock.Now());
//
// When to save, and what to do after a failure, is decided in saver.h. Not thread-safe: one thread
// uses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/limiter/limiter_restore.h"
#include "core/policies/policies.h"
#include "core/table/key_hash.h"
#include "core/table/table_generation.h"
#include "persistence/database.h"
#include "persistence/format.h"
#include "persistence/load_report.h"

namespace weir {

// The records on disk.
struct RecordCounts {
  std::uint64_t records = 0;
  std::uint64_t flushed = 0;  // buckets and holds of earlier generations, which no load reads
  std::uint64_t unknown = 0;  // of kinds that this version does not know, and leaves alone
};

class Storage {
 public:
  // Opens a directory, or begins a new database there. Fails as Database::Open does, with
  // kFailedPrecondition if the format is not ours (the text has both versions), and with kDataLoss
  // if a meta record is missing or damaged.
  static absl::StatusOr<std::unique_ptr<Storage>> Open(const DatabaseOptions& options);

  // --- What Open has found ---

  [[nodiscard]] const HashSecret& secret() const noexcept { return secret_; }
  // The highest time that had been handed out at the last write; the epoch in a new database.
  [[nodiscard]] Instant clock_mark() const noexcept { return clock_mark_; }
  // The time past the mark at which the last server's clock began, if that server has saved
  // nothing; else 0.
  [[nodiscard]] Nanos clock_allowance() const noexcept { return clock_allowance_; }
  // True if the last server that used it has not called MarkStopped.
  [[nodiscard]] bool unclean_restart() const noexcept { return unclean_restart_; }
  // True if a 0.1.0 server with `--unclean-restart empty` used it last. The first Load erases the
  // record of that option: a bucket without a record is full.
  [[nodiscard]] bool had_exhausted_record() const noexcept { return had_exhausted_record_; }
  // True if an older server, which does not know holds, has used the directory since holds were
  // saved. Then a load drops the holds: their buckets and limits may have changed.
  [[nodiscard]] bool holds_are_stale() const noexcept { return holds_clock_ != clock_mark_; }
  // The record "history", or an empty text.
  [[nodiscard]] const std::string& history() const noexcept { return history_; }
  // As Database::is_backup: if true, the role in the record "history" is outdated.
  [[nodiscard]] bool is_backup() const noexcept { return database_->is_backup(); }
  // As Database::accepted_losses.
  [[nodiscard]] const std::vector<std::string>& accepted_losses() const noexcept {
    return database_->accepted_losses();
  }
  // The generation of the buckets on disk.
  [[nodiscard]] TableGeneration generation() const noexcept { return generation_; }

  // Fills the limiter and the policies, and writes that a server uses the directory. Counts a bad
  // record in the report and continues. A read-only storage is loaded the same way, and writes
  // nothing. If a record contradicts a meta record, it fails with
  // kDataLoss or, with accept_damage, counts a bad record and corrects the contradiction. Fails
  // with kCancelled as soon as `stop` is true, and as Database does. Cost: about 0.5 us a bucket.
  // Requires: an empty limiter, no policies.
  absl::Status Load(LimiterTable& table, Policies& policies, const LoadOptions& options,
                    LoadReport& report, const std::atomic<bool>& stop);

  // Reads every record, also those that a load passes over. Fails as Database::Scan does.
  [[nodiscard]] absl::StatusOr<RecordCounts> CountRecords() const;

  // Writes the changes, all or none. From then on buckets that were full before `drop_mark` may be
  // dropped from disk. Requires: `mark` is no earlier than any time handed out before, and no
  // earlier than `drop_mark`; no Save has failed before. `history`: if it is not empty, the record
  // of that name.
  absl::Status Save(const LimiterChanges& limiter, const PolicyChanges& policies, Instant mark,
                    Instant drop_mark, std::string_view history = {});
  // Writes the record "history" alone. Fails and requires as Save.
  absl::Status SaveHistory(std::string_view history);

  // Writes the clock's mark, and moves all records into files whose every byte a checksum covers.
  // Fails and requires as Save.
  absl::Status Flush(Instant mark);

  // As Database::LinkTo. Requires: Flush has succeeded after the last Save.
  absl::Status LinkTo(const std::string& directory) { return database_->LinkTo(directory); }

  // As Database::RemoveBackupFile.
  absl::Status ForgetBackup() { return database_->RemoveBackupFile(); }

  // Writes that the server has saved all changes and stops, and flushes. The last call.
  absl::Status MarkStopped(Instant mark);

 private:
  Storage(std::unique_ptr<Database> database, bool accept_damage)
      : database_(std::move(database)), accept_damage_(accept_damage) {}
  [[nodiscard]] absl::Status RecordIs(std::string_view how, std::string_view name) const;
  absl::Status Begin();
  absl::Status ReadMeta();
  absl::Status Erase(const std::vector<std::string>& keys);
  void AllowDrops(Instant mark);

  const std::unique_ptr<Database> database_;
  const bool accept_damage_;
  HashSecret secret_{};
  Instant clock_mark_{};
  Instant holds_clock_{};         // on disk
  Nanos clock_allowance_{0};      // on disk
  TableGeneration generation_{};  // on disk
  std::string history_;           // on disk
  std::uint32_t next_policy_ = 0;
  bool unclean_restart_ = false;
  bool had_exhausted_record_ = false;
};

}  // namespace weir
