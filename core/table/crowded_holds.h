// An index of the open holds of a key that has many: by expiry, the number of holds that name each
// limit, and for each held limit the tokens that are out and the end of the last.
//
// Other keys have few holds, so they need no index: a visit of all of them is as fast (HoldTable).
// Memory: about 24 bytes a hold, as many for each part of a held limit, and for each limit that is
// named. Not thread-safe. Cost: O(log n), unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"

#include "core/table/hold.h"
#include "core/table/holds_by_expiry.h"

namespace weir {

// The tokens that the open holds of a key have taken from a held limit.
struct HeldTokens {
  std::uint64_t tokens = 0;
  Instant end{};  // the latest expiry of these holds; Instant{} if there are none

  friend bool operator==(const HeldTokens&, const HeldTokens&) = default;
};

class CrowdedHolds {
 public:
  // Add and remove a hold with its present expiry.
  void Add(Hold& hold);
  void Remove(Hold& hold);
  // Cost: a visit of the holds that expire between the first and the last of these, and of their
  // parts.
  void RemoveMany(std::span<const HoldExpiry> sorted);

  [[nodiscard]] HeldTokens Held(LimitId limit) const;
  // True if a hold names the limit. Cost: O(1).
  [[nodiscard]] bool Names(LimitId limit) const { return named_.contains(limit); }
  // Calls visit(Hold&) for the holds that expire at `time` or before, in the order of HoldExpiry,
  // until it returns false.
  template <typename Visit>
  void ForEachExpired(Instant time, Visit visit) const {
    by_expiry_.ForEach(
        [&](const HoldExpiry& entry) { return entry.time <= time && visit(*entry.hold); });
  }
  // The first expiry after `time`; Instant::max() if there is none.
  [[nodiscard]] Instant NextExpiry(Instant time) const { return by_expiry_.NextAfter(time); }
  [[nodiscard]] std::size_t size() const noexcept { return by_expiry_.size(); }
  // The sum of Hold::weight().
  [[nodiscard]] std::size_t weight() const noexcept { return weight_; }

 private:
  struct OfLimit {
    std::uint64_t tokens = 0;
    absl::btree_map<Instant, std::uint64_t> ending;  // tokens by the expiries of their holds
  };
  void RemoveParts(const Hold& hold);

  HoldsByExpiry by_expiry_;
  absl::flat_hash_map<LimitId, OfLimit> held_;
  absl::flat_hash_map<LimitId, std::uint32_t> named_;  // how many parts have it
  std::size_t weight_ = 0;
};

}  // namespace weir
