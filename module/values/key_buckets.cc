#include "module/values/key_buckets.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/table/saved_hold.h"

namespace weir {

KeyBuckets::KeyBuckets(const KeyBuckets& other)
    : shared_(other.held() ? other.held()->of_all : other.shared_), buckets_(other.buckets_) {
  for (const KeyBucket& one : buckets_) shared_->registry.AddBucket(one.limit);
  if (!other.held()) return;
  HoldTable& holds = MakeHolds();
  const HoldTable& others = other.held()->holds;
  others.open().ForEach([&](const Hold& hold) {
    shared_->keeper.Restore(holds, kKey, hold.id(), SavedHoldOf(hold, false));
  });
  others.marks().ForEach([&](const Hold& hold) {
    shared_->keeper.Restore(holds, kKey, hold.id(), SavedHoldOf(hold, true));
  });
  others.ForEachSums(
      [&](const SlotKey& bucket, const SettlementSums& sums) { holds.RestoreSums(bucket, sums); });
  held()->checked_at = other.held()->checked_at;
}

KeyBuckets::~KeyBuckets() { Clear(); }

void KeyBuckets::Clear() noexcept {
  DeleteHeld();
  for (const KeyBucket& one : buckets_) shared_->registry.RemoveBucket(one.limit);
  buckets_.clear();
}

HoldTable& KeyBuckets::MakeHolds() {
  if (!held()) shared_ = new Held(*shared_);
  return held()->holds;
}

void KeyBuckets::EndHoldChanges() noexcept {
  if (!held()) return;
  held()->holds.ForgetChanges();
  if (held()->holds.empty()) DeleteHeld();
}

void KeyBuckets::DeleteHeld() noexcept {
  Held* const held = this->held();
  if (!held) return;
  HoldTable& holds = held->holds;
  while (!holds.open().empty()) shared_->keeper.ForgetOpen(holds, holds.open().First());
  while (!holds.marks().empty()) shared_->keeper.ForgetMark(holds, holds.marks().First());
  shared_ = held->of_all;
  delete held;
}

const Bucket* KeyBuckets::Find(LimitId limit) const noexcept {
  const auto found = std::ranges::lower_bound(buckets_, limit, {}, &KeyBucket::limit);
  return found != buckets_.end() && found->limit == limit ? &found->bucket : nullptr;
}

void KeyBuckets::Keep(LimitId limit, const Bucket& bucket) {
  const auto place = std::ranges::lower_bound(buckets_, limit, {}, &KeyBucket::limit);
  if (place != buckets_.end() && place->limit == limit) {
    place->bucket = bucket;
    return;
  }
  WEIR_CHECK(size() < kKeyBucketsMax);
  buckets_.insert(place, {limit, bucket});
  shared_->registry.AddBucket(limit);
}

std::size_t KeyBuckets::EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone) {
  const auto first = std::remove_if(buckets_.begin(), buckets_.end(), [&](const KeyBucket& one) {
    if (!gone(one.limit, one.bucket)) return false;
    shared_->registry.RemoveBucket(one.limit);
    return true;
  });
  const auto erased = static_cast<std::size_t>(buckets_.end() - first);
  buckets_.erase(first, buckets_.end());
  return erased;
}

std::size_t KeyBuckets::memory() const noexcept {
  const std::size_t elsewhere =
      buckets_.capacity() > 1 ? buckets_.capacity() * sizeof(KeyBucket) : 0;
  std::size_t in_holds = held() ? sizeof(Held) : 0;
  const auto count = [&](const Hold& hold) { in_holds += hold.bytes(); };
  if (held()) held()->holds.open().ForEach(count);
  if (held()) held()->holds.marks().ForEach(count);
  return sizeof(*this) + elsewhere + in_holds;
}

}  // namespace weir
