#include "persistence/saver.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/limiter/change_reader.h"

namespace weir {

static_assert(Saver::kRetryMin > Nanos{0});
static_assert(Saver::kRetryMin <= Saver::kRetryMax);

Saver::Saver(ChangeHub& hub, std::unique_ptr<Storage> storage, SaverOptions options)
    : hub_(hub),
      reader_(hub.reader()),
      clock_(hub.clock()),
      options_(std::move(options)),
      secret_(storage->secret()),
      fold_(hub.table()),
      storage_(std::move(storage)) {
  hub_.Attach(fold_);
}

Saver::~Saver() { hub_.Detach(fold_); }

absl::Status Saver::Save() {
  if (!failure_.ok() && clock_.HostNow() < retry_at_) return failure_;
  const absl::Status saved = SaveNow();
  return saved.ok() ? saved : OnFailure(saved);
}

absl::Status Saver::LinkTo(const std::string& directory) {
  if (!storage_) return failure_;  // of an earlier call since the tick
  const absl::Status flushed = storage_->Flush(clock_.Now());
  return flushed.ok() ? storage_->LinkTo(directory) : OnFailure(flushed);
}

absl::Status Saver::SaveAndStop() {
  absl::Status saved = SaveNow();
  if (saved.ok()) saved = storage_->MarkStopped(clock_.Now());
  return saved.ok() ? saved : OnFailure(saved);
}

absl::Status Saver::Reopen() {
  DatabaseOptions options = options_.database;
  // An empty directory, for example because its disk is gone, must not become a new database.
  options.create = false;
  absl::StatusOr<std::unique_ptr<Storage>> opened = Storage::Open(options);
  if (!opened.ok()) return opened.status();
  // A change of the secret may have been written, or not; and it may have changed again since.
  const HashSecret& secret = (*opened)->secret();
  const bool is_of_part = part_ && part_->changes.new_secret == secret;
  if (secret != reader_.secret() && secret != secret_ && !is_of_part) {
    return absl::FailedPreconditionError("the data directory holds another server's database now");
  }
  storage_ = *std::move(opened);
  return absl::OkStatus();
}

// Saves in parts, so that the memory for changes does not grow with the table.
absl::Status Saver::SaveNow() {
  if (!storage_) WEIR_RETURN_IF_ERROR(Reopen());
  const HostInstant begun = clock_.HostNow();
  std::optional<std::size_t> written;
  if (part_) WEIR_RETURN_IF_ERROR(WritePart(written));
  if (options_.history) options_.history->BeginSave();
  for (std::size_t partition = 0; partition < kPartitionCount;) {
    WEIR_RETURN_IF_ERROR(WriteUrgentRecord());
    partition = TakePart(partition);
    WEIR_RETURN_IF_ERROR(WritePart(written));
  }
  reader_.EndSave();
  if (options_.history) {
    options_.history->EndSave();
    if (storage_->is_backup() && options_.history->HasOwnRole()) {
      WEIR_RETURN_IF_ERROR(storage_->ForgetBackup());
    }
  }
  OnSaved(begun, written);
  return absl::OkStatus();
}

absl::Status Saver::WriteUrgentRecord() {
  if (!options_.history) return absl::OkStatus();
  const std::string record = options_.history->UrgentRecord();
  if (record.empty()) return absl::OkStatus();
  WEIR_RETURN_IF_ERROR(storage_->SaveHistory(record));
  options_.history->OnUrgentSaved();
  return absl::OkStatus();
}

std::size_t Saver::TakePart(std::size_t first_partition) {
  WEIR_CHECK(!part_);
  const ChangesLock changes_lock(reader_);
  if (first_partition == 0) reader_.BeginSave();
  const std::size_t taken = hub_.TakePart(first_partition, options_.consistent_snapshot);
  const std::optional<Instant> drop_time = hub_.DropTime();
  LimiterChanges changes;
  const std::size_t next_partition = fold_.TakeInto(changes, first_partition, taken, drop_time);
  WEIR_CHECK(next_partition > first_partition);
  WEIR_CHECK(next_partition <= kPartitionCount);
  // Taken last, so that each bucket that is saved has its limit on disk. So has each limit its
  // policy, but for those that were made since the hub's part: a load drops what has none, and the
  // next save writes both.
  changes.limits = reader_.TakeLimits();
  std::string history =
      options_.history ? options_.history->Record(next_partition == kPartitionCount) : "";
  const Instant mark = clock_.Now();
  const Instant drop_mark = std::min(drop_time.value_or(Instant{}), mark);
  part_ = {std::move(changes), fold_.TakePolicies(), mark, drop_mark, std::move(history)};
  return next_partition;
}

absl::Status Saver::WritePart(std::optional<std::size_t>& written) {
  const auto& [changes, policies, mark, drop_mark, history] = *part_;
  const bool starts_over = changes.generation != storage_->generation();
  const bool moves_on = !history.empty() && history != storage_->history();
  if (!changes.empty() || !policies.empty() || starts_over || moves_on) {
    WEIR_RETURN_IF_ERROR(storage_->Save(changes, policies, mark, drop_mark, history));
    secret_ = storage_->secret();
    written = written.value_or(0) + changes.buckets.size();
  }
  part_.reset();
  return absl::OkStatus();
}

void Saver::OnSaved(HostInstant begun, std::optional<std::size_t> written) {
  WEIR_CHECK(storage_ != nullptr);
  failure_ = absl::OkStatus();
  retry_after_ = kRetryMin;
  MutexLock lock(mutex_);
  status_.error.clear();
  status_.last_save = begun;
  status_.last_save_duration = clock_.HostNow() - begun;
  status_.last_save_records = written.value_or(0);
  status_.unsaved = 0;
  if (written) ++status_.saves;
}

absl::Status Saver::OnFailure(const absl::Status& failure) {
  WEIR_CHECK(!failure.ok());
  storage_.reset();
  failure_ = failure;
  retry_at_ = clock_.HostNow() + retry_after_;
  retry_after_ = std::min(2 * retry_after_, kRetryMax);
  MutexLock lock(mutex_);
  status_.error = std::string(failure.message());
  status_.unsaved = part_ ? part_->changes.buckets.size() : 0;
  ++status_.failures;
  return failure;
}

Saver::Status Saver::status() const {
  MutexLock lock(mutex_);
  return status_;
}

}  // namespace weir
