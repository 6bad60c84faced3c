#include "module/handlers/key_limiter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/utility/utility.h"

namespace weir {
namespace {

absl::Status WrongType() { return absl::FailedPreconditionError("a value of another type"); }

LimitHint& HintOf(const Check& check, LimitHint& no_hint) {
  return check.hint ? *check.hint : no_hint;
}

}  // namespace

// A request whose keys are open and whose buckets are found.
struct KeyLimiter::OpenedRequest {
  OpenedRequest(KeyLimiter& limiter, std::span<const Check> request, int mode)
      : plan(request, limiter.module_.options.max_wait) {
    limiter.module_.ReclaimLimits();  // before any id is found that no value carries
    for (std::size_t i = 0; i < request.size(); ++i) {
      key_of_check.push_back(FindOrOpen(limiter, request, i, mode));
      const OpenKey& key = keys[key_of_check[i]];
      if (key.is_of_another_type()) {
        wrong_type = true;
        return;
      }
      ids.emplace_back();
      if (!plan.AsksBucket(i)) continue;
      LimitHint no_hint;
      ids[i] = limiter.module_.registry.Find(*request[i].limit, HintOf(request[i], no_hint));
      const Bucket* const bucket = ids[i] ? key.Find(*ids[i]) : nullptr;
      if (bucket != nullptr) plan.bucket(i).SetStored(*bucket);
    }
  }

  [[nodiscard]] OpenKey& KeyOf(std::size_t check) { return keys[key_of_check[check]]; }

  Plan<kManyChecks> plan;
  absl::InlinedVector<OpenKey, 2> keys;
  absl::InlinedVector<std::size_t, 4> key_of_check;
  absl::InlinedVector<std::optional<LimitId>, 4> ids;  // one per check; unset: not interned
  bool wrong_type = false;

 private:
  // Returns the index of the check's key in `keys`. Opens the key unless an earlier check has.
  std::size_t FindOrOpen(KeyLimiter& limiter, std::span<const Check> request, std::size_t check,
                         int mode) {
    for (std::size_t i = check; i-- > 0;) {
      if (request[i].key == request[check].key) return key_of_check[i];
    }
    keys.emplace_back(limiter.module_, limiter.call_.context,
                      limiter.call_.NameOf(request[check].key), mode);
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

// Gives ids to the limits of new buckets.
absl::Status KeyLimiter::Intern(OpenedRequest& opened, const Request& request) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (!opened.plan.IsNew(i) || opened.ids[i]) continue;
    LimitHint no_hint;
    const absl::StatusOr<LimitId> id =
        module_.registry.Intern(*request[i].limit, HintOf(request[i], no_hint), Caller());
    if (!id.ok()) return id.status();
    opened.ids[i] = *id;
  }
  return absl::OkStatus();
}

// Stores the plan's changes. Everything that can fail comes before the first write.
absl::Status KeyLimiter::Keep(OpenedRequest& opened, const Request& request, Instant now) {
  absl::Status interned = Intern(opened, request);
  if (!interned.ok() && module_.registry.idle() > 0) {
    module_.ReclaimIdleLimits();
    for (std::size_t i = 0; i < request.size(); ++i) {
      LimitHint no_hint;
      if (opened.ids[i]) opened.ids[i] = module_.registry.Find(*request[i].limit, no_hint);
    }
    interned = Intern(opened, request);
  }
  if (!interned.ok()) return interned;
  absl::InlinedVector<std::size_t, 2> added(opened.keys.size());
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (!opened.plan.IsNew(i)) continue;
    const std::size_t key = opened.key_of_check[i];
    if (!HasRoom(opened, key, ++added[key], now)) {
      for (OpenKey& open : opened.keys) open.Commit(now);
      return TooManyBucketsOfKey();
    }
  }
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (const std::optional<Bucket> bucket = opened.plan.Change(i)) {
      opened.KeyOf(i).Keep(*opened.ids[i], *bucket);
    }
  }
  for (OpenKey& key : opened.keys) key.Commit(now);
  return absl::OkStatus();
}

// The second half of a request, after the decision: the verdict, and the writes.
absl::StatusOr<Verdict> KeyLimiter::Conclude(OpenedRequest& opened, const Request& request,
                                             Instant now) {
  absl::StatusOr<Verdict> verdict(absl::in_place);
  opened.plan.Join(now, *verdict);
  absl::Status kept = Keep(opened, request, now);
  if (!kept.ok()) verdict = std::move(kept);
  return verdict;
}

absl::StatusOr<Verdict> KeyLimiter::Decide(const Request& request, Instant now) {
  OpenedRequest opened(*this, request, redis::kWrite);
  if (opened.wrong_type) return WrongType();
  opened.plan.Decide(now, Purpose::kTake);
  return Conclude(opened, request, now);
}

absl::StatusOr<Verdict> KeyLimiter::Peek(const Request& request, Instant now) {
  OpenedRequest opened(*this, request, redis::kRead);
  if (opened.wrong_type) return WrongType();
  opened.plan.Decide(now, Purpose::kLook);
  absl::StatusOr<Verdict> verdict(absl::in_place);
  opened.plan.Join(now, *verdict);
  return verdict;
}

absl::StatusOr<Grant> KeyLimiter::Take(const Request& request, std::int64_t upto, Instant now) {
  OpenedRequest opened(*this, request, redis::kWrite);
  if (opened.wrong_type) return WrongType();
  const std::int64_t granted = opened.plan.DecideUpTo(upto, now);
  absl::StatusOr<Verdict> verdict = Conclude(opened, request, now);
  if (!verdict.ok()) return verdict.status();
  return Grant{granted, *std::move(verdict)};
}

absl::StatusOr<Charged> KeyLimiter::Charge(const Request& request, Instant now) {
  OpenedRequest opened(*this, request, redis::kWrite);
  if (opened.wrong_type) return WrongType();
  absl::StatusOr<Charged> charged = opened.plan.Charge(now);
  absl::Status kept = Keep(opened, request, now);
  if (!kept.ok()) charged = std::move(kept);
  return charged;
}

absl::StatusOr<Verdict> KeyLimiter::Refund(const Request& request, Instant now) {
  OpenedRequest opened(*this, request, redis::kWrite);
  if (opened.wrong_type) return WrongType();
  absl::StatusOr<Verdict> verdict = opened.plan.Refund(now);
  absl::Status kept = Keep(opened, request, now);
  if (!kept.ok()) verdict = std::move(kept);
  return verdict;
}

absl::StatusOr<Admission> KeyLimiter::Reserve(const Request& request, Nanos patience, Instant now) {
  OpenedRequest opened(*this, request, redis::kWrite);
  if (opened.wrong_type) return WrongType();
  Reservation reservation = opened.plan.Reserve(now, patience);
  absl::StatusOr<Verdict> verdict = Conclude(opened, request, now);
  if (!verdict.ok()) return verdict.status();
  Admission admission{*std::move(verdict), std::nullopt};
  if (admission.verdict.allowed && reservation.ready > now) {
    admission.reservation = std::move(reservation);
  }
  return admission;
}

absl::StatusOr<std::size_t> KeyLimiter::Reset(std::string_view name, std::span<const Limit> limits,
                                              Instant now) {
  OpenKey key(module_, call_.context, call_.NameOf(name), redis::kWrite);
  if (key.is_of_another_type()) return WrongType();
  std::size_t live = 0;
  key.EraseIf([&](LimitId id, const Bucket& bucket) {
    const Limit& limit = module_.registry.Get(id);
    const auto is_it = [&](const Limit& one) { return one.SharesBucketsWith(limit); };
    if (!limits.empty() && std::ranges::none_of(limits, is_it)) return false;
    if (key.TimeToFull({id, bucket}, now) > Nanos{0}) ++live;
    return true;
  });
  key.Commit(now);
  return live;
}

absl::StatusOr<std::vector<LiveBucket>> KeyLimiter::Inspect(std::string_view name, Instant now) {
  const OpenKey key(module_, call_.context, call_.NameOf(name), redis::kRead);
  if (key.is_of_another_type()) return WrongType();
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
