#include "module/values/open_key.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/rules/rule.h"
#include "module/api/redis_allocator.h"

namespace weir {
KeyBuckets* NewValue(Module& module) {
  return new (RedisAllocator<KeyBuckets>().allocate(1)) KeyBuckets(module.registry);
}

KeyBuckets* CopyValue(const KeyBuckets& value) {
  return new (RedisAllocator<KeyBuckets>().allocate(1)) KeyBuckets(value);
}

void DeleteValue(KeyBuckets* value) {
  value->~KeyBuckets();
  RedisAllocator<KeyBuckets>().deallocate(value, 1);
}

void FillValue(Module& module, std::span<const SavedBucket> buckets, KeyBuckets& value) {
  module.ReclaimLimits();
  for (const SavedBucket& saved : buckets) {
    LimitHint no_hint;
    const absl::StatusOr<LimitId> id = module.registry.Intern(saved.limit, no_hint);
    if (id.ok()) value.Keep(*id, saved.bucket);
  }
}

OpenKey::OpenKey(Module& module, redis::Context* context, redis::String* name, int mode)
    : module_(module), context_(context), name_(name), key_(redis::OpenKey(context, name, mode)) {
  if (key_ == nullptr || redis::KeyType(key_) == redis::kEmptyKey) return;
  other_type_ = redis::ModuleTypeGetType(key_) != module.type;
  if (!other_type_) value_ = static_cast<KeyBuckets*>(redis::ModuleTypeGetValue(key_));
}

OpenKey::OpenKey(OpenKey&& other) noexcept
    : module_(other.module_),
      context_(other.context_),
      name_(other.name_),
      key_(std::exchange(other.key_, nullptr)),
      value_(other.value_),
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
  const LimitOwner owner = limit.owner();
  const bool is_of_policy = owner != LimitOwner{} && owner != kThrottleOwner;
  if (is_of_policy && !module_.policies.FindById(owner.policy)) return Nanos{0};
  return weir::TimeToFull(limit, one.bucket, now);
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

void OpenKey::Replace(std::span<const SavedBucket> buckets) {
  Make();
  changed_ = true;
  value_->EraseIf([](LimitId, const Bucket&) { return true; });
  FillValue(module_, buckets, *value_);
}

// Drops full buckets. Returns when all will be full, or kNoExpiry if clients give the time.
redis::Millis OpenKey::ForgetFull(Instant now) {
  if (module_.options.allow_explicit_time) return redis::kNoExpiry;
  Nanos longest{0};
  value_->EraseIf([&](LimitId limit, const Bucket& bucket) {
    const Nanos to_full = TimeToFull({limit, bucket}, now);
    longest = std::max(longest, to_full);
    return to_full == Nanos{0};
  });
  return CeilMillis(now.time_since_epoch() + longest);
}

// Ends the changes on this node. Requires: changed_.
void OpenKey::Settle(redis::Millis expiry) {
  changed_ = false;
  if (value_->empty()) {
    redis::DeleteKey(key_);
    value_ = nullptr;
  } else {
    redis::SetAbsExpire(key_, expiry);
  }
  redis::SignalModifiedKey(context_, name_);
}

void OpenKey::Commit(Instant now) {
  if (!changed_) return;
  const redis::Millis expiry = ForgetFull(now);
  const std::string state = StateBytes(*value_, module_.limit_texts);
  Settle(expiry);
  redis::Replicate(context_, "RL.STATE", "slb", name_, static_cast<long long>(expiry), state.data(),
                   state.size());
}

void OpenKey::CommitAsTold(redis::Millis expiry) {
  if (!changed_) return;
  Settle(expiry);
  redis::ReplicateVerbatim(context_);
}

}  // namespace weir
