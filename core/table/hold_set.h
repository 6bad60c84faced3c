// Holds by name and by expiry: found in O(log n) by their key and id, or by the earliest expiry.
//
// A B-tree sorts them by the key's hash and the id, so that the holds of a key lie side by side. A
// binary heap sorts them by expiry, and those of equal expiry in the order of their reservations;
// each hold knows its place in the heap, so that a renewal or a removal costs O(log n), too. About
// 48 bytes a hold. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"

#include "core/table/hold.h"

namespace weir {

class HoldSet {
 public:
  HoldSet() = default;
  HoldSet(const HoldSet&) = delete;
  HoldSet& operator=(const HoldSet&) = delete;
  ~HoldSet() { Clear(); }

  // The hold, or null.
  [[nodiscard]] Hold* Find(std::uint64_t key, std::string_view id) const;
  // Gives the hold this expiry. Requires: no hold of that name.
  Hold& Insert(Hold::Owner hold, Instant expiry);
  [[nodiscard]] Hold::Owner Remove(Hold& hold);
  void SetExpiry(Hold& hold, Instant expiry);
  // The hold that expires first. Requires: not empty.
  [[nodiscard]] Hold& First() const noexcept { return *by_expiry_.front().hold; }
  // The key's holds that expire at `time` or before, in the order of First(). Cost: all holds of
  // the key, if any hold of the set has expired then; their number is added to `visits`.
  [[nodiscard]] std::vector<Hold*> ExpiredOf(std::uint64_t key, Instant time,
                                             std::uint64_t& visits) const;
  // Calls visit(Hold&) for the key's holds, in the order of their ids, until it returns false.
  template <typename Visit>
  void ForEachOf(std::uint64_t key, Visit visit) const {
    for (auto at = by_name_.lower_bound(Name{key, {}}); at != by_name_.end(); ++at) {
      if (at->key != key || !visit(*at->hold)) return;
    }
  }
  // Calls visit(Hold&) for every hold.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Expiry& entry : by_expiry_) visit(*entry.hold);
  }
  void Clear() noexcept;

  [[nodiscard]] bool empty() const noexcept { return by_expiry_.empty(); }
  // True if a hold expires at `time` or before.
  [[nodiscard]] bool HasExpired(Instant time) const noexcept {
    return !empty() && by_expiry_.front().time <= time;
  }
  [[nodiscard]] std::size_t size() const noexcept { return by_expiry_.size(); }

 private:
  struct Name {
    std::uint64_t key;
    std::string_view id;
  };
  // The key's hash stands beside the pointer, so that other keys' holds are passed over unread.
  struct Entry {
    std::uint64_t key;
    Hold* hold;
  };
  struct ByName {
    using is_transparent = void;
    static Name NameOf(const Entry& entry) { return {entry.key, entry.hold->id()}; }
    static Name NameOf(const Name& name) { return name; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (a.key != b.key) return a.key < b.key;
      return NameOf(a).id < NameOf(b).id;
    }
  };
  // The expiry stands beside the pointer, so that holds of other expiries are not read.
  struct Expiry {
    Instant time;
    Hold* hold;
  };
  static bool ExpiresBefore(const Expiry& a, const Expiry& b) noexcept {
    if (a.time != b.time) return a.time < b.time;
    return static_cast<std::int32_t>(a.hold->terms_.order - b.hold->terms_.order) < 0;
  }
  void Put(std::size_t place, const Expiry& entry) noexcept {
    by_expiry_[place] = entry;
    entry.hold->place_ = static_cast<std::uint32_t>(place);
  }
  void MoveUp(std::size_t place) noexcept;
  void MoveDown(std::size_t place) noexcept;

  absl::btree_set<Entry, ByName> by_name_;
  std::vector<Expiry> by_expiry_;  // a heap, the earliest in front; owns the holds
};

}  // namespace weir
