// The holds of one partition that have changed since the last save, and the sums of its buckets
// (settlement.h) that have.
//
// A hold is noted by its name when it is opened, renewed, settled or removed; once, however often
// it changes. So are the sums of a bucket. A hold that is gone stays noted until a save has erased
// its record. If there are too many notes (holds come and go while nothing can be saved), they
// overflow: then all holds and sums of the partition count as changed.
//
// Memory: about 100 bytes a note, and at most kGoneMax notes more than there are holds and sums.
// Not thread-safe: the caller holds the partition's lock. Cost of a note: O(log n).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"

#include "core/base/check.h"
#include "core/table/slot_key.h"

namespace weir {

class HoldChanges {
 public:
  // Notes that fit in addition to one for each hold and each sum.
  static constexpr std::size_t kGoneMax = 256;

  // `there`: the number of holds, marks and sums that the partition has.
  void AddHold(std::uint64_t key, std::string_view id, std::size_t there) {
    if (overflowed_) return;
    if (!holds_.contains(NameView{key, id})) holds_.insert(Name{key, std::string(id)});
    CheckSize(there);
  }
  void AddSums(const SlotKey& bucket, std::size_t there) {
    if (overflowed_) return;
    sums_.emplace(bucket.key_hash(), bucket.limit);
    CheckSize(there);
  }

  // Calls visit_hold(key, id) and visit_sums(SlotKey) for all notes, in the order of keys, then of
  // ids and limits. Removes them. Requires: !overflowed().
  template <typename VisitHold, typename VisitSums>
  void Take(VisitHold visit_hold, VisitSums visit_sums) {
    WEIR_CHECK(!overflowed_);
    for (const Name& name : holds_) visit_hold(name.key, name.id);
    for (const auto& [key, limit] : sums_) visit_sums(SlotKey(key, limit));
    Clear();
  }
  void Clear() {
    holds_.clear();
    sums_.clear();
    overflowed_ = false;
  }

  // Makes all holds and sums count as changed.
  void Overflow() {
    Clear();
    overflowed_ = true;
  }

  [[nodiscard]] bool overflowed() const noexcept { return overflowed_; }
  [[nodiscard]] std::size_t size() const noexcept { return holds_.size() + sums_.size(); }

 private:
  struct Name {
    std::uint64_t key;
    std::string id;
  };
  struct NameView {
    std::uint64_t key;
    std::string_view id;
  };
  struct ByName {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.key != b.key ? a.key < b.key : a.id < b.id;
    }
  };
  void CheckSize(std::size_t there) {
    if (size() > there + kGoneMax) Overflow();
  }

  absl::btree_set<Name, ByName> holds_;
  absl::btree_set<std::pair<std::uint64_t, LimitId>> sums_;
  bool overflowed_ = false;
};

}  // namespace weir
