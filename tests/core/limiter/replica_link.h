// A link that carries the changes of a primary's limiter to a replica's, without bytes: frames in
// order, delivered as late as the test likes.
//
//     ReplicaLink link(primary_hub, replica);
//     link.Take();        // what has changed becomes frames
//     link.Deliver(3);    // the replica applies up to three of them
//     link.Sync();        // all, with copies of the partitions whose logs have overflowed
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "core/limiter/change_hub.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_restore.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/table/partition_set.h"

namespace weir {

// The records with a dictionary of the limits that they name, and the limits' places there in place
// of their ids. Requires: this thread's present ChangesLock has taken them.
[[nodiscard]] inline LimiterChanges WithDictionary(const ChangeReader& reader,
                                                   LimiterChanges records) {
  std::map<LimitId, LimitId> places;
  records.limits.clear();
  const auto rename = [&](LimitId& id) {
    const LimitId next{static_cast<std::uint32_t>(places.size())};
    const auto [place, is_new] = places.try_emplace(id, next);
    if (is_new) records.limits.push_back({next, reader.LimitOf(id)});
    id = place->second;
  };
  for (BucketChange& change : records.buckets) rename(change.key.limit);
  for (HoldChange& change : records.holds) {
    if (!change.hold) continue;
    for (HoldPart& part : change.hold->parts) rename(part.limit);
  }
  for (SumsChange& change : records.sums) rename(change.bucket.limit);
  return records;
}

class ReplicaLink final : public ChangeConsumer {
 public:
  // Attaches to the hub. Both tables must be equal now.
  ReplicaLink(ChangeHub& primary, Limiter& replica) : primary_(primary), replica_(replica) {
    primary_.Attach(*this);
  }
  ~ReplicaLink() override { primary_.Detach(*this); }

  void Consume(const ChangeBatch& batch) override {
    if (batch.limiter.generation != generation_) {
      frames_.push_back({.flushes = true, .time = batch.time, .records = {}});
      to_copy_ = PartitionSet();
    }
    generation_ = batch.limiter.generation;
    for (const std::uint16_t partition : batch.limiter.overflowed_partitions) {
      to_copy_.Add(partition);
      ++overflowed_;
    }
    LimiterChanges records = batch.limiter;
    records.overflowed_partitions.clear();
    frames_.push_back({.flushes = false,
                       .time = batch.time,
                       .records = WithDictionary(primary_.reader(), std::move(records))});
  }

  // Takes all changes as a complete save does, so that ids may be given out again.
  void Take() {
    primary_.reader().BeginSave();
    primary_.TakeAll();
    static_cast<void>(primary_.reader().TakeLimits());
    primary_.reader().EndSave();
  }
  // Copies the partitions that must be copied, as they are now.
  void Copy() {
    const ChangesLock changes_lock(primary_.reader());
    std::exchange(to_copy_, PartitionSet()).ForEach([&](std::size_t partition) {
      const Instant now = primary_.clock().Now();
      LimiterChanges copy;
      primary_.reader().CopyPartition(partition, now, copy);
      frames_.push_back({.flushes = false,
                         .time = now,
                         .records = WithDictionary(primary_.reader(), std::move(copy))});
    });
  }
  void Deliver(std::size_t frames_max) {
    for (; frames_max > 0 && !frames_.empty(); --frames_max) {
      const Frame& frame = frames_.front();
      if (frame.flushes) {
        LimiterUpkeep(replica_.table()).Clear();
      } else {
        LimiterRestore restore(replica_.table());
        restore.SetTold(frame.time);
        dropped_ += restore.Apply(frame.records, frame.time);
      }
      frames_.pop_front();
    }
  }
  void Sync() {
    Take();
    Copy();
    Deliver(std::numeric_limits<std::size_t>::max());
  }

  // Records that the replica had no room for.
  [[nodiscard]] std::size_t dropped() const noexcept { return dropped_; }
  [[nodiscard]] std::size_t overflowed() const noexcept { return overflowed_; }

 private:
  struct Frame {
    bool flushes;
    Instant time;
    LimiterChanges records;
  };

  ChangeHub& primary_;
  Limiter& replica_;
  TableGeneration generation_{};
  PartitionSet to_copy_;
  std::deque<Frame> frames_;
  std::size_t dropped_ = 0;
  std::size_t overflowed_ = 0;
};

}  // namespace weir
