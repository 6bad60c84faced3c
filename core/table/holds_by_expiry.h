// Holds in the order of their expiries, and holds of equal expiry in the order of their
// reservations.
//
// The first hold stands outside of the B-tree of the others: nearly every request looks at it, and
// a set of one hold needs no memory of its own. About 20 bytes a hold. Not thread-safe. Cost:
// O(log n), unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/container/btree_set.h"

#include "core/table/hold.h"

namespace weir {

// The place of a hold in an order by expiry. The expiry stands beside the pointer, so that holds of
// other expiries are not read.
struct HoldExpiry {
  Instant time;
  Hold* hold = nullptr;

  friend bool operator<(const HoldExpiry& a, const HoldExpiry& b) noexcept {
    if (a.time != b.time) return a.time < b.time;
    if (a.hold == b.hold) return false;
    const std::uint64_t first = a.hold->sequence();
    const std::uint64_t second = b.hold->sequence();
    return first != second ? first < second : std::less<>{}(a.hold, b.hold);
  }
};

// Returns the entries of holds, sorted.
[[nodiscard]] std::vector<HoldExpiry> SortedByExpiry(std::span<Hold* const> holds);

// True if this many of `all` holds are better removed one by one than by a walk.
[[nodiscard]] inline bool AreFewToRemove(std::size_t holds, std::size_t all) noexcept {
  return holds <= 32 || holds < all / 64;
}

class HoldsByExpiry {
 public:
  // Requires: the hold is not in the set. Cost: O(1) if it is to be the first or the last.
  void Insert(const HoldExpiry& entry);
  // Requires: the hold is in the set, with this expiry. Cost: O(1) for the first one.
  void Erase(const HoldExpiry& entry);
  // Erases entries, which are sorted. Reads few holds. Cost: a walk from the first to the last.
  void EraseSorted(std::span<const HoldExpiry> entries);
  void Clear() noexcept;

  [[nodiscard]] bool empty() const noexcept { return first_.hold == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return others_.size() + (empty() ? 0 : 1); }
  // The first and the last entry. Require: not empty. Cost: O(1).
  [[nodiscard]] const HoldExpiry& First() const noexcept { return first_; }
  [[nodiscard]] const HoldExpiry& Last() const noexcept {
    return others_.empty() ? first_ : *others_.rbegin();
  }
  // Returns the first expiry after `time`; Instant::max() if there is none.
  [[nodiscard]] Instant NextAfter(Instant time) const;
  // Calls visit(const HoldExpiry&) for the entries in their order, until it returns false.
  template <typename Visit>
  void ForEach(Visit visit) const {
    if (empty() || !visit(first_)) return;
    for (const HoldExpiry& entry : others_) {
      if (!visit(entry)) return;
    }
  }

 private:
  // An order in which an instant stands for all holds that expire then.
  struct Before {
    using is_transparent = void;
    bool operator()(const HoldExpiry& a, const HoldExpiry& b) const noexcept { return a < b; }
    bool operator()(const HoldExpiry& a, Instant b) const noexcept { return a.time < b; }
    bool operator()(Instant a, const HoldExpiry& b) const noexcept { return a < b.time; }
  };

  void EraseFirst();

  HoldExpiry first_;
  absl::btree_set<HoldExpiry, Before> others_;
};

}  // namespace weir
