// Holds by name and by expiry: found in O(log n) by their key and id, or by the earliest expiry.
//
// One B-tree sorts them by the key's hash and the id, so that the holds of a key lie side by side.
// They are sorted by expiry, too (holds_by_expiry.h). About 48 bytes a hold. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/container/btree_set.h"

#include "core/table/hold.h"
#include "core/table/holds_by_expiry.h"

namespace weir {

class HoldSet {
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
  using ByNames = absl::btree_set<Entry, ByName>;

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
  // Takes out holds of one key, which then belong to the caller. `sorted`: SortedByExpiry of these
  // holds. Cost: for few holds (AreFewToRemove) that of Remove; for many a walk past all holds that
  // expire between the first and the last of them and, unless they are all holds of the key, past
  // the key's holds.
  void TakeMany(std::uint64_t key, std::span<const HoldExpiry> sorted);
  void SetExpiry(Hold& hold, Instant expiry);
  // The hold that expires first; and the expiry of the last. Require: not empty.
  [[nodiscard]] Hold& First() const noexcept { return *by_expiry_.First().hold; }
  [[nodiscard]] Instant LatestExpiry() const noexcept { return by_expiry_.Last().time; }
  // Calls visit(Hold&) for the key's holds, in the order of their ids, until it returns false.
  template <typename Visit>
  void ForEachOf(std::uint64_t key, Visit visit) const {
    if (empty()) return;
    for (auto at = by_name_.lower_bound(Name{key, {}}); at != by_name_.end(); ++at) {
      if (at->key != key || !visit(*at->hold)) return;
    }
  }
  // The number of the key's holds, but at most `most`. Reads none of them.
  [[nodiscard]] std::size_t CountOf(std::uint64_t key, std::size_t most) const;
  // Calls visit(Hold&) for every hold, in the order of keys, then of ids.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Entry& entry : by_name_) visit(*entry.hold);
  }
  void Clear() noexcept;

  // Finds many names in their order. Cost: a step from the last one for a name that is near, else
  // that of HoldSet::Find.
  class Finder {
   public:
    // The set must outlive the finder, and stay as it is.
    explicit Finder(const HoldSet& set) : set_(set), at_(set.by_name_.begin()) {}
    // The hold, or null. Requires: no name before that of the last call.
    [[nodiscard]] Hold* Find(std::uint64_t key, std::string_view id);

   private:
    const HoldSet& set_;
    ByNames::const_iterator at_;  // the first that the last call did not pass over
  };

  [[nodiscard]] bool empty() const noexcept { return by_expiry_.empty(); }
  // True if a hold expires at `time` or before.
  [[nodiscard]] bool HasExpired(Instant time) const noexcept {
    return !by_expiry_.empty() && by_expiry_.First().time <= time;
  }
  [[nodiscard]] std::size_t size() const noexcept { return by_name_.size(); }
  // The sums of Hold::weight() and of Hold::bytes().
  [[nodiscard]] std::size_t weight() const noexcept { return weight_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  ByNames by_name_;
  HoldsByExpiry by_expiry_;  // owns the holds
  std::size_t weight_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weir
