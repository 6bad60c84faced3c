// The record of the role on disk: what a save writes, and what the role machine hears of it.
#include <string>
#include <utility>

#include "server/replicas/replication_control.h"

namespace weir {

// The record as of now. It names a history only if the table is a state of that.
History ReplicationControl::Present() const {
  History present = view_->record;
  present.clock_shift = present.is_replica ? Nanos{0} : clock_.shift();
  if (replicator_) {
    present.offset = replicator_->head();
    // The history has begun, and the view does not say so yet.
    if (IsReplica(view_->state) && view_->state != RoleState::kSaving) present.ForgetId();
  } else if (present.is_replica && followed_) {
    const LinkFacts facts = followed_->cell().Read();
    present.offset = facts.shown.value_or(0);
    if (!facts.shown || facts.history != present.id) present.ForgetId();
  } else if (!present.is_replica) {
    present.offset = ended_head_;
  }
  return present;
}

void ReplicationControl::BeginSave() {
  const MutexLock lock(mutex_);
  begun_ = Present();
  begun_save_ = asked_save_;
  if (link_) link_->OnSaveBegun();
}

// The record on disk must name no history while a save may contain changes of another one: after a
// crash in between, the server would continue in the wrong one.
std::string ReplicationControl::Record(bool is_last) {
  const MutexLock lock(mutex_);
  const History present = Present();
  if (view_->keeps_record) {
    // The record stays as it is, except that it must not name a history that the table has left.
    if (written_.id.empty() || written_.id == present.id) return {};
    written_.ForgetId();
    return HistoryValue(written_);
  }
  const bool is_same = present.id == begun_.id && present.term == begun_.term;
  if (!is_last && is_same && written_.id == begun_.id) return {};
  // The role as it is now: a YIELD may have left since the save began.
  History record = present;
  if (is_same) record.offset = begun_.offset;
  if (!is_last || !is_same) record.ForgetId();
  if (record == History{}) return {};
  written_ = record;
  return HistoryValue(record);
}

void ReplicationControl::EndSave() {
  const MutexLock lock(mutex_);
  saved_term_ = std::max(saved_term_, begun_.term);
  std::erase_if(asked_saves_, [this](const AskedSave& asked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return asked.save <= begun_save_;
  });
  // With --durability always there are thousands of saves a second.
  const bool works_again = std::exchange(save_fails_, false);
  if (works_again || begun_save_ != told_save_)
    Post(RecordSaved{.save = begun_save_, .term = saved_term_});
  told_save_ = begun_save_;
  if (link_) link_->OnSaved();
}

// The role waits for this record, and a save may take long. The changes on disk are of the history
// that the record on disk names, or of none.
std::string ReplicationControl::UrgentRecord() {
  const MutexLock lock(mutex_);
  const RoleView& view = *view_;
  const bool begins = (view.state == RoleState::kSaving || view.state == RoleState::kServing) &&
                      view.record.term > saved_term_;
  const bool yields = view.record.yielded_in > 0 && view.record.yielded_in != written_.yielded_in;
  if (!begins && !yields) return {};
  urgent_ = Present();
  if (urgent_.id == written_.id) {
    urgent_.offset = written_.offset;
  } else {
    urgent_.ForgetId();
  }
  urgent_save_ = asked_save_;
  return HistoryValue(urgent_);
}

void ReplicationControl::OnUrgentSaved() {
  const MutexLock lock(mutex_);
  written_ = urgent_;
  saved_term_ = std::max(saved_term_, urgent_.term);
  Post(RecordSaved{.save = urgent_save_, .term = urgent_.term});
}

void ReplicationControl::OnSaveFailed(std::uint64_t ticket) {
  const MutexLock lock(mutex_);
  SaveNumber failed{};
  for (const AskedSave& asked : asked_saves_) {
    if (asked.ticket <= ticket) failed = asked.save;
  }
  save_fails_ = true;
  Post(RecordSaveFailed{failed});
}

bool ReplicationControl::HasOwnRole() const {
  const MutexLock lock(mutex_);
  return forgets_backup_;
}

}  // namespace weir
