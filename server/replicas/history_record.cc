// The history of the server: its terms, and its record on disk.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "core/table/key_hash.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds kSaveTermTime{1000};

// A new history's id: 40 random hexadecimal digits.
std::string RandomHistoryId() {
  std::string bytes;
  for (int i = 0; i < 2; ++i) {
    const HashSecret random = RandomHashSecret();
    bytes.append(random.begin(), random.end());
  }
  return absl::BytesToHexString(AbslView(bytes.substr(0, kHistoryIdBytes / 2)));
}

}  // namespace

void ReplicationControl::BeginTerm(std::uint64_t offset) {
  history_.Promote(offset, RandomHistoryId());
  begun_term_ = history_.term;
}

// Returns whether Sentinel must not promote this server, since that could forget acknowledged
// changes.
bool ReplicationControl::IsDistrusted() const {
  return history_.lacks && services_.settings.Get(&Options::ack_replicas) > 0;
}

// Notes that the state lacks nothing: the server is a primary, or a replica in sync.
void ReplicationControl::NoteWhole() {
  MutexLock lock(mutex_);
  history_.lacks = false;
}

// The history as it is now, for a record on disk.
Lineage ReplicationControl::Present() const {
  Lineage present = history_;
  bool is_exact = is_exact_ || !is_replica();
  if (replicator_) present.offset = replicator_->head();
  if (link_) {
    const std::optional<std::uint64_t> shown = link_->shown();
    present.offset = shown.value_or(0);
    is_exact = shown.has_value();
  }
  if (!is_exact) present.id.clear();
  return present;
}

void ReplicationControl::BeginSave() {
  MutexLock lock(mutex_);
  begun_ = Present();
  begun_is_own_ = has_joined_ || (role() == ServerRole::kPrimary && begun_term_ > 0);
  if (link_) link_->NoteSaveBegun();
}

// While a save may contain changes of another history than the record on disk names, that must name
// none: after a crash in between, the server would go on in the wrong one.
std::string ReplicationControl::Record(bool is_last) {
  MutexLock lock(mutex_);
  const Lineage present = Present();
  const bool is_same = present.id == begun_.id && present.term == begun_.term;
  if (!is_last && is_same && saved_id_ == begun_.id) return {};
  Lineage record = is_same ? begun_ : present;
  if (!is_last || !is_same) record.id.clear();
  if (record == Lineage{}) return {};
  saved_id_ = record.id;
  return LineageValue(record);
}

void ReplicationControl::EndSave() {
  MutexLock lock(mutex_);
  saved_term_.Note(begun_.term);
  if (link_) link_->NoteSaved();
}

bool ReplicationControl::HasOwnRole() const {
  MutexLock lock(mutex_);
  return begun_is_own_;
}

// A term has begun here that is not on disk: a promotion, or the first replica, waits for it. The
// changes on disk may be of an earlier history, so the record names none.
std::string ReplicationControl::UrgentRecord() {
  MutexLock lock(mutex_);
  if (saved_term_.latest() >= begun_term_) return {};
  Lineage record = Present();
  record.id.clear();
  saved_id_.clear();
  urgent_term_ = record.term;
  return LineageValue(record);
}

void ReplicationControl::OnUrgentSaved() { saved_term_.Note(urgent_term_); }

// Whether a replica may join the history that its request has begun. Otherwise a crash could take
// this server back to an earlier term than the replica's, in which it admits nothing. A save that
// fails does not keep the replicas away; one that hangs does.
bool ReplicationControl::IsBeginningSaved() const {
  if (!services_.state || !services_.state->status().error.empty()) return true;
  MutexLock lock(mutex_);
  return saved_term_.latest() >= begun_term_;
}

// Blocks until the term that has begun here is on disk. If the disk fails or hangs, the server
// becomes the primary all the same; with --durability always it refuses changes then.
void ReplicationControl::AwaitSavedTerm() {
  if (!services_.state || services_.loading()) return;
  std::uint64_t term = 0;
  {
    MutexLock lock(mutex_);
    term = begun_term_;
  }
  const auto fails = [this] { return !services_.state->status().error.empty(); };
  SaveSoon();
  if (saved_term_.Await(term, kSaveTermTime, fails)) return;
  spdlog::warn("term {} begins before it is on disk: a crash now would forget it", term);
}

}  // namespace weir
