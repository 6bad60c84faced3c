// The links of a replica to its primary: T13 of role.h.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "replication/role.h"

namespace weir {
namespace {

// Between two links.
constexpr Nanos kLinkRestMax = std::chrono::seconds{3};

}  // namespace

void Role::EndLink() {
  is_up_ = false;
  is_synced_ = false;
  is_link_due_ = false;
  if (link_ != LinkNumber{}) Do(CloseLink{std::exchange(link_, LinkNumber{})});
}

void Role::LinkSoon() {
  is_link_due_ = true;
  next_link_ = now_;
  OpenDueLink();
}

void Role::RestFrom(Nanos first) {
  first_rest_ = first;
  link_rest_ = Nanos{0};
}

void Role::LinkAfterRest() {
  link_rest_ = std::clamp(2 * link_rest_, first_rest_, kLinkRestMax);
  is_link_due_ = true;
  next_link_ = now_ + link_rest_;
}

void Role::OpenDueLink() {
  if (state_ != RoleState::kFollowing || !is_link_due_ || now_ < next_link_) return;
  if (open_link_ != LinkNumber{} || endings_ > 0) return;
  is_link_due_ = false;
  last_link_ = Next(last_link_);
  link_ = last_link_;
  open_link_ = last_link_;
  was_referred_ = referral_.has_value();
  dialed_ = referral_.value_or(record_.primary);
  referral_.reset();
  said_told_ = std::exchange(says_told_, false);
  Do(OpenLink{.link = link_,
              .primary = dialed_,
              .is_told = record_.joins_any,
              .claims = may_claim(),
              .says_told = said_told_});
}

// T13.
void Role::Handle(const SyncAnswered& event) {
  if (!IsPresent(event.link)) return;
  WEIR_CHECK(state_ == RoleState::kFollowing);
  switch (event.what) {
    case SyncAnswered::What::kAccepted:
      if (Joins(event)) return JoinPrimary(event);
      Say(Remark::What::kDoesNotJoin);
      break;
    case SyncAnswered::What::kReferral:
      if (was_referred_) break;
      EndLink();
      referral_ = event.address;
      says_told_ = said_told_;
      return LinkSoon();
    case SyncAnswered::What::kOtherGroup:
      Say(Remark::What::kOtherGroup);
      if (!record_.joins_any || said_told_) break;
      EndLink();
      says_told_ = true;
      if (was_referred_) referral_ = dialed_;
      return LinkSoon();
    case SyncAnswered::What::kRefused:
      break;
  }
  EndLink();
  LinkAfterRest();
}

// Whether the link claims this server's term: only where it has joined a history, and only with a
// whole copy of it. Any other claim would depose a primary.
bool Role::may_claim() const noexcept {
  const bool was_joined_there = dialed_ == joined_at_ || dialed_ == joined_before_at_;
  return is_complete_ && is_exact_ && !record_.joins_any && was_joined_there;
}

bool Role::Joins(const SyncAnswered& event) const {
  if (record_.joins_any) return true;
  if (!event.has_our_secret && event.has_buckets) return false;
  return record_.id.empty() || record_.id == event.id || event.term > record_.term ||
         (event.term == record_.term && event.id > record_.id);
}

void Role::JoinPrimary(const SyncAnswered& event) {
  if (dialed_ != record_.primary) {
    record_.was_told = true;
    record_.primary = dialed_;
    record_.yielded_in = 0;
    successor_.reset();
  }
  record_.joins_any = false;
  if (!event.has_our_secret) is_complete_ = false;  // the table is emptied
  const std::string before = record_.id;
  record_.Follow(event.term, event.id);
  // A successor that has crashed before its term was on disk is in the history before.
  if (record_.yielded_in > 0 && before != event.id) record_.previous = before;
  if (before != event.id) {
    // The state is of another history, until the first frame says otherwise.
    awaits_frame_ = true;
    is_exact_ = false;
    joined_before_at_ = std::exchange(joined_at_, dialed_);
  }
  has_joined_ = true;
  Do(JoinHistory{link_});
  SaveSoon();
}

void Role::Handle(const LinkUp& event) {
  if (!IsPresent(event.link)) return;
  WEIR_CHECK(state_ == RoleState::kFollowing || state_ == RoleState::kAsking);
  is_up_ = true;
  ResumeClients();
  awaits_frame_ = false;
  named_since_.reset();
  is_exact_ = event.is_exact;
  if (!is_exact_) is_synced_ = false;
}

void Role::Handle(const LinkSynced& event) {
  if (!IsPresent(event.link)) return;
  WEIR_CHECK(state_ == RoleState::kFollowing || state_ == RoleState::kAsking);
  is_up_ = true;
  is_synced_ = true;
  is_exact_ = true;
  is_complete_ = true;
  RestFrom(kLinkRest);
  if (std::exchange(record_.lacks, false)) SaveSoon();
}

void Role::Handle(const LinkLacks& event) {
  if (!IsPresent(event.link)) return;
  WEIR_CHECK(state_ == RoleState::kFollowing || state_ == RoleState::kAsking);
  is_synced_ = false;  // It is exact as of an offset before: LinkEnded says which.
  if (state_ != RoleState::kAsking) return;
  state_ = RoleState::kFollowing;
  Say(Remark::What::kRefusesPromotion,
      "its primary is alive, and this server was not in sync with it all the time");
}

void Role::Handle(const LinkLost& event) {
  if (!IsPresent(event.link)) return;
  WEIR_CHECK(state_ == RoleState::kFollowing || state_ == RoleState::kAsking);
  link_ = LinkNumber{};
  is_up_ = false;
  is_synced_ = false;
  if (state_ == RoleState::kFollowing) LinkAfterRest();
}

void Role::Handle(const LinkEnded& event) {
  WEIR_CHECK(event.link == open_link_ && event.link != LinkNumber{});
  Handle(LinkLost{event.link});
  open_link_ = LinkNumber{};
  promise_ = std::max(promise_, event.promised_until);
  // Not of a link that has ended with a YIELD, as a history has begun since, nor of one that has
  // brought nothing of its history.
  const bool is_of_history = event.link > promoted_from_ && !awaits_frame_;
  if (is_of_history && record_.is_replica) {
    record_.offset = event.offset;
    is_exact_ = event.is_exact;
  }
  if (state_ == RoleState::kWaiting) return StepWaiting();
  OpenDueLink();
}

void Role::Handle(const ReplicaInSync&) {
  if (state_ != RoleState::kServing) return;
  if (!std::exchange(record_.had_replicas, true)) SaveSoon();
}

}  // namespace weir
