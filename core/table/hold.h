// A hold: the right of a client to settle, for some time, what a reservation has charged to one
// key. At its end a reservation is cancelled: what it charged comes back. A slice (RL.SLICE) lapses
// instead: its client may have spent all of it, so nothing comes back.
//
// The client gives it an id. A hold is one piece of memory: this header, the parts, the intervals
// of owned limits, and the id: with an id of 16 bytes 104 bytes for a limit, and 184 for three. Not
// thread-safe: the caller holds the lock of the key's store (hold_store.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/settlement.h"
#include "core/table/limit_registry.h"

namespace weir {

inline constexpr std::size_t kHoldIdBytesMax = 64;
inline constexpr std::size_t kHoldPartsMax = 64;  // one for each limit of a request about the key
// The longest that a hold may last; a server may allow less.
inline constexpr Nanos kHoldMax = std::chrono::hours{24};

// The error of a reservation that would exceed a bound on open holds.
[[nodiscard]] inline absl::Status TooManyHolds() { return absl::OutOfRangeError("too many holds"); }

// An estimate (settlement.h) as a hold stores it, except for its emission interval: that of a limit
// without an owner never changes.
struct HoldPart {
  std::uint64_t cost = 0;
  SettlementSums sums{};
  Bucket left{};
  LimitId limit{};

  // `left` for tokens of a held limit, in memory only. No rule leaves such a bucket.
  static constexpr Bucket kHeldLeft{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  [[nodiscard]] bool is_held() const noexcept { return left == kHeldLeft; }
  void SetHeld() noexcept { left = kHeldLeft; }

  // The tokens that it has taken from a held limit; 0 for other limits. A cost that was read from a
  // file may be any number.
  [[nodiscard]] std::uint64_t held_tokens() const noexcept {
    return is_held() ? std::min<std::uint64_t>(cost, kWindowCountMax) : 0;
  }

  friend bool operator==(const HoldPart&, const HoldPart&) = default;
};
static_assert(sizeof(HoldPart) == 40);

struct HoldInterval {
  std::int64_t period = 0;
  std::uint32_t denominator = 1;

  friend bool operator==(const HoldInterval&, const HoldInterval&) = default;
};

// What becomes of an open hold at its expiry.
enum class HoldEnd : bool { kIsCancelled, kLapses };

// The values of a hold that never change, except for the expiry.
struct HoldTerms {
  std::uint64_t key = 0;      // the key's hash
  std::uint64_t request = 0;  // a hash of the words of the request
  std::int64_t granted = 0;   // of RL.TAKE: how many times each part's cost was charged; else 0
  Instant expiry;
  std::uint32_t order = 0;          // of the reservation in its store, modulo 2^32
  Introducer user = kNoIntroducer;  // that it counts for
};

class Hold {
 public:
  struct Delete {
    void operator()(Hold* hold) const noexcept;
  };
  using Owner = std::unique_ptr<Hold, Delete>;

  // Requires: an id of 1 to kHoldIdBytesMax bytes; at most 255 parts; as many intervals as parts,
  // or none.
  [[nodiscard]] static Owner Make(const HoldTerms& terms, std::string_view id,
                                  std::span<const HoldPart> parts,
                                  std::span<const HoldInterval> intervals,
                                  HoldEnd end = HoldEnd::kIsCancelled);
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  [[nodiscard]] const HoldTerms& terms() const noexcept { return terms_; }
  [[nodiscard]] std::uint64_t key() const noexcept { return terms_.key; }
  [[nodiscard]] Instant expiry() const noexcept { return terms_.expiry; }
  [[nodiscard]] bool lapses() const noexcept { return lapses_; }
  [[nodiscard]] std::string_view id() const noexcept {
    return {reinterpret_cast<const char*>(IntervalsBegin() + intervals_), id_bytes_};
  }
  [[nodiscard]] std::span<const HoldPart> parts() const noexcept { return {PartsBegin(), parts_}; }
  [[nodiscard]] std::span<const HoldInterval> intervals() const noexcept {
    return {IntervalsBegin(), intervals_};
  }
  // Returns how much it counts among the holds of its key: the number of its parts, but at least 1.
  [[nodiscard]] std::size_t weight() const noexcept { return parts_ == 0 ? 1 : parts_; }
  // Returns the place of its reservation among all reservations of its table. The lower bits are
  // HoldTerms::order.
  [[nodiscard]] std::uint64_t sequence() const noexcept {
    return std::uint64_t{epoch_} << 32 | terms_.order;
  }
  // The memory that it takes, its entries in a HoldSet and what the allocator adds included.
  [[nodiscard]] std::size_t bytes() const noexcept {
    constexpr std::size_t kEntryBytes = 56;
    return sizeof(Hold) + parts_ * sizeof(HoldPart) + intervals_ * sizeof(HoldInterval) +
           id_bytes_ + kEntryBytes;
  }

  // The estimate of the i-th part, whose limit this is.
  [[nodiscard]] Estimate EstimateOf(std::size_t i, const Limit& limit) const noexcept;

 private:
  friend class HoldSet;
  friend class HoldTable;

  Hold(const HoldTerms& terms, std::string_view id, std::span<const HoldPart> parts,
       std::span<const HoldInterval> intervals, HoldEnd end) noexcept;
  [[nodiscard]] HoldPart* PartsBegin() const noexcept {
    return reinterpret_cast<HoldPart*>(const_cast<Hold*>(this) + 1);
  }
  [[nodiscard]] HoldInterval* IntervalsBegin() const noexcept {
    return reinterpret_cast<HoldInterval*>(PartsBegin() + parts_);
  }

  HoldTerms terms_;
  std::uint32_t epoch_ = 0;  // the upper bits of sequence()
  std::uint8_t id_bytes_;
  std::uint8_t parts_;
  std::uint8_t intervals_;
  bool is_leaving_ : 1 = false;  // HoldSet::TakeMany is about to take it
  bool lapses_ : 1;
};
static_assert(sizeof(Hold) == 48);
static_assert(alignof(Hold) >= alignof(HoldPart));
static_assert(sizeof(HoldPart) % alignof(HoldInterval) == 0);

}  // namespace weir
