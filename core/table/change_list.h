// The buckets of one partition that have changed since the last save.
//
// A bucket is noted once however often it is charged: its mark (kBucketMark) says that it is noted
// already. So a list has about one note for each changed bucket. If it grows longer (buckets come
// and go while nothing can be saved), it is cut to distinct notes; if that does not help, it
// overflows: the whole partition counts as changed.
//
// Memory: 16 bytes a note, and at most kNotedMin notes more than the partition has slots.
//
// Not thread-safe: the caller holds the partition's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "core/rules/limit.h"
#include "core/table/slot_key.h"

namespace weir {

struct NotedChange {
  SlotKey key;
  Algorithm algorithm;
  // The bucket may be full earlier than before (a refund, a cut, a reset). The record of an earlier
  // save may then claim too much use, so the change must be written even if the bucket is full or
  // gone. Otherwise a full bucket need not be written: its earlier record is full by now, too.
  bool went_back;
};
static_assert(sizeof(NotedChange) == 16);

// Sorts by hash, algorithm and limit, and keeps one note of each bucket: one that says that it went
// back, if there is any.
void MakeDistinct(std::vector<NotedChange>& changes);

class ChangeList {
 public:
  // Notes that fit in addition to one for each slot.
  static constexpr std::size_t kNotedMin = 64;

  // `slots`: the number of slots that the partition has.
  void Add(NotedChange change, std::size_t slots);

  // Calls visit(NotedChange) for each distinct change, in the order of MakeDistinct. Empties the
  // list, but keeps room for about as many again. Requires: !overflowed().
  template <typename Visit>
  void Take(Visit visit) {
    MakeDistinct(changes_);
    for (const NotedChange& change : changes_) visit(change);
    Empty();
  }

  // True after too many changes: the whole partition counts as changed, until Clear.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  void Overflow();
  void Clear();

  [[nodiscard]] std::size_t size() const noexcept { return changes_.size(); }
  // The number of notes that there is memory for.
  [[nodiscard]] std::size_t capacity() const noexcept { return changes_.capacity(); }

 private:
  void Empty();

  std::vector<NotedChange> changes_;
  bool overflowed_ = false;
};

}  // namespace weir
