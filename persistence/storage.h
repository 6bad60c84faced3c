// The state of a limiter and its policies on disk: loaded once, then written as it changes.
//
//     auto storage = Storage::Open({.directory = "data"});          // the secret, the clock's mark
//     auto report = (*storage)->Load(limiter, policies, {.now = clock.Now()});
//     (*storage)->Save(limiter.TakeChanges(now, false), policies.TakeChanges(), clock.Now());
//     (*storage)->MarkStopped(clock.Now());
//
// It decides nothing about when to save and what to do when that fails: saver.h does. Not
// thread-safe: one thread uses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/limiter/limiter.h"
#include "core/table/key_hash.h"
#include "core/words/policies.h"
#include "persistence/database.h"
#include "persistence/format.h"

namespace weir {

// How a load goes. Any thread may read it.
struct LoadReport {
  std::atomic<std::uint64_t> loaded{0};   // buckets
  std::atomic<std::uint64_t> dropped{0};  // buckets: full by now, or their limit or policy is gone
  std::atomic<std::uint64_t> bad{0};      // records that do not read as any, or say what cannot be
};

struct LoadOptions {
  Instant now{};
  bool drops_full = true;  // buckets that are full by now; false where clients bring the time
  // Set where the wall clock is behind the mark on disk and the clock began so far past the mark.
  // Both stay on disk until the first save, so that restarts in a row add up to one allowance.
  std::optional<Nanos> clock_allowance = std::nullopt;
};

class Storage {
 public:
  // Opens a directory, or begins a new database there. Fails as Database::Open does, and with
  // kFailedPrecondition where the format is another than ours, naming both versions.
  static absl::StatusOr<std::unique_ptr<Storage>> Open(const DatabaseOptions& options);

  // --- What the database was found to have ---

  [[nodiscard]] const HashSecret& secret() const noexcept { return secret_; }
  // The highest time that had been handed out when it was written last; the epoch if it is new.
  [[nodiscard]] Instant clock_mark() const noexcept { return clock_mark_; }
  // How far past the mark the last use began, where it has saved nothing since; else 0.
  [[nodiscard]] Nanos clock_allowance() const noexcept { return clock_allowance_; }
  // The server that used it last did not come to MarkStopped.
  [[nodiscard]] bool unclean_restart() const noexcept { return unclean_restart_; }
  // A 0.1.0 server with `--unclean-restart empty` used it last. The first Load erases the record of
  // that: a bucket without a record is full.
  [[nodiscard]] bool had_exhausted_record() const noexcept { return had_exhausted_record_; }
  // As Database::accepted_losses.
  [[nodiscard]] const std::vector<std::string>& accepted_losses() const noexcept {
    return database_->accepted_losses();
  }
  // Of the buckets on disk now.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }

  // Fills a limiter and policies that are empty, and notes on disk that a server uses it. Returns
  // kCancelled as soon as `stop` is true. Cost: about 0.5 us a bucket.
  absl::Status Load(Limiter& limiter, Policies& policies, const LoadOptions& options,
                    LoadReport& report, const std::atomic<bool>& stop);

  // Writes what has changed: all of it is on disk afterwards, or none. `mark`: no earlier than any
  // time that was handed out before. What is full before `drop_mark` may be left out from now on.
  absl::Status Save(const LimiterChanges& limiter, const PolicyChanges& policies, Instant mark,
                    Instant drop_mark);

  // Notes that all was saved, and leaves every byte under a checksum. The last call.
  absl::Status MarkStopped(Instant mark);

 private:
  class Loading;

  explicit Storage(std::unique_ptr<Database> database) : database_(std::move(database)) {}
  absl::Status Begin();
  absl::Status ReadMeta();
  absl::Status Erase(const std::vector<std::string>& keys);
  void AllowDrops(Instant mark);

  const std::unique_ptr<Database> database_;
  HashSecret secret_{};
  Instant clock_mark_{};
  Nanos clock_allowance_{0};      // on disk
  std::uint32_t generation_ = 0;  // on disk
  std::uint32_t next_policy_ = 0;
  bool unclean_restart_ = false;
  bool had_exhausted_record_ = false;
};

}  // namespace weir
