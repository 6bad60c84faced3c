#include "module/values/open_key.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "core/base/check.h"
#include "core/rules/held_limit.h"
#include "core/rules/rule.h"
#include "module/api/redis_allocator.h"
#include "module/api/wall_time.h"

namespace weir {
namespace {

// True if the limit's policy no longer exists.
bool IsGone(const Module& module, const Limit& limit) {
  const LimitOwner owner = limit.owner();
  const bool is_of_policy = owner != LimitOwner{} && owner != kThrottleOwner;
  return is_of_policy && !module.policies.FindById(owner.policy);
}

// Writes holds of a saved state into a value, and counts the buckets of held limits.
class HoldFiller {
 public:
  using Ids = std::vector<std::optional<LimitId>>;
  // `ids`: of the state's limits; nothing for those that this node has no id for.
  HoldFiller(Module& module, const Ids& ids, KeyBuckets& value)
      : module_(module), ids_(ids), value_(value) {}

  // Removes what a state replaces by something else, or tells to be gone.
  void Remove(const SavedState::OfHold& saved) {
    HoldTable* const holds = value_.holds();
    if (!holds) return;
    if (Hold* const mark = holds->FindMark(KeyBuckets::kKey, saved.id)) {
      module_.hold_records.ForgetMark(*holds, *mark);
    }
    Hold* const open = holds->FindOpen(KeyBuckets::kKey, saved.id);
    if (!open || (saved.hold && IsRenewal(*open, *saved.hold))) return;
    MarkHeldAsChanged(open->parts());
    module_.hold_records.ForgetOpen(*holds, *open);
  }

  // Adds the hold, or renews it. Requires: it was removed, except for a renewal.
  void Add(const SavedState::OfHold& saved) {
    std::optional<SavedHold> hold = saved.hold;
    if (!hold || !SetIds(*hold)) return;
    HoldTable& holds = value_.MakeHolds();
    if (Hold* const open = holds.FindOpen(KeyBuckets::kKey, saved.id)) {
      MarkHeldAsChanged(open->parts());
      holds.Renew(*open, hold->expiry);
      return;
    }
    if (!hold->settled) {
      MarkHeldAsChanged(hold->parts);
      for (const HoldPart& part : hold->parts) {
        // The held limit takes its place among the buckets.
        if (changed_.contains(part.limit) && !value_.Find(part.limit)) value_.Keep(part.limit, {});
      }
    }
    module_.hold_records.Restore(holds, KeyBuckets::kKey, saved.id, *std::move(hold));
  }

  // Counts the buckets of the held limits whose holds have changed. Call it last.
  void CountHeld() {
    for (const LimitId id : changed_) {
      const HeldTokens held =
          value_.holds() ? value_.holds()->HeldOf(KeyBuckets::kKey, id) : HeldTokens{};
      if (held.tokens > 0) {
        value_.Keep(id, AddHeld({}, held.tokens, held.end));
      } else if (value_.Find(id)) {
        value_.Keep(id, Bucket{});
      }
    }
  }

 private:
  [[nodiscard]] bool IsHeld(LimitId id) const { return module_.registry.Get(id).is_held(); }
  // The same reservation, which keeps its place in the order of reservations.
  static bool IsRenewal(const Hold& open, const SavedHold& saved) {
    return !saved.settled && open.terms().order == saved.order &&
           open.terms().request == saved.request && open.parts().size() == saved.parts.size();
  }
  // Puts ids in place of the parts' indexes. Returns false if one has no id, or if the key has no
  // room for the bucket of a held limit.
  [[nodiscard]] bool SetIds(SavedHold& hold) const {
    std::size_t added = 0;
    for (HoldPart& part : hold.parts) {
      const std::optional<LimitId> id = ids_[NumberOf(part.limit)];
      if (!id) return false;
      part.limit = *id;
      if (IsHeld(*id) && !value_.Find(*id)) ++added;
    }
    return value_.size() + added <= kKeyBucketsMax;
  }
  void MarkHeldAsChanged(std::span<const HoldPart> parts) {
    for (const HoldPart& part : parts) {
      if (IsHeld(part.limit) && part.cost > 0) changed_.insert(part.limit);
    }
  }

  Module& module_;
  const Ids& ids_;
  KeyBuckets& value_;
  absl::flat_hash_set<LimitId> changed_;
};

}  // namespace

KeyBuckets* NewValue(Module& module) {
  auto* const value = new (RedisAllocator<KeyBuckets>().allocate(1)) KeyBuckets(module.values);
  value->set_changed_at(WallTime());
  return value;
}

KeyBuckets* CopyValue(const KeyBuckets& value) {
  return new (RedisAllocator<KeyBuckets>().allocate(1)) KeyBuckets(value);
}

void DeleteValue(KeyBuckets* value) {
  value->~KeyBuckets();
  RedisAllocator<KeyBuckets>().deallocate(value, 1);
}

void FillValue(Module& module, const SavedState& state, KeyBuckets& value) {
  module.ReclaimLimits();
  if (state.is_change) {
    value.EraseIf([&](LimitId id, const Bucket&) { return !module.registry.Get(id).is_held(); });
  }
  HoldFiller::Ids ids;
  for (const SavedState::OfLimit& one : state.limits) {
    LimitHint no_hint;
    const absl::StatusOr<LimitId> id = one.limit ? module.registry.Intern(*one.limit, no_hint)
                                                 : absl::StatusOr<LimitId>(absl::NotFoundError(""));
    ids.push_back(id.ok() ? std::optional(*id) : std::nullopt);
    if (id.ok() && one.bucket && value.size() < kKeyBucketsMax) value.Keep(*id, *one.bucket);
  }
  HoldFiller filler(module, ids, value);
  for (const SavedState::OfHold& one : state.holds) filler.Remove(one);
  for (const SavedState::OfHold& one : state.holds) filler.Add(one);
  filler.CountHeld();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!ids[i] || !state.limits[i].sums || !value.holds()) continue;
    const SlotKey bucket = KeyBuckets::SlotOf(*ids[i]);
    if (value.holds()->KeepsSums(bucket)) value.holds()->RestoreSums(bucket, *state.limits[i].sums);
  }
  value.EndHoldChanges();
}

OpenKey::OpenKey(Module& module, redis::Context* context, redis::String* name, int mode)
    : module_(module),
      context_(context),
      name_(name),
      key_(redis::OpenKey(context, name, mode)),
      reads_only_((mode & redis::kWrite) == 0) {
  if (key_ == nullptr || redis::KeyType(key_) == redis::kEmptyKey) return;
  other_type_ = redis::ModuleTypeGetType(key_) != module.type;
  if (!other_type_) value_ = static_cast<KeyBuckets*>(redis::ModuleTypeGetValue(key_));
  if (value_ && !reads_only_) value_->ForgetLook();
}

OpenKey::OpenKey(OpenKey&& other) noexcept
    : HoldStore(other),
      module_(other.module_),
      context_(other.context_),
      name_(other.name_),
      key_(std::exchange(other.key_, nullptr)),
      reads_only_(other.reads_only_),
      value_(other.value_),
      looked_at_(other.looked_at_),
      copy_(std::move(other.copy_)),
      other_type_(other.other_type_),
      changed_(std::exchange(other.changed_, false)) {}

OpenKey::~OpenKey() {
  WEIR_DCHECK(!changed_);
  Close();
}

void OpenKey::Close() {
  if (key_ != nullptr) redis::CloseKey(std::exchange(key_, nullptr));
}

const Bucket* OpenKey::Find(LimitId limit) const noexcept {
  return value_ ? value_->Find(limit) : nullptr;
}

std::span<const KeyBuckets::KeyBucket> OpenKey::buckets() const noexcept {
  return value_ ? std::span(value_->begin(), value_->end())
                : std::span<const KeyBuckets::KeyBucket>();
}

Nanos OpenKey::TimeToFull(const KeyBuckets::KeyBucket& one, Instant now) const {
  const Limit& limit = module_.registry.Get(one.limit);
  if (IsGone(module_, limit)) return Nanos{0};
  return weir::TimeToFull(limit, one.bucket, now);
}

// True for a bucket of a sliding window that has been over since long before its number could mean
// another window.
bool OpenKey::IsOver(LimitId id, Instant now) const {
  const LimitShape& shape = module_.registry.Get(id).shape();
  return shape.algorithm == Algorithm::kSlidingWindow &&
         now - value_->changed_at() > 2 * shape.period;
}

bool OpenKey::HasAged(Instant now) const {
  constexpr Nanos kAgeMin = (std::int64_t{1} << 30) * kSlidingPeriodMin;  // 12 days
  if (!value_ || now - value_->changed_at() < kAgeMin || module_.options.allow_explicit_time) {
    return false;
  }
  return std::ranges::any_of(
      buckets(), [&](const KeyBuckets::KeyBucket& one) { return IsOver(one.limit, now); });
}

// True if ExpireHolds has something to do. A look does not forget marks.
bool OpenKey::IsAnythingDue(Instant now) const {
  HoldTable* const holds = value_ ? value_->holds() : nullptr;
  if (!holds) return false;
  if (holds->open().HasExpired(now)) return true;
  if (!reads_only_ && holds->marks().HasExpired(now)) return true;
  const std::uint64_t version = module_.policies.version();
  if (value_->holds_checked_at() == version) return false;
  bool has_gone = false;
  const auto look = [&](const Hold& hold) { has_gone = has_gone || NamesGonePolicy(hold); };
  holds->open().ForEach(look);
  holds->marks().ForEach(look);
  if (!has_gone) value_->set_holds_checked_at(version);
  return has_gone;
}

bool OpenKey::NamesGonePolicy(const Hold& hold) const {
  return std::ranges::any_of(hold.parts(), [&](const HoldPart& part) {
    return IsGone(module_, module_.registry.Get(part.limit));
  });
}

// Drops the buckets of windows that are over.
void OpenKey::DropOver(Instant now) {
  if (reads_only_) {
    copy_.reset(CopyValue(*value_));
    value_ = copy_.get();
  }
  EraseIf([&](LimitId id, const Bucket&) { return IsOver(id, now); });
  if (reads_only_) changed_ = false;
}

void OpenKey::ExpireHolds(Instant now) {
  if (HasAged(now)) DropOver(now);
  if (!IsAnythingDue(now)) return;
  const bool names_gone = value_->holds_checked_at() != module_.policies.version();
  if (reads_only_ && names_gone) {
    copy_.reset(CopyValue(*value_));
    value_ = copy_.get();
  }
  if (names_gone) {
    module_.keeper.ForgetIf(*this, [&](const Hold& hold) { return NamesGonePolicy(hold); });
    value_->set_holds_checked_at(module_.policies.version());
  }
  if (reads_only_) return Look(now);
  module_.keeper.ExpireHolds(*this, now);
}

std::size_t OpenKey::CountDue(Instant now, std::size_t most) {
  const bool is_found = reads_only_ && value_ && value_->FindLook(now, module_.policies.version());
  return is_found ? 0 : HoldKeeper::CountDue(stored_key(), now, most);
}

// Finds the buckets as they are after the due holds are settled.
void OpenKey::Look(Instant now) {
  looked_at_ = value_;
  const std::uint64_t version = module_.policies.version();
  KeyBuckets* const found = looked_at_->FindLook(now, version);
  value_ = found ? found : &looked_at_->MakeLook(now, version);
  if (!found) module_.keeper.ExpireInCopy(stored_key(), now);
  changed_ = false;
}

void OpenKey::Sweep(Instant now) {
  ExpireHolds(now);
  Commit(now);
  ScheduleSweep(now);  // if the holds were renewed, nothing was committed
}

std::size_t OpenKey::Trim(const Trimmer& trimmer, Instant now) {
  if (!value_) return 0;
  ExpireHolds(now);
  std::size_t trimmed = 0;
  for (const KeyBuckets::KeyBucket& one : buckets()) {
    const Limit& interned = module_.registry.Get(one.limit);
    if (trimmer.Trim(*this, KeyBuckets::SlotOf(one.limit), interned, now)) ++trimmed;
  }
  Commit(now);
  return trimmed;
}

void OpenKey::ScheduleSweep(Instant now) {
  if (!value_ || module_.options.allow_explicit_time) return;
  std::size_t bytes = 0;
  const char* const name = redis::StringPtrLen(name_, &bytes);
  module_.sweeper.Schedule(context_, redis::GetSelectedDb(context_), {name, bytes}, *value_, now);
}

HoldTable& OpenKey::MakeHolds() {
  Make();
  return value_->MakeHolds();
}

std::optional<Bucket> OpenKey::FindBucket(const SlotKey& slot) {
  const Bucket* const bucket = Find(slot.limit);
  return bucket ? std::optional(*bucket) : std::nullopt;
}

bool OpenKey::HasRoomFor(std::uint64_t key, std::size_t added, Instant now) {
  if (buckets().size() + added <= kKeyBucketsMax) return true;
  absl::flat_hash_set<LimitId> named;
  holds()->open().ForEachOf(key, [&](const Hold& hold) {
    for (const HoldPart& part : hold.parts()) named.insert(part.limit);
    return true;
  });
  EraseIf([&](LimitId id, const Bucket& bucket) {
    return !named.contains(id) && TimeToFull({id, bucket}, now) == Nanos{0};
  });
  return buckets().size() + added <= kKeyBucketsMax;
}

void OpenKey::Make() {
  if (value_) return;
  value_ = NewValue(module_);
  redis::ModuleTypeSetValue(key_, module_.type, value_);
}

void OpenKey::Keep(LimitId limit, const Bucket& bucket) {
  Make();
  value_->Keep(limit, bucket);
  changed_ = true;
}

std::size_t OpenKey::EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone) {
  const std::size_t erased = value_ ? value_->EraseIf(gone) : 0;
  changed_ = changed_ || erased > 0;
  return erased;
}

void OpenKey::Replace(const SavedState& state) {
  Make();
  changed_ = true;
  if (!state.is_change) value_->Clear();
  FillValue(module_, state, *value_);
}

// Drops full buckets. Returns when all will be full and all holds forgotten, or kNoExpiry if
// clients give the time.
redis::Millis OpenKey::ForgetFull(Instant now) {
  if (module_.options.allow_explicit_time) return redis::kNoExpiry;
  Nanos longest{0};
  value_->EraseIf([&](LimitId limit, const Bucket& bucket) {
    const Nanos to_full = TimeToFull({limit, bucket}, now);
    longest = std::max(longest, to_full);
    return to_full == Nanos{0};
  });
  if (const HoldTable* const holds = value_->holds()) {
    longest = std::max(longest, holds->LatestExpiry() - now);
  }
  return CeilMillis(now.time_since_epoch() + longest);
}

// Ends the changes on this node. Requires: changed_.
void OpenKey::Settle(redis::Millis expiry, Instant now) {
  changed_ = false;
  value_->set_changed_at(now);
  value_->EndHoldChanges();
  if (value_->empty() && !value_->holds()) {
    redis::DeleteKey(key_);
    value_ = nullptr;
  } else {
    redis::SetAbsExpire(key_, expiry);
    if (value_->holds()) ScheduleSweep(now);
  }
  redis::SignalModifiedKey(context_, name_);
}

void OpenKey::Commit(Instant now) {
  if (!changed_) return;
  const redis::Millis expiry = ForgetFull(now);
  const std::string state = ChangeBytes(*value_, module_.limit_texts);
  Settle(expiry, now);
  redis::Replicate(context_, "RL.STATE", "slb", name_, static_cast<long long>(expiry), state.data(),
                   state.size());
}

void OpenKey::CommitAsTold(redis::Millis expiry) {
  if (!changed_) return;
  Settle(expiry, WallTime());
  redis::ReplicateVerbatim(context_);
}

}  // namespace weir
