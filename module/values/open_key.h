// An open key of Redis: finds and changes its buckets and holds, and makes the changes known to
// replicas and the AOF.
//
//     OpenKey key(module, context, name, redis::kWrite);
//     if (key.is_of_another_type()) ...
//     key.ExpireHolds(now);             // before a look at the buckets
//     key.Keep(id, bucket);
//     key.Commit(now);                // before it closes
//
// A key that is opened to read is never changed, on a primary or on a replica: the buckets are then
// those of a copy, which the value keeps for further looks until it changes or more is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "absl/functional/function_ref.h"

#include "core/base/instant.h"
#include "core/limiter/hold_store.h"
#include "core/limiter/policy_trim.h"
#include "core/rules/bucket.h"
#include "module/api/redis_api.h"
#include "module/values/key_buckets.h"
#include "module/values/module.h"
#include "module/values/state_bytes.h"

namespace weir {

// Make and delete a value in Redis's memory: NewValue's has no buckets and no holds.
[[nodiscard]] KeyBuckets* NewValue(Module& module);
[[nodiscard]] KeyBuckets* CopyValue(const KeyBuckets& value);
void DeleteValue(KeyBuckets* value);
// Gives a value this state: an empty one, if the state is not a change. If this node has no room
// for a limit, as another node had, its bucket counts as full, and its holds as gone.
void FillValue(Module& module, const SavedState& state, KeyBuckets& value);

class OpenKey final : public HoldStore {
 public:
  // Opens a key to read (redis::kRead), or also to write (redis::kWrite). Requires: no other
  // OpenKey of the same name.
  OpenKey(Module& module, redis::Context* context, redis::String* name, int mode);
  ~OpenKey() override;
  OpenKey(OpenKey&& other) noexcept;
  OpenKey& operator=(OpenKey&&) = delete;

  [[nodiscard]] redis::String* name() const noexcept { return name_; }
  [[nodiscard]] bool is_of_another_type() const noexcept { return other_type_; }

  // Returns the bucket, or null. Requires: !is_of_another_type().
  [[nodiscard]] const Bucket* Find(LimitId limit) const noexcept;
  [[nodiscard]] std::span<const KeyBuckets::KeyBucket> buckets() const noexcept;

  // Cancels the holds that have expired, each as of its expiry, and drops those of deleted
  // policies, and buckets of sliding windows that would lose their age. A look that comes later
  // finds the state as of `now`.
  void ExpireHolds(Instant now);

  // Returns the number of limits of the holds that ExpireHolds would settle, but not many more than
  // `most`.
  [[nodiscard]] std::size_t CountDue(Instant now, std::size_t most);

  // For the sweeper (hold_sweeper.h): when it looks at the key; Instant{} if it does not. Sweep
  // settles what is due, commits it, and notes when the next is.
  [[nodiscard]] Instant sweep_at() const noexcept {
    return value_ ? value_->sweep_at() : Instant{};
  }
  void set_sweep_at(Instant when) noexcept { value_->set_sweep_at(when); }
  void Sweep(Instant now);

  // Cuts what the key's buckets owe, and commits that. Returns the number of cut buckets. Does
  // nothing with a value of another type. Requires: opened to write.
  std::size_t Trim(const Trimmer& trimmer, Instant now);

  // The time until a bucket is full; also 0 if its policy no longer exists.
  [[nodiscard]] Nanos TimeToFull(const KeyBuckets::KeyBucket& one, Instant now) const;

  // Changes, which Commit makes known. Requires: opened to write.
  void Keep(LimitId limit, const Bucket& bucket);
  std::size_t EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone);
  // Replaces the state, or changes it as told.
  void Replace(const SavedState& state);

  // --- HoldStore ---
  [[nodiscard]] StoredKey stored_key() noexcept { return {this, KeyBuckets::kKey}; }
  // For a look, the due holds are among them.
  [[nodiscard]] HoldTable* holds() override {
    const KeyBuckets* const value = looked_at_ ? looked_at_ : value_;
    return value ? value->holds() : nullptr;
  }
  [[nodiscard]] HoldTable& MakeHolds() override;
  void HoldsChanged() override { changed_ = true; }
  [[nodiscard]] std::optional<Bucket> FindBucket(const SlotKey& slot) override;
  void StoreBucket(const SlotKey& slot, const Limit& /*limit*/, Bucket bucket,
                   Instant /*now*/) override {
    Keep(slot.limit, bucket);
  }
  // May drop full buckets, except for those that a hold names.
  [[nodiscard]] bool HasRoomFor(std::uint64_t key, std::size_t added, Instant now) override;

  // Ends the changes: drops full buckets, lets the key expire when all are full and no hold is left
  // (unless clients give the time), and deletes a key without buckets and holds. Replicas and the
  // AOF get the new state, so that they decide nothing again. Does nothing if nothing has changed.
  void Commit(Instant now);
  // Ends changes that come from a primary or an AOF: the key expires at `expiry`, and further
  // replicas and the AOF get the command as it came.
  void CommitAsTold(redis::Millis expiry);

 private:
  void Make();
  void Close();
  [[nodiscard]] bool IsOver(LimitId id, Instant now) const;
  [[nodiscard]] bool HasAged(Instant now) const;
  void DropOver(Instant now);
  [[nodiscard]] bool IsAnythingDue(Instant now) const;
  [[nodiscard]] bool NamesGonePolicy(const Hold& hold) const;
  redis::Millis ForgetFull(Instant now);
  void Settle(redis::Millis expiry, Instant now);
  void Look(Instant now);
  void ScheduleSweep(Instant now);

  Module& module_;
  redis::Context* context_;
  redis::String* name_;
  redis::Key* key_;
  const bool reads_only_;
  KeyBuckets* value_ = nullptr;      // or a copy
  KeyBuckets* looked_at_ = nullptr;  // the value itself, if value_ is the copy of a look
  struct DeleteCopy {
    void operator()(KeyBuckets* copy) const { DeleteValue(copy); }
  };
  std::unique_ptr<KeyBuckets, DeleteCopy> copy_;
  bool other_type_ = false;
  bool changed_ = false;
};

}  // namespace weir
