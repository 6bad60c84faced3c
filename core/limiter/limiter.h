// The limiter: decides requests on the buckets, all or nothing, each at one execution time. Of a
// request with alternatives (choice.h) it decides the first that passes.
//
//     Limiter limiter({.secret = RandomHashSecret()});
//     const Limit limit = *ParseLimitWord("10/s")->limit;
//     const Request request = {
//         {.key = "user:42", .limit = &limit, .hash = limiter.Hash("user:42")}};
//     absl::StatusOr<Verdict> verdict = limiter.Decide(request, clock.Now());
//
// It never reads a clock: `now` is an argument everywhere, in [Instant{}, kInstantMax].
// Thread-safe: a call locks the partitions of its keys, in ascending order, for its whole length;
// requests that share no partition run in parallel. Cost of a decision: a keyed hash and a map
// look-up for each key, one division for each limit; no allocation up to 4 checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/limiter/hold_keeper.h"
#include "core/limiter/hold_request.h"
#include "core/limiter/limiter_table.h"
#include "core/plans/reservation.h"
#include "core/policies/live_bucket.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/table/bucket_table.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/words/request.h"

namespace weir {

// Returns a limit with the numbers that it was interned with.
[[nodiscard]] inline std::optional<Limit> InternedNumbers(const Limit& limit) { return limit; }

// public-functions: 28, one for each kind of request.
class Limiter {
 public:
  // Returns a limit with its present numbers, or nothing if it is gone.
  using PresentLimit = absl::FunctionRef<std::optional<Limit>(const Limit&)>;

  class CallDecider;  // call_decider.h
  class PolicyTrim;   // policy_trim.h

  explicit Limiter(const LimiterOptions& options);

  // Decide, Peek, WouldChange and DecideAndHold take requests with alternatives. The other calls
  // require one alternative.

  // Decides all checks on one state; if all admit, charges all, else none. A cost of 0 writes and
  // creates nothing, and neither does a denial (except for a clamp, and for the ban of a limit that
  // denied). Fails, with nothing charged, only with kResourceExhausted (the limit is new and too
  // many are in use: see LimitRegistry; `introducer` is the user) or kOutOfRange (the key has
  // kKeyBucketsMax buckets). The execution time may be later than `now`. If a sweep at a later time
  // has dropped buckets of the keys' partitions, it is the sweep's time: an absent bucket was full
  // then, but perhaps not before. If time is ordered, the same holds for a later decision that
  // changed buckets there: otherwise the clamp of a late thread could cut what an early one has
  // just charged.
  [[nodiscard]] absl::StatusOr<Verdict> Decide(const Request& request, Instant now,
                                               Introducer introducer = kNoIntroducer);

  // The hasher of the keys of checks.
  [[nodiscard]] const KeyHasher& hasher() const noexcept { return table_.hasher(); }
  [[nodiscard]] KeyHash Hash(std::string_view key) const noexcept { return hasher()(key); }

  // The shared state, for the other classes that work on it: LimiterUpkeep, ChangeReader and
  // LimiterRestore, and Isolation.
  [[nodiscard]] LimiterTable& table() noexcept { return table_; }

  // Fetches the memory that a later call about this key will read into the cache of this core, in
  // two steps: some hundred ns apart, so that each finds there what it needs. For callers with
  // several requests at hand: with a million keys, fetching costs more than deciding. Requires:
  // this thread has no call under way, and no Isolation.
  [[nodiscard]] KeyHash PrefetchPartition(std::string_view key) const noexcept {
    const KeyHash hash = Hash(key);
    table_.buckets.PrefetchPartition(hash);
    return hash;
  }
  void PrefetchBuckets(const KeyHash& key) noexcept { table_.buckets.PrefetchBuckets(key); }

  // The verdict that Decide would give. Holds that are due are settled first, in every call; apart
  // from that, a look changes nothing, creates nothing, interns nothing.
  [[nodiscard]] Verdict Peek(const Request& request, Instant now);

  // True if Decide would admit the request, or ban one of its limits. Changes what Peek does.
  [[nodiscard]] bool WouldChange(const Request& request, Instant now);

  // Takes the request as many times as all limits have tokens for, `upto` times at most: each time
  // charges every limit its own cost. Checks with a cost of 0, shadow limits and "unlimited" do not
  // bound that number. Fails as Decide does. Requires: upto >= 1.
  [[nodiscard]] absl::StatusOr<Grant> Take(const Request& request, std::int64_t upto, Instant now,
                                           Introducer introducer = kNoIntroducer);

  // Charges every limit, shadow limits included, its cost, whether the tokens are there or not: a
  // bucket may be left in debt (ChargeLimit in rule.h). The verdict's `allowed` is what Decide
  // would have said. Fails as Decide does.
  [[nodiscard]] absl::StatusOr<Charged> Charge(const Request& request, Instant now,
                                               Introducer introducer = kNoIntroducer);

  // Gives every limit, shadow limits included, its cost back, but never more than full. Creates
  // nothing. The verdict is an admission with the numbers after the refund.
  Verdict Refund(const Request& request, Instant now);

  // Like Decide, but if the tokens will be there within `patience`, charges them now, so that
  // waiting is first come, first served at each bucket, of one key or of several. The reservation
  // is ready when the last tokens are; those that are there earlier stay charged until then. A
  // shadow limit admits if its tokens will be there when those of the other limits are: no client
  // waits longer for a shadow limit. If the wait is too long, denies as Decide does. Requires:
  // limits that are token buckets or have no bucket, patience in [0, max_wait].
  [[nodiscard]] absl::StatusOr<Admission> Reserve(const Request& request, Nanos patience,
                                                  Instant now,
                                                  Introducer introducer = kNoIntroducer);

  // --- After a Reserve that must wait ---

  // The verdict of a reservation after the wait: admitted, with the numbers at `now`.
  [[nodiscard]] Verdict VerdictAfterWait(const Reservation& reservation, Instant now);
  // The verdict of a reservation that was given back before it was ready: denied, with the wait
  // that is left.
  [[nodiscard]] Verdict Withdraw(const Reservation& reservation, Instant now);
  // Gives back the tokens of buckets that are still as the reservation left them, all at one
  // instant. Several reservations are given back from the greatest number to the smallest.
  void ReturnTokens(const Reservation& reservation);

  // --- Holds ---

  // Like Decide, or like Take if `hold.upto` is above 0, but an admission is held: one hold for
  // each key of the request, under the same id. A hold that is not settled within its TTL is
  // cancelled at that instant, exactly: whatever is asked about its key later finds it settled. A
  // denial holds nothing.
  //
  // If the keys have open holds of that id, and of the same words, nothing is decided: their TTL
  // begins again, and the verdict is an admission with the numbers of now (Grant::renewed). Fails
  // besides, with nothing charged, with kAlreadyExists if only some keys have the id, or of other
  // words; kFailedPrecondition if it is settled; TooManyHolds.
  [[nodiscard]] absl::StatusOr<Grant> DecideAndHold(const Request& request, const HoldRequest& hold,
                                                    Instant now,
                                                    Introducer introducer = kNoIntroducer);

  // Takes a slice of the request (core/rules/slice.h) and, if it has a life, opens a hold that
  // lapses at its end. Fails as DecideAndHold does; also if the key has a hold of that id, or a
  // mark. Requires: a request about one key, without held limits; a life of at most kSliceLifeMax.
  [[nodiscard]] absl::StatusOr<SliceGrant> Slice(const Request& request, const SliceRequest& slice,
                                                 Instant now,
                                                 Introducer introducer = kNoIntroducer);

  // Settles holds: their estimates become the true costs (settlement.h), at all of the keys or, if
  // one of them has no such hold, at none. A settled hold stays as it is. Fails with kOutOfRange if
  // a charge beyond the estimate needs a bucket that the key has no room for.
  // `present` as for Inspect, with the text of the key; without it LimiterOptions::present.
  using PresentLimitOfKey =
      absl::FunctionRef<std::optional<Limit>(const Limit&, std::string_view key)>;
  [[nodiscard]] absl::StatusOr<Settled> SettleHold(
      const SettleRequest& request, Instant now,
      std::optional<PresentLimitOfKey> present = std::nullopt);

  [[nodiscard]] bool has_open_holds() const noexcept {
    return table_.hold_records.counts().open() > 0;
  }

  // The first kInspectedMax of the key's open holds and, after them, marks, by their ids.
  [[nodiscard]] std::vector<LiveHold> InspectHolds(const KeyHash& key, Instant now,
                                                   PresentLimit present);
  [[nodiscard]] std::vector<LiveHold> InspectHolds(std::string_view key, Instant now,
                                                   PresentLimit present = InternedNumbers) {
    return InspectHolds(Hash(key), now, present);
  }

  // The work of this thread's calls so far: the slots, ids and holds that they visited. A bucket
  // that Inspect or Watch returns, and a hold that is settled, counts as several.
  [[nodiscard]] static std::uint64_t SlotsVisited() noexcept {
    return LimiterTable::slots_visited + HoldWork::visits;
  }
  // Returns the number of visits that a call about this key takes: of slots to find its buckets
  // (those of its partition, or one for each limit in use, if that is less), of due holds, and of
  // the holds that the call is about.
  [[nodiscard]] std::size_t CountVisits(std::string_view key, Instant now,
                                        KeyWork work = KeyWork::kLook);

  // The first kInspectedMax of the key's buckets that are not full, sorted by the ids of their
  // limits: in the order of first use, except for ids given out again. The numbers of an owned
  // limit may have changed since it was interned: `present` returns it with its present numbers, or
  // nothing if it is gone.
  static constexpr std::size_t kInspectedMax = 1024;
  [[nodiscard]] std::vector<LiveBucket> Inspect(const KeyHash& key, Instant now,
                                                PresentLimit present);
  [[nodiscard]] std::vector<LiveBucket> Inspect(std::string_view key, Instant now,
                                                PresentLimit present = InternedNumbers) {
    return Inspect(Hash(key), now, present);
  }

  // The time until all of the key's buckets are full; 0 if they are. `present` as above.
  [[nodiscard]] Nanos ResetAfter(std::string_view key, Instant now,
                                 PresentLimit present = InternedNumbers);

  // Forgets the key's buckets: those of `limits`, or all if `limits` is empty. Returns how many of
  // them were not full. `present` as above.
  std::size_t Reset(std::string_view key, std::span<const Limit> limits, Instant now,
                    PresentLimit present = InternedNumbers);

 private:
  template <std::size_t kChecks>
  struct LockedRequest;

  template <typename Try>
  [[nodiscard]] absl::Status WithRoomForLimits(Try attempt);
  [[nodiscard]] absl::Status TryWithRoom(absl::Status status,
                                         absl::FunctionRef<absl::Status()> attempt);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status DecideChecks(const Request& request, Instant now,
                                          Introducer introducer, Verdict& verdict);
  class AlternativesLock;
  [[nodiscard]] absl::StatusOr<Verdict> DecideAlternatives(const Request& request, Instant now,
                                                           Introducer introducer);
  [[nodiscard]] Verdict PeekAlternatives(const Request& request, Instant now);
  [[nodiscard]] absl::StatusOr<Grant> HoldAlternative(const Request& request,
                                                      const HoldRequest& hold, Instant now,
                                                      Introducer introducer);
  [[nodiscard]] absl::Status DecideMany(const Request& request, Instant now, Introducer introducer,
                                        Verdict& verdict);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status ChargeChecks(const Request& request, Instant now,
                                          Introducer introducer, Charged& charged);
  template <std::size_t kChecks>
  [[nodiscard]] static Instant ExecutionTime(const KeysLock<kChecks>& lock, Instant now);
  void FindBucket(const Check& check, FoundBucket& found);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status Conclude(LockedRequest<kChecks>& locked, Introducer introducer,
                                      Verdict& verdict);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status EnsureRoom(LockedRequest<kChecks>& locked, Introducer introducer);
  template <std::size_t kChecks>
  [[nodiscard]] bool IsRoomKnown(const LockedRequest<kChecks>& locked);
  template <std::size_t kChecks>
  void StorePresent(const LockedRequest<kChecks>& locked);
  template <std::size_t kChecks>
  void StoreNew(const LockedRequest<kChecks>& locked);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status StoreAndJoin(LockedRequest<kChecks>& locked, Introducer introducer,
                                          Verdict& verdict);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status ConcludeBesideHolds(LockedRequest<kChecks>& locked,
                                                 Introducer introducer, Verdict& verdict);
  template <std::size_t kChecks>
  void AdvanceDecisionTime(const KeysLock<kChecks>& lock, Instant now);
  [[nodiscard]] absl::Status ConcludeMany(LockedRequest<kChecksMax>& locked, Introducer introducer,
                                          Verdict& verdict);
  [[nodiscard]] absl::Status StoreMany(LockedRequest<kChecksMax>& locked, Introducer introducer);
  template <std::size_t kChecks>
  [[nodiscard]] static std::uint64_t ChecksToForbid(const LockedRequest<kChecks>& locked);
  template <std::size_t kChecks>
  void ForbidGivingBack(const LockedRequest<kChecks>& locked, std::uint64_t checks);
  template <std::size_t kChecks>
  void CountCharges(const LockedRequest<kChecks>& locked);
  void CountRefunds(const LockedRequest<kChecksMax>& locked);
  [[nodiscard]] Bucket HeldBucket(const Check& check, std::optional<LimitId> id);
  class HoldOpening;
  using ReservationLock = KeysLock<kChecksMax>;
  [[nodiscard]] ReservationLock Lock(const Reservation& reservation);
  [[nodiscard]] Verdict VerdictNow(const Reservation& reservation, bool allowed, Instant now);
  [[nodiscard]] Bucket* FindBucket(const KeyHash& key, const Limit& limit, LimitId& id);

  LimiterTable table_;
};

}  // namespace weir
