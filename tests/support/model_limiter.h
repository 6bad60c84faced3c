// A model of the limiter: one log of admissions (any_oracle.h) for each key and limit. The answers
// of the logs are joined as documented.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/wide.h"
#include "core/limiter/limiter.h"
#include "core/table/key_hash.h"
#include "tests/support/any_oracle.h"

namespace weir {

inline constexpr std::size_t kKeys = 3;
inline constexpr std::size_t kLimits = 5;

inline const std::vector<std::string>& KeyNames() {
  static const std::vector<std::string> names = {"a", "b", std::string(1, '\0')};
  return names;
}

class ModelLimiter {
 public:
  explicit ModelLimiter(std::vector<Limit> limits) : limits_(std::move(limits)) { Clear(); }

  using BucketName = std::pair<std::size_t, std::size_t>;  // key, limit
  struct Priced {
    BucketName bucket;
    std::int64_t cost;
    std::int64_t keep = 0;
    bool begins_alternative = false;  // of those that Look and Decide answer
  };

  Verdict Look(const std::vector<Priced>& checks, Instant now) const {
    return JoinAlternatives(LookAtEach(AlternativesOf(checks), now));
  }

  // The first alternative that passes is charged; if none does, each denies in its order, and the
  // numbers are those after all bans.
  Verdict Decide(const std::vector<Priced>& checks, Instant now) {
    const auto alternatives = AlternativesOf(checks);
    std::vector<Verdict> verdicts = LookAtEach(alternatives, now);
    const auto charge = [&](std::size_t i) {
      return Charge(alternatives[i], Sum(alternatives[i]), now);
    };
    const auto winner = std::ranges::find_if(verdicts, &Verdict::allowed);
    if (winner != verdicts.end()) {
      *winner = charge(static_cast<std::size_t>(winner - verdicts.begin()));
      return JoinAlternatives(verdicts);
    }
    std::vector<std::uint64_t> banned;
    for (std::size_t i = 0; i < alternatives.size(); ++i) banned.push_back(charge(i).banned);
    verdicts = LookAtEach(alternatives, now);
    for (std::size_t i = 0; i < alternatives.size(); ++i) verdicts[i].banned = banned[i];
    return JoinAlternatives(verdicts);
  }

  // The greatest number of repetitions that pass, found by halving; 1 if none passes.
  Grant Take(const std::vector<Priced>& checks, std::int64_t upto, Instant now) {
    const auto passes = [&](std::int64_t times) {
      return Join(checks, Sum(checks, times), now).allowed;
    };
    std::int64_t granted = 0;
    std::int64_t too_many = upto;
    if (passes(upto)) granted = upto;
    while (granted < upto && too_many - granted > 1) {
      const std::int64_t middle = granted + (too_many - granted) / 2;
      (passes(middle) ? granted : too_many) = middle;
    }
    return {granted, Charge(checks, Sum(checks, std::max<std::int64_t>(granted, 1)), now)};
  }

  // Every limit is charged, whatever it says; the numbers are those after the charge, with the wait
  // for one token beside those that are kept.
  Charged ChargeAnyway(const std::vector<Priced>& checks, Instant now, Nanos max_wait) {
    const Costs costs = Sum(checks);
    const Verdict asked = Join(checks, costs, now);
    Charged charged;
    Verdict& verdict = charged.verdict;
    for (const auto& [bucket, price] : costs) {
      const Decision before = logs_.at(bucket).Look(now, 0);
      const bool lacks = static_cast<std::int64_t>(price.cost) < 0 ||
                         static_cast<std::int64_t>(price.cost) > before.remaining;
      const auto first = std::ranges::find(checks, bucket, &Priced::bucket) - checks.begin();
      if (lacks && HasBucket(bucket)) charged.beyond |= std::uint64_t{1} << first;
      logs_.at(bucket).ChargeAnyway(now, price.cost, max_wait);
    }
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const AnyOracle& log = logs_.at(checks[i].bucket);
      Decision decision = log.Look(now, 0);
      decision.retry_after = log.Look(now, 1 + costs.at(checks[i].bucket).keep).retry_after;
      decision.allowed = asked.decisions[i].allowed;
      verdict.decisions.push_back(decision);
    }
    verdict.allowed = asked.allowed;
    JoinNumbers(checks, verdict);
    verdict.limit_index = asked.limit_index;
    return charged;
  }

  Verdict Refund(std::vector<Priced> checks, Instant now) {
    for (const auto& [bucket, price] : Sum(checks)) {
      if (price.cost > 0) logs_.at(bucket).Refund(now, price.cost);
    }
    for (Priced& check : checks) check.cost = check.keep = 0;
    Verdict verdict;
    verdict.allowed = true;  // whatever "none" says
    verdict.decisions = Decisions(checks, Sum(checks), now, true);
    JoinNumbers(checks, verdict);
    verdict.retry_after = Nanos{0};
    return verdict;
  }

  // How long until the request passes: the longest wait among the limits that are not shadows.
  Nanos Wait(const std::vector<Priced>& checks, Instant now) const {
    Nanos longest{0};
    for (const auto& [bucket, price] : Sum(checks)) {
      if (!IsShadow(bucket)) longest = std::max(longest, logs_.at(bucket).Wait(now, price.cost));
    }
    return longest;
  }

  struct Reservation {
    std::vector<Priced> checks;
    std::map<BucketName, LogOracle::Promise> promises;  // shadows that deny make none
    Instant ready;
    std::uint64_t banned = 0;
  };
  struct Admission {
    Verdict verdict;
    std::optional<Reservation> reservation;
  };
  // Every bucket is charged at the instant at which its tokens are available. A shadow's tokens
  // must be available when those of the other limits are.
  Admission Reserve(const std::vector<Priced>& checks, Nanos patience, Instant now) {
    const Nanos longest = Wait(checks, now);
    const std::uint64_t banned = Ban(checks, Sum(checks), now, std::min(longest, patience));
    if (longest > patience) {
      Verdict denied = Look(checks, now);
      denied.banned = banned;
      return {denied, std::nullopt};
    }
    Reservation reservation{checks, {}, now + longest, banned};
    std::map<BucketName, Nanos> waits;
    for (const auto& [bucket, price] : Sum(checks)) {
      const Nanos wait = logs_.at(bucket).Wait(now, price.cost);
      waits[bucket] = IsShadow(bucket) ? Nanos{0} : wait;
      if (wait > longest) continue;
      reservation.promises.emplace(bucket, logs_.at(bucket).Reserve(now, price.cost));
    }
    Verdict verdict = Settle(reservation, now);
    for (std::size_t i = 0; i < checks.size(); ++i) {
      Decision& decision = verdict.decisions[i];
      if (decision.allowed) decision.retry_after = waits.at(checks[i].bucket);
    }
    JoinNumbers(checks, verdict);
    if (longest == Nanos{0}) return {verdict, std::nullopt};
    return {verdict, reservation};
  }

  Verdict Settle(const Reservation& reservation, Instant now) const {
    const Costs costs = Sum(reservation.checks);
    Verdict verdict;
    verdict.allowed = true;
    verdict.banned = reservation.banned;
    for (const Priced& check : reservation.checks) {
      const AnyOracle& log = logs_.at(check.bucket);
      Decision decision = log.Look(now, 0);
      if (!reservation.promises.contains(check.bucket)) {
        decision.allowed = false;
        decision.retry_after = log.Look(now, costs.at(check.bucket).cost).retry_after;
      }
      verdict.decisions.push_back(decision);
    }
    JoinNumbers(reservation.checks, verdict);
    return verdict;
  }

  void ReturnTokens(const Reservation& reservation) {
    for (const auto& [bucket, promise] : reservation.promises) {
      logs_.at(bucket).ReturnTokens(promise);
    }
  }

  Decision State(BucketName bucket, Instant now) const { return logs_.at(bucket).Look(now, 0); }
  bool IsLive(BucketName bucket, Instant now) const {
    return State(bucket, now).reset_after > Nanos{0};
  }
  std::int64_t Used(BucketName bucket, Instant now) const { return logs_.at(bucket).Used(now); }
  Nanos BanLeft(BucketName bucket, Instant now) const { return logs_.at(bucket).BanLeft(now); }
  void Forget(BucketName bucket) { logs_.at(bucket).Forget(); }

  void Clear() {
    logs_.clear();
    for (std::size_t key = 0; key < kKeys; ++key) {
      for (std::size_t limit = 0; limit < kLimits; ++limit) {
        logs_.try_emplace({key, limit}, limits_[limit]);
      }
    }
  }

 private:
  // Of all checks of a bucket: the sum of the costs, and the most that one of them keeps.
  struct Price {
    std::uint64_t cost = 0;
    std::uint64_t keep = 0;
  };
  using Costs = std::map<BucketName, Price>;

  // A sum that leaves 64 bits is above every burst.
  static Costs Sum(const std::vector<Priced>& checks, std::int64_t times = 1) {
    Costs sums;
    for (const Priced& check : checks) {
      const Wide cost = static_cast<Wide>(check.cost) * static_cast<Wide>(times);
      auto& [sum, keep] = sums[check.bucket];
      sum += static_cast<std::uint64_t>(std::min<Wide>(cost, UINT64_MAX - sum));
      keep = std::max(keep, static_cast<std::uint64_t>(check.keep));
    }
    return sums;
  }

  bool HasBucket(BucketName bucket) const { return limits_[bucket.second].has_bucket(); }
  bool IsShadow(BucketName bucket) const { return limits_[bucket.second].shape().shadow; }

  static std::vector<std::vector<Priced>> AlternativesOf(const std::vector<Priced>& checks) {
    std::vector<std::vector<Priced>> alternatives;
    for (const Priced& check : checks) {
      if (alternatives.empty() || check.begins_alternative) alternatives.emplace_back();
      alternatives.back().push_back(check);
    }
    return alternatives;
  }

  std::vector<Verdict> LookAtEach(const std::vector<std::vector<Priced>>& alternatives,
                                  Instant now) const {
    std::vector<Verdict> verdicts;
    for (const auto& checks : alternatives) verdicts.push_back(Join(checks, Sum(checks), now));
    return verdicts;
  }

  // The numbers of the first alternative that passes or, if none does, of the one that does so
  // soonest; the decisions of all.
  static Verdict JoinAlternatives(const std::vector<Verdict>& verdicts) {
    auto decider = std::ranges::find_if(verdicts, &Verdict::allowed);
    if (decider == verdicts.end()) {
      decider = std::ranges::min_element(verdicts, {}, &Verdict::retry_after);
    }
    Verdict joined = *decider;
    joined.decisions.clear();
    joined.repeated = joined.banned = 0;
    for (auto verdict = verdicts.begin(); verdict != verdicts.end(); ++verdict) {
      const std::size_t before = joined.decisions.size();
      if (verdict == decider) joined.limit_index += before;
      joined.repeated |= verdict->repeated << before;
      joined.banned |= verdict->banned << before;
      for (const Decision& decision : verdict->decisions) joined.decisions.push_back(decision);
    }
    return joined;
  }

  // The decision of each limit. If the request does not pass, a limit that would have admitted it
  // shows its untouched bucket.
  absl::InlinedVector<Decision, 4> Decisions(const std::vector<Priced>& checks, const Costs& costs,
                                             Instant now, bool passes) const {
    absl::InlinedVector<Decision, 4> decisions;
    for (const Priced& check : checks) {
      const AnyOracle& log = logs_.at(check.bucket);
      const auto& [cost, keep] = costs.at(check.bucket);
      const Decision decision = log.Look(now, cost, keep);
      decisions.push_back(decision.allowed && !passes ? log.Look(now, 0) : decision);
    }
    return decisions;
  }

  // The verdict's five numbers: over the limits that are not shadows, or over all limits if every
  // one is a shadow.
  void JoinNumbers(const std::vector<Priced>& checks, Verdict& verdict) const {
    std::vector<std::size_t> joined;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      if (!IsShadow(checks[i].bucket)) joined.push_back(i);
    }
    const bool only_shadows = joined.empty();
    for (std::size_t i = 0; only_shadows && i < checks.size(); ++i) joined.push_back(i);
    const auto& all = verdict.decisions;
    const auto remaining = [&](std::size_t i) { return all[i].remaining; };
    const auto retry_after = [&](std::size_t i) { return all[i].retry_after; };
    const std::size_t fewest = *std::ranges::min_element(joined, {}, remaining);
    const std::size_t longest = *std::ranges::max_element(joined, {}, retry_after);
    verdict.limit_index = verdict.allowed ? fewest : longest;
    verdict.remaining = all[fewest].remaining;
    verdict.retry_after = only_shadows ? Nanos{0} : all[longest].retry_after;
    for (const std::size_t i : joined) {
      verdict.reset_after = std::max(verdict.reset_after, all[i].reset_after);
    }
    verdict.repeated = 0;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      const auto is_same = [&](const Priced& other) { return other.bucket == checks[i].bucket; };
      const bool again = std::ranges::any_of(std::span(checks).first(i), is_same);
      verdict.repeated |= std::uint64_t{again} << i;
    }
  }

  Verdict Join(const std::vector<Priced>& checks, const Costs& costs, Instant now) const {
    Verdict verdict;
    verdict.allowed = std::ranges::all_of(costs, [&](const auto& charge) {
      const auto& [bucket, price] = charge;
      return IsShadow(bucket) || logs_.at(bucket).Look(now, price.cost, price.keep).allowed;
    });
    verdict.decisions = Decisions(checks, costs, now, verdict.allowed);
    JoinNumbers(checks, verdict);
    return verdict;
  }

  // Bans the limits that deny their cost, now and within `patience`, unless they always do. Returns
  // a bit for each: that of its first check.
  std::uint64_t Ban(const std::vector<Priced>& checks, const Costs& costs, Instant now,
                    Nanos patience) {
    std::uint64_t banned = 0;
    for (const auto& [bucket, price] : costs) {
      AnyOracle& log = logs_.at(bucket);
      const Nanos wait = log.Look(now, price.cost, price.keep).retry_after;
      if (wait <= patience || wait == kNever || !log.Ban(now)) continue;
      const auto first = std::ranges::find(checks, bucket, &Priced::bucket);
      banned |= std::uint64_t{1} << (first - checks.begin());
    }
    return banned;
  }

  Verdict Charge(const std::vector<Priced>& checks, const Costs& costs, Instant now) {
    const std::uint64_t banned = Ban(checks, Sum(checks), now, Nanos{0});
    Verdict verdict = Join(checks, costs, now);
    verdict.banned = banned;
    if (!verdict.allowed) return verdict;
    for (const auto& [bucket, price] : costs) {
      if (logs_.at(bucket).Look(now, price.cost, price.keep).allowed) {
        logs_.at(bucket).Charge(now, price.cost);
      }
    }
    return verdict;
  }

  std::vector<Limit> limits_;
  std::map<BucketName, AnyOracle> logs_;
};

}  // namespace weir
