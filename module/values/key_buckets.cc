#include "module/values/key_buckets.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/table/saved_hold.h"

namespace weir {

KeyBuckets::KeyBuckets(const KeyBuckets& other)
    : shared_(other.held() ? other.held()->of_all : other.shared_),
      changed_at_(other.changed_at_),
      buckets_(other.buckets_) {
  for (const KeyBucket& one : buckets_) shared_->registry.AddBucket(one.limit);
  if (!other.held()) return;
  HoldTable& holds = MakeHolds();
  const HoldTable& others = other.held()->holds;
  others.open().ForEach([&](const Hold& hold) {
    shared_->hold_records.Restore(holds, kKey, hold.id(), SavedHoldOf(hold, false));
  });
  others.marks().ForEach([&](const Hold& hold) {
    shared_->hold_records.Restore(holds, kKey, hold.id(), SavedHoldOf(hold, true));
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

KeyBuckets* KeyBuckets::FindLook(Instant now, std::uint64_t version) const noexcept {
  if (!held()) return nullptr;
  const Held::Look& look = held()->look;
  const bool is_good = look.begin <= now && now < look.end && look.version == version;
  return is_good ? look.buckets.get() : nullptr;
}

KeyBuckets& KeyBuckets::MakeLook(Instant now, std::uint64_t version) {
  auto copy = std::make_unique<KeyBuckets>(*held()->of_all);
  copy->buckets_ = buckets_;
  for (const KeyBucket& one : buckets_) shared_->registry.AddBucket(one.limit);
  Held::Look& look = held()->look;
  look = {std::move(copy), now, held()->holds.NextExpiry(kKey, now), version};
  return *look.buckets;
}

void KeyBuckets::ForgetLook() noexcept {
  if (held()) held()->look = {};
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
  shared_->hold_records.ForgetAll(held->holds);
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
  if (!held()) return sizeof(*this) + elsewhere;
  const HoldTable& holds = held()->holds;
  const std::size_t in_look = held()->look.buckets ? held()->look.buckets->memory() : 0;
  return sizeof(*this) + elsewhere + sizeof(Held) + holds.open().bytes() + holds.marks().bytes() +
         in_look;
}

}  // namespace weir
