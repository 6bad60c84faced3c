// The buckets of one partition that have changed since the last save.
//
// A bucket is noted once however often it is charged: its mark (kBucketMark) says that it is noted
// already. So a list is about as long as the buckets that changed are many; where it could outgrow
// that (buckets that come and go while nothing can be saved) it is cut to distinct ones, and in the
// end gives up and says that all of the partition has changed.
//
// Memory: 16 bytes for each of kNotedMin notes and one a slot, at most.
//
// Not thread-safe: it belongs to its partition and that one's lock.
#pragma once

#include <cstddef>
#include <vector>

#include "core/rules/limit.h"
#include "core/table/slot_key.h"

namespace weir {

struct NotedChange {
  SlotKey key;
  Algorithm algorithm;
  // The bucket went back (a refund, a cut, a reset), so what an earlier save wrote may say more
  // than there is now: it has to be written even if it is full or gone. Else a full bucket need not
  // be written: what was written of it before is full, too.
  bool went_back;
};
static_assert(sizeof(NotedChange) == 16);

// Sorts by hash, algorithm and limit, and keeps of several notes of a bucket the one that says
// most.
void MakeDistinct(std::vector<NotedChange>& changes);

class ChangeList {
 public:
  // So many are noted whatever the size of the partition.
  static constexpr std::size_t kNotedMin = 64;

  // `slots`: how many the partition has.
  void Add(NotedChange change, std::size_t slots);

  // Calls visit(NotedChange) for the distinct ones, in their order; the list is empty afterwards,
  // with room for about as many again. Requires: !overflowed().
  template <typename Visit>
  void Take(Visit visit) {
    MakeDistinct(changes_);
    for (const NotedChange& change : changes_) visit(change);
    Empty();
  }

  // There were too many: everything counts as changed, until Clear.
  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  void Overflow();
  void Clear();

  [[nodiscard]] std::size_t size() const noexcept { return changes_.size(); }
  // For how many there is memory now.
  [[nodiscard]] std::size_t capacity() const noexcept { return changes_.capacity(); }

 private:
  void Empty();

  std::vector<NotedChange> changes_;
  bool overflowed_ = false;
};

}  // namespace weir
