// A partition of the limiter's table as a store of holds, and the change of a stored bucket. For
// the files of the limiter only.
#pragma once

#include "core/limiter/hold_store.h"
#include "core/limiter/limiter.h"

namespace weir {

// Changes a stored bucket.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Limiter::Replace(const KeyHash& key, LimitId id,
                                                          const Limit& limit, Bucket& slot,
                                                          Bucket value) {
  if (!notes_changes_) {
    slot = value;
    return;
  }
  Partition& partition = table_.partition(key.partition);
  if (partition.ReplaceLogged({key.hash, id}, limit.shape().algorithm, slot, value)) {
    table_.ShowSize(key.partition);
  }
  NoteChanged(key.partition);
}

// Requires: the partition is locked.
class Limiter::PartitionStore final : public HoldStore {
 public:
  PartitionStore(Limiter& limiter, std::size_t partition)
      : limiter_(limiter), partition_(partition) {}

  [[nodiscard]] HoldTable* holds() override { return limiter_.table_.holds(partition_); }
  [[nodiscard]] HoldTable& MakeHolds() override {
    return limiter_.table_.MakeHolds(partition_, limiter_.notes_changes_);
  }
  void HoldsChanged() override { limiter_.ShowHolds(partition_); }

  [[nodiscard]] std::optional<Bucket> FindBucket(const SlotKey& slot) override {
    const Bucket* const stored = limiter_.table_.partition(partition_).Find(slot);
    return stored ? std::optional(*stored) : std::nullopt;
  }
  void StoreBucket(const SlotKey& slot, const Limit& limit, Bucket bucket, Instant now) override {
    const KeyHash key = KeyOf(slot.key_hash());
    Bucket* const stored = limiter_.table_.partition(partition_).Find(slot);
    if (stored) {
      limiter_.Replace(key, slot.limit, limit, *stored, bucket);
    } else {
      limiter_.InsertSettled(key, slot.limit, limit, bucket, now);
    }
  }
  [[nodiscard]] bool HasRoomFor(std::uint64_t key, std::size_t added, Instant now) override {
    return limiter_.HasRoomFor(KeyOf(key), added, now);
  }

 private:
  [[nodiscard]] KeyHash KeyOf(std::uint64_t hash) const {
    return {hash, static_cast<std::uint16_t>(partition_)};
  }

  Limiter& limiter_;
  const std::size_t partition_;
};

}  // namespace weir
