// Upkeep of all keys of a limiter, by threads and operators: sweep, expire, forget, bound, count.
//
//     LimiterUpkeep upkeep(limiter.table());
//     upkeep.Sweep(partition, clock.Now());
//
// Thread-safe. An upkeep is a reference to the table, which must outlive it. Fails: ExpireAhead
// only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "absl/status/status.h"

#include "core/base/instant.h"
#include "core/rules/limit.h"
#include "core/table/bucket_table.h"
#include "core/table/key_hash.h"

namespace weir {

struct LimiterTable;

class LimiterUpkeep {
 public:
  explicit LimiterUpkeep(LimiterTable& table) : table_(table) {}

  // --- Expiry ---

  // Settle the holds that have expired, of these keys or of all; none where clients give the time,
  // which may go back. To be called before a policy changes the numbers by which they are settled.
  // Cost: the locks, and the holds.
  void ExpireHolds(std::span<const std::string_view> keys, Instant now);
  void ExpireHolds(Instant now);
  // Settles at most `most` expired holds of a partition. Returns whether some are left.
  bool ExpireSome(std::size_t partition, Instant now, std::size_t most);
  // Settles the expired holds of several keys, one key after the other, before a call about all of
  // them. Fails with TooManyDue, after settling some, if there are more than one key may have.
  [[nodiscard]] absl::Status ExpireAhead(std::span<const KeyHash> keys, Instant now);

  struct Swept : Partition::Erased {
    bool has_due = false;  // open holds have expired that are not settled yet
  };
  // Drops the full buckets among `visits_max` slots of one partition, from the `first`th on, and
  // settles expired holds: each counts as at most kSlotsPerSettled visits. At the end of the
  // partition, gives memory back and brings the partition below a lowered bound.
  static constexpr std::size_t kSlotsPerSettled = 512;
  Swept SweepSome(std::size_t partition, Instant now, std::size_t first, std::size_t visits_max);
  // Sweeps the whole partition at once. Returns how many buckets it dropped.
  std::size_t Sweep(std::size_t partition, Instant now) {
    return SweepSome(partition, now, 0, std::numeric_limits<std::size_t>::max()).erased;
  }

  // --- Forgetting ---

  // Forgets everything. Stops the world meanwhile, as an Isolation of all keys does, for less than
  // a millisecond however much there is: the memory is kept for FreeDiscarded().
  void Clear();
  // Frees one partition of the content that Clear() has forgotten, without a lock. Returns false if
  // nothing is left; until then limits keep their ids. Cost: 10 ns a bucket, some 500 ns a hold.
  bool FreeDiscarded();
  // Forgets all buckets of these policies: a scan of the table. Stops if the limiter follows.
  void ForgetPolicies(std::span<const PolicyId> policies);

  // --- Bounds ---

  // Keeps the table within `bytes`, at least TableBound::kBytesMin; 0: no bound. A new bucket
  // without room evicts others from its partition: the full ones and, if that is not enough, those
  // with the smallest used share (rule.h), among equals those that are full sooner. (An eviction
  // frees a 32nd of the partition, so that one scan, about 4 ns a bucket, serves many inserts.) The
  // next lap of sweeps brings the table below a lowered bound. Holds may have a quarter of `bytes`;
  // from the next FitTable on, the memory that they use is not available for buckets.
  void set_memory_max(std::size_t bytes) noexcept;
  void FitTable() noexcept;
  // Takes back ids of idle limits if nearly all ids are in use. A transaction calls this first,
  // because it cannot take ids back while it holds locks, and might be refused a new limit.
  void MakeRoomForLimits();
  // Takes back at most `ids_max` ids of limits that no bucket carries any more. Returns how many.
  // Stops the world for up to 50 us and 0.1 us an id, so it does nothing if fewer than `ids_min`
  // are idle. Each call continues where the last one stopped: calls in a row visit each limit
  // twice.
  std::size_t ReclaimLimits(std::size_t ids_min, std::size_t ids_max);

  // --- Numbers ---

  struct Size {
    std::size_t buckets = 0;      // stored, including full ones that are not swept yet
    std::size_t changes = 0;      // logged for the next save
    std::size_t limits = 0;       // interned
    std::size_t table_bytes = 0;  // of the maps' arrays
  };
  // Locks no partition: about 10 us.
  [[nodiscard]] Size size() const;
  // Counts the buckets that are not full. Cost: a scan of the table.
  [[nodiscard]] std::size_t CountLive(Instant now) const;

  struct Counts {
    std::uint64_t evicted = 0;  // buckets dropped for the bound that were not full
    std::uint64_t evicted_full = 0;
    std::size_t open_holds = 0;  // one for each key
    std::size_t hold_bytes = 0;  // of open and settled holds
    // So far. A cancelled hold counts as settled, too; `settled_holds` is read after it.
    std::uint64_t expired_holds = 0;
    std::uint64_t cancelled_holds = 0;
    std::uint64_t settled_holds = 0;
    std::size_t open_slices = 0;    // open_holds counts them, too
    std::uint64_t slice_units = 0;  // granted to these
    std::uint64_t granted_slices = 0;
    std::uint64_t lapsed_slices = 0;
    std::uint64_t resets = 0;  // of keys (Limiter::Reset), and of the table (Clear)
  };
  [[nodiscard]] Counts counts() const noexcept;

 private:
  LimiterTable& table_;
};

}  // namespace weir
