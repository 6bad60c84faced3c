// The limiter's holds: it finds their partitions, and lets the keeper open and settle them.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/limiter/hold_keeper.h"
#include "core/limiter/hold_sums.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_table.h"
#include "core/limiter/locked_request.h"
#include "core/plans/choice.h"

namespace weir {

// --- Buckets beside open holds ---

// Returns the bucket of a held limit that is not stored (evicted, or lost in a crash): the sum of
// the key's open holds. Bucket{} for other limits. Requires: the partition is locked.
Bucket Limiter::HeldBucket(const Check& check, std::optional<LimitId> id) {
  if (!check.limit->is_held() || !id) return {};
  PartitionStore store(table_, check.hash.partition);
  return HoldSums(store, table_.max_wait).HeldBucket({check.hash.hash, *id});
}

// --- Reserving ---

// A request that opens or renews holds, while its partitions are locked.
class Limiter::HoldOpening {
 public:
  HoldOpening(Limiter& limiter, LockedRequest<kManyChecks>& locked, const HoldRequest& request,
              Introducer introducer)
      : limiter_(limiter), locked_(locked), request_(request), introducer_(introducer) {
    for (const Check& check : locked.checks) {
      if (std::ranges::find(hashes_, check.hash) == hashes_.end()) hashes_.push_back(check.hash);
    }
    stores_.reserve(hashes_.size());
    for (const KeyHash& hash : hashes_) {
      keys_.push_back({&stores_.emplace_back(limiter.table_, hash.partition), hash.hash});
    }
  }

  [[nodiscard]] absl::Status RenewOrOpen(Grant& grant);
  [[nodiscard]] absl::Status OpenSlice(const SliceRequest& wanted, SliceGrant& slice);

  // The alternative that the request renews, as HoldKeeper finds it.
  [[nodiscard]] absl::StatusOr<std::optional<std::size_t>> FindRepeatedAlternative(
      const Request& request) const {
    absl::InlinedVector<std::size_t, 4> key_of_check;
    for (const Check& check : request) {
      key_of_check.push_back(
          static_cast<std::size_t>(std::ranges::find(hashes_, check.hash) - hashes_.begin()));
    }
    return limiter_.table_.keeper.FindRepeatedAlternative(request, keys_, key_of_check, request_,
                                                          locked_.now);
  }

 private:
  [[nodiscard]] absl::Status Open(Grant& grant);
  [[nodiscard]] absl::Status OpenAdmitted(const HoldRequest& request, std::int64_t granted,
                                          HoldEnd end, Verdict& verdict);
  [[nodiscard]] absl::Status InternAll();

  Limiter& limiter_;
  LockedRequest<kManyChecks>& locked_;
  const HoldRequest& request_;
  const Introducer introducer_;
  // The keys of the request, each once, in their stores.
  absl::InlinedVector<KeyHash, 2> hashes_;
  absl::InlinedVector<PartitionStore, 2> stores_;
  absl::InlinedVector<StoredKey, 2> keys_;
};

absl::StatusOr<Grant> Limiter::DecideAndHold(const Request& request, const HoldRequest& hold,
                                             Instant now, Introducer introducer) {
  WEIR_CHECK(hold.ttl > Nanos{0});
  WEIR_CHECK(hold.ttl <= kHoldMax);
  if (ABSL_PREDICT_FALSE(request.has_alternatives()))
    return HoldAlternative(request, hold, now, introducer);
  Grant grant;
  const auto attempt = [&] {
    LockedRequest<kManyChecks> locked(*this, request, now);
    return HoldOpening(*this, locked, hold, introducer).RenewOrOpen(grant);
  };
  const absl::Status status = TryWithRoom(attempt(), attempt);
  if (!status.ok()) return status;
  return grant;
}

absl::StatusOr<SliceGrant> Limiter::Slice(const Request& request, const SliceRequest& slice,
                                          Instant now, Introducer introducer) {
  WEIR_CHECK(slice.wish.life <= kSliceLifeMax);
  WEIR_DCHECK(!request.has_alternatives());
  SliceGrant grant;
  const HoldRequest hold = slice.HoldFor(slice.wish.life);
  const auto attempt = [&] {
    LockedRequest<kManyChecks> locked(*this, request, now);
    return HoldOpening(*this, locked, hold, introducer).OpenSlice(slice, grant);
  };
  const absl::Status status = TryWithRoom(attempt(), attempt);
  if (!status.ok()) return status;
  return grant;
}

ABSL_ATTRIBUTE_NOINLINE absl::StatusOr<Grant> Limiter::HoldAlternative(const Request& request,
                                                                       const HoldRequest& hold,
                                                                       Instant asked,
                                                                       Introducer introducer) {
  absl::StatusOr<Grant> grant;
  const auto attempt = [&]() -> absl::Status {
    const AlternativesLock lock(*this, request, asked);
    const Instant now = lock.now();
    const auto repeated = [&] {
      LockedRequest<kManyChecks> locked(*this, request, now);
      return HoldOpening(*this, locked, hold, introducer).FindRepeatedAlternative(request);
    }();
    if (!repeated.ok()) return repeated.status();
    grant = Choice(request).Hold(
        *repeated, [&](const Request& one) { return Peek(one, now); },
        [&](const Request& one) { return DecideAndHold(one, hold, now, introducer); });
    return grant.status();
  };
  const absl::Status status = TryWithRoom(attempt(), attempt);
  if (!status.ok()) return status;
  return grant;
}

absl::Status Limiter::HoldOpening::RenewOrOpen(Grant& grant) {
  const absl::StatusOr<HoldKeeper::Repeated> open =
      HoldKeeper::FindRepeated(keys_, request_, locked_.now);
  if (!open.ok()) return open.status();
  if (open->empty()) return Open(grant);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    limiter_.table_.keeper.Renew(*keys_[i].store, *(*open)[i], locked_.now + request_.ttl);
  }
  limiter_.AdvanceDecisionTime(locked_.lock, locked_.now);
  grant.granted = std::max<std::int64_t>(open->front()->terms().granted, 1);
  grant.renewed = true;
  grant.verdict = HoldKeeper::RenewedVerdict(locked_.plan, locked_.now, [&](std::size_t i) {
    const Bucket* const slot = locked_.found[i].slot;
    return slot ? std::optional(*slot) : std::nullopt;
  });
  return absl::OkStatus();
}

// Decides the request and holds it if it is admitted.
absl::Status Limiter::HoldOpening::Open(Grant& grant) {
  grant.granted = HoldKeeper::Decide(locked_.plan, locked_.checks, request_, locked_.now);
  if (grant.granted == 0) return limiter_.ConcludeMany(locked_, introducer_, grant.verdict);
  return OpenAdmitted(request_, grant.granted, HoldEnd::kIsCancelled, grant.verdict);
}

absl::Status Limiter::HoldOpening::OpenSlice(const SliceRequest& wanted, SliceGrant& slice) {
  WEIR_CHECK(keys_.size() == 1);
  WEIR_RETURN_IF_ERROR(HoldKeeper::CheckUnused(keys_.front(), wanted, locked_.now));
  slice = locked_.plan.DecideSlice(wanted.wish, locked_.now);
  Verdict plain;  // It does not tell of slices.
  if (!slice.opens_hold()) return limiter_.ConcludeMany(locked_, introducer_, plain);
  return OpenAdmitted(wanted.HoldFor(slice.life), slice.granted, HoldEnd::kLapses, plain);
}

// Charges a request that is decided and admitted, and opens its holds.
absl::Status Limiter::HoldOpening::OpenAdmitted(const HoldRequest& request, std::int64_t granted,
                                                HoldEnd end, Verdict& verdict) {
  HoldKeeper& keeper = limiter_.table_.keeper;
  WEIR_RETURN_IF_ERROR(InternAll());
  WEIR_RETURN_IF_ERROR(keeper.CountNew(keys_, locked_.plan.size(), request.user, locked_.now));
  absl::Status concluded = limiter_.ConcludeMany(locked_, introducer_, verdict);
  if (!concluded.ok()) {
    limiter_.table_.hold_records.counts().Remove(request.user, keys_.size());
    return concluded;
  }
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    keeper.Open(
        keys_[k], request, granted, locked_.now, locked_.plan, locked_.checks,
        [&](std::size_t i) {
          const bool is_its = locked_.checks[i].hash == hashes_[k];
          return is_its ? locked_.found[i].id : std::nullopt;
        },
        end);
  }
  return absl::OkStatus();
}

// Gives ids to all limits of the request: a hold needs that of a limit that was not charged, too.
absl::Status Limiter::HoldOpening::InternAll() {
  for (std::size_t i = 0; i < locked_.plan.size(); ++i) {
    if (!locked_.plan.AsksBucket(i) || locked_.found[i].id) continue;
    LimitHint no_hint;
    const absl::StatusOr<LimitId> id =
        limiter_.table_.registry.Intern(*locked_.checks[i].limit, no_hint, introducer_);
    if (!id.ok()) return id.status();
    locked_.found[i].id = *id;
  }
  return absl::OkStatus();
}

// --- Settling and looking ---

absl::StatusOr<Settled> Limiter::SettleHold(const SettleRequest& request, Instant now,
                                            std::optional<PresentLimitOfKey> present) {
  const auto interned = [this](const Limit& limit, std::string_view) {
    return table_.keeper.PresentNumbers(limit);
  };
  WEIR_CHECK(!request.keys.empty());
  WEIR_CHECK(request.keys.size() <= kChecksMax);
  const ReservationLock lock(table_.buckets, request.keys.size(),
                             [&](std::size_t i) { return request.keys[i].key.hash.partition; });
  now = ExecutionTime(lock, now);
  absl::InlinedVector<PartitionStore, 2> stores;
  absl::InlinedVector<StoredKey, 2> keys;
  stores.reserve(request.keys.size());
  for (const SettledKey& key : request.keys) {
    table_.ExpireHolds(key.key.hash, now);
    keys.push_back({&stores.emplace_back(table_, key.key.hash.partition), key.key.hash.hash});
  }
  absl::StatusOr<Settled> settled =
      table_.keeper.Settle(request, keys, now, present.value_or(interned));
  if (settled.ok() && settled->settled && !settled->foreign) AdvanceDecisionTime(lock, now);
  return settled;
}

std::vector<LiveHold> Limiter::InspectHolds(const KeyHash& key, Instant now, PresentLimit present) {
  PartitionLock lock(table_.buckets, key.partition);
  table_.ExpireHolds(key, now);
  PartitionStore store(table_, key.partition);
  return table_.keeper.Inspect({&store, key.hash}, now, kInspectedMax, present);
}

}  // namespace weir
