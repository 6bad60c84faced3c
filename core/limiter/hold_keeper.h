// The keeper of holds: it opens, renews, settles and drops them, together with their buckets.
//
//     keeper.ExpireHolds(key, now);                       // before a look at the key's buckets
//     keeper.CountNew(keys, checks.size(), user, now);    // RL.RESERVE, once a plan has decided
//     keeper.Open(key, request, 1, now, plan, checks, id_of);
//     keeper.Settle(request, keys, now, present);         // RL.COMMIT
//
// It knows no table: the server's limiter (limiter.h) and the module's (module/handlers/) find the
// stores of a request's keys, decide the request with a plan, and call the keeper for the rest. So
// both settle alike. HoldRecords (hold_records.h) adds and removes the holds of a store and counts
// them; HoldSums (hold_sums.h) tells them of other changes of their buckets.
//
// The numbers of ended holds are thread-safe; for the rest, the caller holds the locks of the
// stores. Fails: FindRepeated, CountNew and Settle only. Cost: O(log n) for a hold among n of its
// store, and the rules' for each of its parts, if nothing else is said.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/limiter/hold_records.h"
#include "core/limiter/hold_request.h"
#include "core/limiter/hold_store.h"
#include "core/plans/choice.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/settlement.h"
#include "core/table/limit_registry.h"
#include "core/words/request.h"

namespace weir {

class HoldKeeper {
 public:
  // `present`: returns an interned limit with its present numbers, or nothing if it is gone; unset:
  // as it was interned. The registry and the records must outlive the keeper.
  using Present = std::function<std::optional<Limit>(const Limit&)>;
  HoldKeeper(const LimitRegistry& registry, HoldRecords& records, Nanos max_wait, Present present)
      : registry_(registry), records_(records), max_wait_(max_wait), present_(std::move(present)) {}

  // The holds that have expired so far, without slices; those that were settled, and those of these
  // that were cancelled; the slices that were granted, and those that have lapsed.
  [[nodiscard]] std::uint64_t expired() const noexcept { return Value(expired_); }
  [[nodiscard]] std::uint64_t settled() const noexcept { return Value(settled_); }
  [[nodiscard]] std::uint64_t cancelled() const noexcept { return Value(cancelled_); }
  [[nodiscard]] std::uint64_t granted_slices() const noexcept { return Value(granted_slices_); }
  [[nodiscard]] std::uint64_t lapsed_slices() const noexcept { return Value(lapsed_slices_); }

  // --- Expiry ---

  // Cancels expired holds, each as of its own expiry and those of one key in the order of their
  // expiries, drops slices that have lapsed, and forgets old marks. Returns the latest of these
  // expiries; nothing if no hold was due.
  //
  // In a whole store: at most `most` holds, and as many marks. For a key: all of its due holds, and
  // one other hold and one mark of its store, so that these do not pile up. Cost: about 150 ns for
  // each limit of a hold that is due (kKeyHoldsMax bounds them); others are not visited.
  std::optional<Instant> ExpireHolds(HoldStore& store, Instant now,
                                     std::size_t most = std::numeric_limits<std::size_t>::max());
  std::optional<Instant> ExpireHolds(const StoredKey& key, Instant now);
  // Stores the buckets as ExpireHolds would leave them, but settles no hold. Serves looks:
  // `key.store` has a copy of the key's buckets, and the key's holds, which do not change.
  void ExpireInCopy(const StoredKey& key, Instant now) const;
  // Returns the number of limits (Hold::weight) of the key's due holds, but not many more than
  // `most`.
  [[nodiscard]] static std::size_t CountDue(const StoredKey& key, Instant now, std::size_t most);
  // Returns how many visits of the key's holds a call takes.
  [[nodiscard]] static std::size_t CountVisits(const StoredKey& key, Instant now, KeyWork work);

  // --- Reserving, as Limiter::DecideAndHold says ---

  // The open holds that a request renews: none, or one for each key. `keys`: distinct. Fails with
  // kAlreadyExists or kFailedPrecondition.
  using Repeated = absl::InlinedVector<Hold*, 2>;
  [[nodiscard]] static absl::StatusOr<Repeated> FindRepeated(std::span<const StoredKey> keys,
                                                             const HoldRequest& request,
                                                             Instant now);
  // Returns the alternative that has such a hold, which the request then renews; nothing if no key
  // has one. `keys`: those of all alternatives; `key_of_check`: the place of each check's among
  // them. Of alternatives about the same keys, the hold's limits and costs tell which one it is.
  // Fails as FindRepeated does. Requires: a request of alternatives.
  [[nodiscard]] absl::StatusOr<std::optional<std::size_t>> FindRepeatedAlternative(
      const Request& request, std::span<const StoredKey> keys,
      std::span<const std::size_t> key_of_check, const HoldRequest& hold, Instant now) const;
  // Begins the TTL of an open hold again.
  void Renew(HoldStore& store, Hold& hold, Instant expiry);
  // Replaces the decisions of a plan by the numbers of now, as a refund of nothing has them.
  // `stored`: the i-th check's bucket, if it is stored.
  static Verdict RenewedVerdict(Plan<kManyChecks>& plan, Instant now,
                                absl::FunctionRef<std::optional<Bucket>(std::size_t)> stored);

  // Decides a new request, once or up to `upto` times; the buckets of held limits are extended to
  // the expiry of the hold. Returns how many times it is granted.
  [[nodiscard]] static std::int64_t Decide(Plan<kManyChecks>& plan, std::span<const Check> checks,
                                           const HoldRequest& request, Instant now);
  // Counts one more open hold of at most `parts` limits for each key. If there is no room, settles
  // expired holds of other keys in the stores; if that does not suffice, fails with TooManyHolds.
  // The caller must open the holds, or undo the count by HoldCounts::Remove.
  [[nodiscard]] absl::Status CountNew(std::span<const StoredKey> keys, std::size_t parts,
                                      Introducer user, Instant now);
  // Opens the hold of one key of an admitted request, whose buckets are stored. `id_of`: the id of
  // the i-th check's limit; nothing if the check is about another key.
  void Open(const StoredKey& key, const HoldRequest& request, std::int64_t granted, Instant now,
            const Plan<kManyChecks>& plan, std::span<const Check> checks,
            absl::FunctionRef<std::optional<LimitId>(std::size_t)> id_of,
            HoldEnd end = HoldEnd::kIsCancelled);
  // Fails with kAlreadyExists or kFailedPrecondition if the key has a hold of that id, or a mark.
  [[nodiscard]] static absl::Status CheckUnused(const StoredKey& key, const SliceRequest& request,
                                                Instant now);

  // --- Settling, as Limiter::SettleHold says ---

  // `keys`: one for each of the request.
  using PresentOfKey = absl::FunctionRef<std::optional<Limit>(const Limit&, std::string_view key)>;
  [[nodiscard]] absl::StatusOr<Settled> Settle(const SettleRequest& request,
                                               std::span<const StoredKey> keys, Instant now,
                                               PresentOfKey present);
  // An interned limit with its present numbers.
  [[nodiscard]] std::optional<Limit> PresentNumbers(const Limit& interned) const;

  // --- Looking and forgetting ---

  // Returns the first `most` of the key's open holds and, after them, marks, sorted by id; but no
  // more than have kInspectedPartsMax limits together.
  [[nodiscard]] std::vector<LiveHold> Inspect(
      const StoredKey& key, Instant now, std::size_t most,
      absl::FunctionRef<std::optional<Limit>(const Limit&)> present) const;

  // Drop holds and marks for which is_gone(hold) is true, of a key or of a whole store. Nothing is
  // settled, except that held limits get their tokens back. Cost: a visit of each hold and mark of
  // the key or the store.
  void ForgetIf(const StoredKey& key, absl::FunctionRef<bool(const Hold&)> is_gone);
  void ForgetIf(HoldStore& store, absl::FunctionRef<bool(const Hold&)> is_gone);
  // Counts the open holds of a table that have expired, when its key is deleted for that reason.
  void CountExpired(const HoldTable& holds, Instant now) noexcept;

 private:
  struct SettledHold;
  struct SettledPart;
  class Expiring;
  using Holds = HoldRecords::Holds;

  static std::uint64_t Value(const std::atomic<std::uint64_t>& count) noexcept {
    return count.load(std::memory_order_relaxed);
  }
  void Expire(const StoredKey& key, Holds due);
  void CountEnded(std::uint64_t expired, std::uint64_t lapsed) noexcept;
  [[nodiscard]] static absl::Status FindOpen(std::span<const StoredKey> keys,
                                             const HoldRequest& request, Instant now,
                                             Repeated& open);
  [[nodiscard]] bool HoldsAlternative(const Request& request, Request::Range checks,
                                      std::span<const std::size_t> key_of_check,
                                      std::span<Hold* const> holds) const;
  [[nodiscard]] Limit LimitToSettle(const Hold& hold, std::size_t part) const;
  void SettlePart(const SettledHold& settled, std::size_t part, const Limit& limit, Instant now);
  void StoreHeldBucket(HoldStore& store, const SlotKey& slot, Instant now) const;
  void StoreHeldBuckets(HoldStore& store, const Hold& hold, Instant now) const;
  void DropHolds(const StoredKey& key, Holds open);
  [[nodiscard]] static SettledHold Find(const StoredKey& key, std::string_view id, Instant now);
  [[nodiscard]] std::optional<std::size_t> SetCosts(
      const SettleRequest& request, std::span<SettledHold> holds,
      absl::InlinedVector<SettledPart, 4>& looks) const;
  [[nodiscard]] static bool HasRoom(const SettledHold& settled, Instant now);
  [[nodiscard]] bool MakeRoomForMark(const SettledHold& settled, std::span<const SettledHold> own);
  void Settle(const SettledHold& settled, bool is_cancel, Instant now);
  void AddNumbers(std::span<const SettledHold> holds, absl::InlinedVector<SettledPart, 4>& looks,
                  Instant now, Settled& settled) const;

  const LimitRegistry& registry_;
  HoldRecords& records_;
  const Nanos max_wait_;
  const Present present_;
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<std::uint64_t> settled_{0};
  std::atomic<std::uint64_t> cancelled_{0};
  std::atomic<std::uint64_t> granted_slices_{0};
  std::atomic<std::uint64_t> lapsed_slices_{0};
};

}  // namespace weir
