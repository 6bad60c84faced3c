#include "module/handlers/key_limiter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/utility/utility.h"

#include "core/base/status.h"
#include "core/limiter/hold_keeper.h"
#include "core/limiter/hold_sums.h"
#include "core/limiter/limiter.h"
#include "core/limiter/policy_trim.h"

namespace weir {
namespace {

absl::Status WrongType() { return absl::AbortedError("a value of another type"); }

LimitHint& HintOf(const Check& check, LimitHint& no_hint) {
  return check.hint ? *check.hint : no_hint;
}

}  // namespace

// The holds that one command settles, for all of its keys.
class KeyLimiter::SettledKeys {
 public:
  // Settles the holds of a key that are due. Returns false, with nothing settled, if these and the
  // settled holds of earlier keys are too many at once.
  [[nodiscard]] bool Settle(OpenKey& key, Instant now) {
    const std::size_t due = key.CountDue(now, kKeyHoldsMax);
    if (settled_ > 0 && settled_ + due > kKeyHoldsMax) return false;
    settled_ += due;
    key.ExpireHolds(now);
    return true;
  }

 private:
  std::size_t settled_ = 0;  // limits of holds
};

// A request whose keys are open, and whose buckets are found after all holds that were due are
// settled. Commits the changes in the end.
struct KeyLimiter::OpenedRequest {
  // `status`: why the request cannot be decided.
  OpenedRequest(KeyLimiter& limiter, std::span<const Check> request, Instant at, int mode)
      : plan(request, limiter.module_.options.max_wait), now(at) {
    limiter.module_.ReclaimLimits();  // before any id is found that no value carries
    for (std::size_t i = 0; i < request.size(); ++i) {
      key_of_check.push_back(FindOrOpen(limiter, request, i, mode));
      const OpenKey& key = keys[key_of_check[i]];
      if (key.is_of_another_type()) status = WrongType();
      if (!status.ok()) return;
      ids.emplace_back();
      if (!plan.AsksBucket(i)) continue;
      LimitHint no_hint;
      ids[i] = limiter.module_.registry.Find(*request[i].limit, HintOf(request[i], no_hint));
      const Bucket* const bucket = ids[i] ? key.Find(*ids[i]) : nullptr;
      if (bucket != nullptr) plan.bucket(i).SetStored(*bucket);
    }
  }
  ~OpenedRequest() {
    for (OpenKey& key : keys) key.Commit(now);
  }
  OpenedRequest(const OpenedRequest&) = delete;
  OpenedRequest& operator=(const OpenedRequest&) = delete;

  [[nodiscard]] OpenKey& KeyOf(std::size_t check) { return keys[key_of_check[check]]; }
  // The bucket of a check, if it is stored.
  [[nodiscard]] std::optional<Bucket> StoredBucket(std::size_t check) {
    return ids[check] ? KeyOf(check).FindBucket(KeyBuckets::SlotOf(*ids[check])) : std::nullopt;
  }
  [[nodiscard]] bool HasOpenHolds() {
    return std::ranges::any_of(keys, [](OpenKey& key) {
      const HoldTable* const holds = key.holds();
      return holds && !holds->open().empty();
    });
  }

  Plan<kManyChecks> plan;
  const Instant now;
  SettledKeys settled;
  absl::InlinedVector<OpenKey, 2> keys;
  absl::InlinedVector<std::size_t, 4> key_of_check;
  absl::InlinedVector<std::optional<LimitId>, 4> ids;  // one per check; unset: not interned
  absl::Status status;

 private:
  // Returns the index of the check's key in `keys`. Opens the key unless an earlier check has.
  std::size_t FindOrOpen(KeyLimiter& limiter, std::span<const Check> request, std::size_t check,
                         int mode) {
    for (std::size_t i = check; i-- > 0;) {
      if (request[i].key == request[check].key) return key_of_check[i];
    }
    keys.emplace_back(limiter.module_, limiter.call_.context,
                      limiter.call_.NameOf(request[check].key), mode);
    if (!keys.back().is_of_another_type() && !settled.Settle(keys.back(), now)) {
      status = TooManyDue();
    }
    return keys.size() - 1;
  }
};

// Returns whether the key has room for `added` more buckets. If not, drops its full ones first,
// except for the request's own.
bool KeyLimiter::HasRoom(OpenedRequest& opened, std::size_t key, std::size_t added, Instant now) {
  OpenKey& open = opened.keys[key];
  if (open.buckets().size() + added <= kKeyBucketsMax) return true;
  open.EraseIf([&](LimitId id, const Bucket& bucket) {
    return open.TimeToFull({id, bucket}, now) == Nanos{0} &&
           std::ranges::find(opened.ids, std::optional(id)) == opened.ids.end();
  });
  return open.buckets().size() + added <= kKeyBucketsMax;
}

Introducer KeyLimiter::Caller() const {
  if (redis::GetCurrentUserName == nullptr) return kSoleIntroducer;
  redis::String* const name = redis::GetCurrentUserName(call_.context);
  if (name == nullptr) return kSoleIntroducer;
  std::size_t bytes = 0;
  const char* const text = redis::StringPtrLen(name, &bytes);
  const std::string_view user(text, bytes);
  if (user != "default") module_.has_users = true;
  const Introducer caller = module_.has_users ? IntroducerNamed(user) : kSoleIntroducer;
  redis::FreeString(call_.context, name);
  return caller;
}

// Gives ids to limits.
absl::Status KeyLimiter::TryIntern(OpenedRequest& opened, const Request& request, Named named) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    const bool is_named = named == Named::kAll ? opened.plan.AsksBucket(i) : opened.plan.IsNew(i);
    if (!is_named || opened.ids[i]) continue;
    LimitHint no_hint;
    const absl::StatusOr<LimitId> id =
        module_.registry.Intern(*request[i].limit, HintOf(request[i], no_hint), Caller());
    if (!id.ok()) return id.status();
    opened.ids[i] = *id;
  }
  return absl::OkStatus();
}

absl::Status KeyLimiter::Intern(OpenedRequest& opened, const Request& request, Named named) {
  absl::Status interned = TryIntern(opened, request, named);
  if (interned.ok() || module_.registry.idle() == 0) return interned;
  module_.ReclaimIdleLimits();
  for (std::size_t i = 0; i < request.size(); ++i) {
    LimitHint no_hint;
    if (opened.ids[i]) opened.ids[i] = module_.registry.Find(*request[i].limit, no_hint);
  }
  return TryIntern(opened, request, named);
}

// Makes sure that the keys have room for the new buckets.
absl::Status KeyLimiter::MakeRoom(OpenedRequest& opened, const Request& request, Instant now) {
  absl::InlinedVector<std::size_t, 2> added(opened.keys.size());
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (!opened.plan.IsNew(i)) continue;
    const std::size_t key = opened.key_of_check[i];
    if (!HasRoom(opened, key, ++added[key], now)) return TooManyBucketsOfKey();
  }
  return absl::OkStatus();
}

// Stores the plan's changes. Everything that can fail comes before the first write.
absl::Status KeyLimiter::Keep(OpenedRequest& opened, const Request& request, Instant now) {
  WEIR_RETURN_IF_ERROR(Intern(opened, request, Named::kNewBuckets));
  WEIR_RETURN_IF_ERROR(MakeRoom(opened, request, now));
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (const std::optional<Bucket> bucket = opened.plan.Change(i)) {
      opened.KeyOf(i).Keep(*opened.ids[i], *bucket);
    }
  }
  return absl::OkStatus();
}

// --- Changes that holds must know of (core/rules/settlement.h) ---

void KeyLimiter::CountCharges(OpenedRequest& opened, const Request& request, Instant now) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (!opened.plan.AsksBucket(i) || !opened.ids[i]) continue;
    HoldSums(opened.KeyOf(i), module_.options.max_wait)
        .CountCharged(KeyBuckets::SlotOf(*opened.ids[i]), *request[i].limit, opened.plan.bucket(i),
                      now);
  }
}

// Requires: the refunded buckets are not stored yet.
void KeyLimiter::CountRefunds(OpenedRequest& opened, const Request& request, Instant now) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    const std::optional<Bucket> stored =
        opened.plan.AsksBucket(i) ? opened.StoredBucket(i) : std::nullopt;
    if (!stored) continue;
    HoldSums(opened.KeyOf(i), module_.options.max_wait)
        .CountRefunded(KeyBuckets::SlotOf(*opened.ids[i]), *request[i].limit, *stored,
                       opened.plan.bucket(i).present, now);
  }
}

// The second half of a request, after the decision: the verdict, and the writes.
absl::StatusOr<Verdict> KeyLimiter::Conclude(OpenedRequest& opened, const Request& request,
                                             Instant now) {
  absl::StatusOr<Verdict> verdict(absl::in_place);
  opened.plan.Join(now, *verdict);
  const std::uint64_t to_forbid =
      opened.HasOpenHolds()
          ? HoldSums::ChecksToForbid(opened.plan, request,
                                     [&](std::size_t i) { return opened.StoredBucket(i); })
          : 0;
  absl::Status kept = Keep(opened, request, now);
  if (!kept.ok()) return kept;
  for (std::size_t i = 0; to_forbid != 0 && i < request.size(); ++i) {
    if ((to_forbid >> i & 1U) == 0 || !opened.ids[i]) continue;
    HoldSums(opened.KeyOf(i), module_.options.max_wait)
        .Forbid(KeyBuckets::SlotOf(*opened.ids[i]), *request[i].limit);
  }
  return verdict;
}

absl::StatusOr<Verdict> KeyLimiter::Decide(const Request& request, Instant now) {
  if (request.has_alternatives()) return DecideAlternatives(request, now);
  OpenedRequest opened(*this, request, now, redis::kWrite);
  if (!opened.status.ok()) return opened.status;
  opened.plan.Decide(now, Purpose::kTake);
  return Conclude(opened, request, now);
}

absl::StatusOr<Verdict> KeyLimiter::Peek(const Request& request, Instant now) {
  if (request.has_alternatives()) return PeekAlternatives(request, now);
  OpenedRequest opened(*this, request, now, redis::kRead);
  if (!opened.status.ok()) return opened.status;
  opened.plan.Decide(now, Purpose::kLook);
  absl::StatusOr<Verdict> verdict(absl::in_place);
  opened.plan.Join(now, *verdict);
  return verdict;
}

absl::StatusOr<Grant> KeyLimiter::Take(const Request& request, std::int64_t upto, Instant now) {
  OpenedRequest opened(*this, request, now, redis::kWrite);
  if (!opened.status.ok()) return opened.status;
  const std::int64_t granted = opened.plan.DecideUpTo(upto, now);
  absl::StatusOr<Verdict> verdict = Conclude(opened, request, now);
  if (!verdict.ok()) return verdict.status();
  return Grant{granted, *std::move(verdict)};
}

absl::StatusOr<Charged> KeyLimiter::Charge(const Request& request, Instant now) {
  OpenedRequest opened(*this, request, now, redis::kWrite);
  if (!opened.status.ok()) return opened.status;
  absl::StatusOr<Charged> charged = opened.plan.Charge(now);
  absl::Status kept = Keep(opened, request, now);
  if (!kept.ok()) return kept;
  CountCharges(opened, request, now);
  return charged;
}

absl::StatusOr<Verdict> KeyLimiter::Refund(const Request& request, Instant now) {
  OpenedRequest opened(*this, request, now, redis::kWrite);
  if (!opened.status.ok()) return opened.status;
  absl::StatusOr<Verdict> verdict = opened.plan.Refund(now);
  CountRefunds(opened, request, now);
  absl::Status kept = Keep(opened, request, now);
  if (!kept.ok()) verdict = std::move(kept);
  return verdict;
}

absl::StatusOr<Admission> KeyLimiter::Reserve(const Request& request, Nanos patience, Instant now) {
  OpenedRequest opened(*this, request, now, redis::kWrite);
  if (!opened.status.ok()) return opened.status;
  Reservation reservation = opened.plan.Reserve(now, patience);
  absl::StatusOr<Verdict> verdict = Conclude(opened, request, now);
  if (!verdict.ok()) return verdict.status();
  Admission admission{*std::move(verdict), std::nullopt};
  if (admission.verdict.allowed && reservation.ready > now) {
    admission.reservation = std::move(reservation);
  }
  return admission;
}

absl::StatusOr<Grant> KeyLimiter::DecideAndHold(const Request& request, HoldRequest hold,
                                                Instant now) {
  if (request.has_alternatives()) return HoldAlternative(request, hold, now);
  OpenedRequest opened(*this, request, now, redis::kWrite);
  if (!opened.status.ok()) return opened.status;
  absl::InlinedVector<StoredKey, 2> keys;
  for (OpenKey& key : opened.keys) keys.push_back(key.stored_key());
  const absl::StatusOr<HoldKeeper::Repeated> open = HoldKeeper::FindRepeated(keys, hold, now);
  if (!open.ok()) return open.status();
  Grant grant;
  if (!open->empty()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      module_.keeper.Renew(*keys[i].store, *(*open)[i], now + hold.ttl);
    }
    grant.granted = std::max<std::int64_t>(open->front()->terms().granted, 1);
    grant.renewed = true;
    grant.verdict = HoldKeeper::RenewedVerdict(
        opened.plan, now, [&](std::size_t i) { return opened.StoredBucket(i); });
    return grant;
  }
  grant.granted = HoldKeeper::Decide(opened.plan, request, hold, now);
  hold.user = Caller();
  absl::StatusOr<Verdict> verdict =
      grant.granted == 0
          ? Conclude(opened, request, now)
          : OpenHolds(opened, request, hold, grant.granted, HoldEnd::kIsCancelled, now);
  if (!verdict.ok()) return verdict.status();
  grant.verdict = *std::move(verdict);
  return grant;
}

absl::StatusOr<Verdict> KeyLimiter::OpenHolds(OpenedRequest& opened, const Request& request,
                                              const HoldRequest& hold, std::int64_t granted,
                                              HoldEnd end, Instant now) {
  absl::InlinedVector<StoredKey, 2> keys;
  for (OpenKey& key : opened.keys) keys.push_back(key.stored_key());
  WEIR_RETURN_IF_ERROR(Intern(opened, request, Named::kAll));
  WEIR_RETURN_IF_ERROR(module_.keeper.CountNew(keys, request.size(), hold.user, now));
  absl::StatusOr<Verdict> verdict = Conclude(opened, request, now);
  if (!verdict.ok()) {
    module_.hold_records.counts().Remove(hold.user, keys.size());
    return verdict;
  }
  for (std::size_t k = 0; k < keys.size(); ++k) {
    module_.keeper.Open(
        keys[k], hold, granted, now, opened.plan, request,
        [&](std::size_t i) { return opened.key_of_check[i] == k ? opened.ids[i] : std::nullopt; },
        end);
  }
  return verdict;
}

absl::StatusOr<SliceGrant> KeyLimiter::Slice(const Request& request, SliceRequest wanted,
                                             Instant now) {
  WEIR_CHECK(wanted.wish.life <= kSliceLifeMax);
  OpenedRequest opened(*this, request, now, redis::kWrite);
  if (!opened.status.ok()) return opened.status;
  WEIR_RETURN_IF_ERROR(HoldKeeper::CheckUnused(opened.keys.front().stored_key(), wanted, now));
  SliceGrant slice = opened.plan.DecideSlice(wanted.wish, now);
  wanted.user = Caller();
  const absl::StatusOr<Verdict> plain =  // It does not tell of slices.
      slice.opens_hold() ? OpenHolds(opened, request, wanted.HoldFor(slice.life), slice.granted,
                                     HoldEnd::kLapses, now)
                         : Conclude(opened, request, now);
  if (!plain.ok()) return plain.status();
  return slice;
}

// --- Alternatives ---

absl::Status KeyLimiter::OpenAll(const Request& request, Instant now, int mode) {
  return OpenedRequest(*this, request, now, mode).status;
}

absl::StatusOr<Verdict> KeyLimiter::DecideAlternatives(const Request& request, Instant now) {
  WEIR_RETURN_IF_ERROR(OpenAll(request, now, redis::kWrite));
  return Choice(request).Decide([&](const Request& one) { return Peek(one, now); },
                                [&](const Request& one) { return Decide(one, now); });
}

absl::StatusOr<Verdict> KeyLimiter::PeekAlternatives(const Request& request, Instant now) {
  WEIR_RETURN_IF_ERROR(OpenAll(request, now, redis::kRead));
  return Choice(request).Look([&](const Request& one) { return Peek(one, now); });
}

absl::StatusOr<Grant> KeyLimiter::HoldAlternative(const Request& request, const HoldRequest& hold,
                                                  Instant now) {
  const auto find_repeated = [&]() -> absl::StatusOr<std::optional<std::size_t>> {
    OpenedRequest opened(*this, request, now, redis::kWrite);
    if (!opened.status.ok()) return opened.status;
    absl::InlinedVector<StoredKey, 2> keys;
    for (OpenKey& key : opened.keys) keys.push_back(key.stored_key());
    return module_.keeper.FindRepeatedAlternative(request, keys, opened.key_of_check, hold, now);
  };
  const absl::StatusOr<std::optional<std::size_t>> repeated = find_repeated();
  if (!repeated.ok()) return repeated.status();
  return Choice(request).Hold(
      *repeated, [&](const Request& one) { return Peek(one, now); },
      [&](const Request& one) { return DecideAndHold(one, hold, now); });
}

absl::StatusOr<Settled> KeyLimiter::SettleHold(const SettleRequest& request, Instant now) {
  module_.ReclaimLimits();
  absl::InlinedVector<OpenKey, 2> open;
  absl::Status status;
  SettledKeys settled_keys;
  for (const SettledKey& key : request.keys) {
    OpenKey& opened =
        open.emplace_back(module_, call_.context, call_.NameOf(key.key.text), redis::kWrite);
    if (opened.is_of_another_type()) {
      status = WrongType();
    } else if (status.ok() && !settled_keys.Settle(opened, now)) {
      status = TooManyDue();
    }
  }
  absl::InlinedVector<StoredKey, 2> keys;
  for (OpenKey& key : open) keys.push_back(key.stored_key());
  absl::StatusOr<Settled> settled =
      !status.ok() ? absl::StatusOr<Settled>(status)
                   : module_.keeper.Settle(request, keys, now,
                                           [this](const Limit& limit, std::string_view key) {
                                             return module_.policies.PresentLimit(limit, key);
                                           });
  for (OpenKey& key : open) key.Commit(now);
  return settled;
}

absl::StatusOr<std::vector<LiveHold>> KeyLimiter::InspectHolds(std::string_view name, Instant now) {
  OpenKey key(module_, call_.context, call_.NameOf(name), redis::kRead);
  if (key.is_of_another_type()) return WrongType();
  key.ExpireHolds(now);
  return module_.keeper.Inspect(
      key.stored_key(), now, Limiter::kInspectedMax,
      [&](const Limit& limit) { return module_.policies.PresentLimit(limit, name); });
}

absl::StatusOr<std::size_t> KeyLimiter::Reset(std::string_view name, std::span<const Limit> limits,
                                              Instant now) {
  OpenKey key(module_, call_.context, call_.NameOf(name), redis::kWrite);
  if (key.is_of_another_type()) return WrongType();
  ++module_.resets;
  key.ExpireHolds(now);
  const auto is_reset = [&](LimitId id) {
    const Limit& limit = module_.registry.Get(id);
    return limits.empty() || std::ranges::any_of(limits, [&](const Limit& one) {
             return one.SharesBucketsWith(limit);
           });
  };
  std::size_t live = 0;
  for (const KeyBuckets::KeyBucket& one : key.buckets()) {
    if (!is_reset(one.limit)) continue;
    if (key.TimeToFull(one, now) > Nanos{0}) ++live;
    HoldSums(key, module_.options.max_wait)
        .Forbid(KeyBuckets::SlotOf(one.limit), module_.registry.Get(one.limit));
  }
  module_.keeper.ForgetIf(key.stored_key(), [&](const Hold& hold) {
    return limits.empty() || std::ranges::any_of(hold.parts(), [&](const HoldPart& part) {
             return module_.registry.Get(part.limit).is_held() && is_reset(part.limit);
           });
  });
  key.EraseIf([&](LimitId id, const Bucket&) { return is_reset(id); });
  key.Commit(now);
  return live;
}

std::size_t KeyLimiter::Trim(std::string_view name, const PolicyLimits& before,
                             const PolicyLimits& limits, Instant now) {
  redis::Context* const context = call_.context;
  if ((redis::GetContextFlags(context) & (redis::kReplicated | redis::kLoading)) != 0) return 0;
  const int selected = redis::GetSelectedDb(context);
  std::size_t trimmed = 0;
  for (int db = 0; redis::SelectDb(context, db) == redis::kOk; ++db) {
    trimmed += OpenKey(module_, context, call_.NameOf(name), redis::kWrite)
                   .Trim(Trimmer(module_.options.max_wait, before, limits), now);
  }
  redis::SelectDb(context, selected);
  return trimmed;
}

absl::StatusOr<std::vector<LiveBucket>> KeyLimiter::Inspect(std::string_view name, Instant now) {
  OpenKey key(module_, call_.context, call_.NameOf(name), redis::kRead);
  if (key.is_of_another_type()) return WrongType();
  key.ExpireHolds(now);
  std::vector<LiveBucket> live;
  for (const KeyBuckets::KeyBucket& one : key.buckets()) {
    const std::optional<Limit> limit =
        module_.policies.PresentLimit(module_.registry.Get(one.limit), name);
    if (!limit) continue;
    if (const auto bucket = InspectBucket(*limit, one.bucket, now, module_.options.max_wait)) {
      live.push_back(*bucket);
    }
  }
  return live;
}

}  // namespace weir
