// Saves what changes, tick after tick, and goes on after a tick that failed.
//
// A tick takes what has changed from the limiter and the policies and writes it, in parts if it is
// much, each of them whole or not at all. When a write fails, all of it is noted again and the
// database is closed: after a failed sync nothing that it says can be believed. The next tick that
// is due reopens it, after 1, 2, 4 and then every 8 seconds. Requests are decided meanwhile as
// always.
//
// One thread drives it; status() is for any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/limiter/limiter.h"
#include "core/words/policies.h"
#include "persistence/storage.h"

namespace weir {

struct SaverOptions {
  DatabaseOptions database;  // to reopen it
  // A request is saved whole or not at all: what has changed is locked all at once.
  bool consistent_snapshot = false;
  // Full buckets need not be written, and may be dropped. False where clients bring the time.
  bool drops_full = true;
};

class Saver {
 public:
  static constexpr Nanos kRetryMin = std::chrono::seconds{1};
  static constexpr Nanos kRetryMax = std::chrono::seconds{8};

  struct Status {
    std::string error;                 // why the last tick failed; empty: it did not
    std::optional<Instant> last_save;  // when the last tick began that did not fail
    Nanos last_save_duration{0};
    std::uint64_t last_save_records = 0;  // buckets
    std::uint64_t saves = 0;              // ticks that had something to write, and did
    std::uint64_t failures = 0;
  };

  Saver(Limiter& limiter, Policies& policies, const Clock& clock, std::unique_ptr<Storage> storage,
        const SaverOptions& options);

  // One tick. Ok: whatever was changed before the call is on disk. While the time to try again has
  // not come, fails with what failed last, at once.
  absl::Status Save();

  // The last tick, at once whatever failed before, and the note that all was saved.
  absl::Status SaveAndStop();

  [[nodiscard]] Status status() const;

 private:
  absl::Status Reopen();
  absl::Status SaveNow();
  struct Part {
    std::optional<std::size_t> written;  // buckets; nothing where there was nothing to write
    std::size_t next_partition;          // where the next part begins
  };
  absl::StatusOr<Part> SavePart(std::size_t first_partition);
  // `written`: buckets; nothing where there was nothing to write.
  void NoteSuccess(Instant begun, std::optional<std::size_t> written);
  absl::Status NoteFailure(const absl::Status& failure);

  Limiter& limiter_;
  Policies& policies_;
  const Clock& clock_;
  const SaverOptions options_;
  const HashSecret secret_;
  std::unique_ptr<Storage> storage_;  // null after a failure
  absl::Status failure_;              // of the last tick
  Nanos retry_after_ = kRetryMin;
  Instant retry_at_{};

  mutable Mutex mutex_;
  Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
