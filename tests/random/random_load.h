// Random use of a limiter and its policies, as texts, so that the answers of two limiters to the
// same turns can be compared.
//
//     std::mt19937_64 random(seed);
//     const Turn turn = RandomUse::AnyTurn(random);
//     const std::string answer = RandomUse(limiter, policies, now, true).Answer(turn);
//
// Few keys and limits of every kind, so that buckets, ids and policies come, go and come again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/limiter/policy_trim.h"
#include "core/policies/policies.h"
#include "tests/random/generators.h"
#include "tests/random/random_turns.h"
#include "tests/support/printing.h"

namespace weir {

// 0 .. most
[[nodiscard]] inline std::int64_t Draw(std::mt19937_64& random, std::int64_t most) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
}

template <typename T, std::size_t kCount>
[[nodiscard]] const T& DrawOne(std::mt19937_64& random, const std::array<T, kCount>& from) {
  return from[static_cast<std::size_t>(Draw(random, static_cast<std::int64_t>(kCount) - 1))];
}

class RandomUse {
 public:
  // Nothing may be swept where clients supply the time.
  RandomUse(Limiter& limiter, Policies& policies, Instant now, bool sweeps)
      : limiter_(limiter), policies_(policies), now_(now), sweeps_(sweeps) {}

  // Draws a turn that Answer() understands.
  static Turn AnyTurn(std::mt19937_64& random) {
    using What = Turn::What;
    static const rc::Gen<Turn> turn = weir::AnyTurn({{50, What::kDecide},
                                                     {6, What::kTake},
                                                     {6, What::kCharge},
                                                     {8, What::kRefund},
                                                     {3, What::kReset},
                                                     {3, What::kResetAll},
                                                     {6, What::kReserve},
                                                     {9, What::kHold},
                                                     {7, What::kSettle},
                                                     {6, What::kInspect},
                                                     {6, What::kSweep},
                                                     {11, What::kChangePolicy},
                                                     {1, What::kClear}},
                                                    kUsers, kLimitNumbers);
    return turn(rc::Random(random()), rc::kNominalSize).value();
  }

  // Plays the turn; returns what the limiter and the policies answer.
  std::string Answer(const Turn& turn) {
    const Ask& first = turn.asks.front();
    const std::string key(UserOf(first));
    switch (turn.what) {
      case Turn::What::kDecide:
        return "decide " + Told(limiter_.Decide(RequestOf(turn), now_));
      case Turn::What::kCharge: {
        const auto charged = limiter_.Charge(RequestOf(turn), now_);
        return "charge " + (charged.ok() ? Told(charged->verdict) : charged.status().ToString());
      }
      case Turn::What::kRefund:
        return "refund " + Told(limiter_.Refund(RequestOf(turn), now_));
      case Turn::What::kTake:
        return Take(RequestOf(turn), 1 + first.move.part % 6);
      case Turn::What::kReserve:
        return Reserve(RequestOf(turn), turn.patience == Turn::Patience::kNone);
      case Turn::What::kHold:
        return Hold(RequestOf(turn), turn);
      case Turn::What::kSettle:
        return Settle(RequestOf(turn), turn, key);
      case Turn::What::kReset:
      case Turn::What::kResetAll:
        return Reset(turn, key);
      case Turn::What::kInspect:
        return Inspect(key);
      case Turn::What::kSweep:
        return Sweep();
      case Turn::What::kChangePolicy:
        return ChangePolicy(turn, key);
      default:
        LimiterUpkeep(limiter_.table()).Clear();
        return "clear";
    }
  }

 private:
  static constexpr std::array<std::string_view, 4> kPolicies = {"free", "paid", "beta", "ban"};
  static constexpr std::array<std::string_view, 18> kWords = {"3/s",
                                                              "10/m,burst=3",
                                                              "7/11ms",
                                                              "2/s,fixed",
                                                              "5/m,fixed,aligned",
                                                              "3/10s,sliding",
                                                              "4/7ms,sliding",
                                                              "2/300ms,sliding",
                                                              "9/h",
                                                              "4/s,shadow",
                                                              "6/d,sliding",
                                                              "unlimited",
                                                              "5/day,tz=Africa/Cairo",
                                                              "7/month,from=31",
                                                              "3/s,ban=5s",
                                                              "2/s,fixed,ban=3s",
                                                              "9G/s,fixed",
                                                              "7G/month,from=31"};
  static constexpr std::size_t kUsers = 6;
  // A limit's number: one of kWords, then CL.THROTTLE's bucket twice, then a policy six times.
  static constexpr std::size_t kThrottle = kWords.size();
  static constexpr std::size_t kPolicy = kThrottle + 2;
  static constexpr std::size_t kLimitNumbers = kPolicy + 6;

  static std::string_view PolicyOf(const Ask& ask) {
    return kPolicies[static_cast<std::size_t>(ask.move.part) % kPolicies.size()];
  }

  // The limits that the policy has for the key; none if there is no such policy.
  void AddPolicy(std::string_view name, std::string_view key) {
    const std::shared_ptr<const Policy> policy = policies_.Find(name);
    if (!policy) return;
    const std::shared_ptr<const PolicyLimits> own = policy->overrides->Find(key);
    for (const PolicyLimit& limit : own ? *own : policy->limits) limits_.push_back(limit.limit);
  }

  static std::string_view UserOf(const Ask& ask) {
    static constexpr std::array<std::string_view, kUsers> kNames = {"user:0", "user:1", "user:2",
                                                                    "user:3", "user:4", "user:5"};
    return kNames[ask.key];
  }

  // The first ask chooses between CL.THROTTLE, a policy, and words, one word for each ask. A
  // request that waits asks the key of each ask, any other that of the first.
  Request RequestOf(const Turn& turn) {
    const std::string_view key = UserOf(turn.asks.front());
    const Ask& first = turn.asks.front();
    // Only the first three words can be waited for.
    const bool waits = turn.what == Turn::What::kReserve;
    limits_.clear();
    if (first.limit >= kPolicy && !waits) {
      AddPolicy(PolicyOf(first), key);
    } else if (first.limit >= kThrottle && !waits) {
      limits_.push_back(LimitOf("5/s,burst=4").OwnedBy(kThrottleOwner));
    }
    const bool spells = limits_.empty();
    for (const Ask& ask : turn.asks) {
      if (spells) limits_.push_back(LimitOf(kWords[ask.limit % (waits ? 3 : kWords.size())]));
    }
    Request request;
    for (const Limit& limit : limits_) {
      // That of a great count takes its bucket beyond 32 bits, and back.
      const bool is_wide = limit.shape().algorithm == Algorithm::kFixedWindow &&
                           limit.shape().count > kWindowCountMax;
      const std::int64_t cost =
          (first.move.part + std::ssize(request)) % 4 * (is_wide ? std::int64_t{1'500'000'000} : 1);
      const std::string_view asked = waits ? UserOf(turn.asks[request.size()]) : key;
      request.push_back(
          {.key = asked, .limit = &limit, .cost = cost, .hash = limiter_.Hash(asked)});
      if (!waits) request.back().keep = first.keep.part % 3;
    }
    return request;
  }

  static std::string Told(const absl::StatusOr<Verdict>& verdict) {
    std::ostringstream text;
    if (verdict.ok()) text << *verdict;
    if (!verdict.ok()) text << verdict.status();
    return text.str();
  }

  std::string Take(const Request& request, std::int64_t upto) {
    const auto grant = limiter_.Take(request, upto, now_);
    if (!grant.ok()) return grant.status().ToString();
    return "take " + std::to_string(grant->granted) + " " + Told(grant->verdict);
  }

  std::string Reserve(const Request& request, bool gives_back) {
    const auto admission = limiter_.Reserve(request, std::chrono::seconds{5}, now_);
    if (!admission.ok()) return admission.status().ToString();
    std::string text = "reserve " + Told(admission->verdict);
    if (admission->reservation && gives_back) limiter_.ReturnTokens(*admission->reservation);
    if (admission->reservation)
      text += Told(limiter_.VerdictAfterWait(*admission->reservation, now_));
    return text;
  }

  static std::string IdOf(const Turn& turn) {
    return "id" + std::to_string(turn.asks.front().keep.part % 3);
  }

  // Some slices lapse between two turns.
  std::string Slice(const Request& request, std::string_view id, std::int64_t part) {
    const auto slice =
        limiter_.Slice(request,
                       {.id = id,
                        .wish = {.need = part % 4,
                                 .unit = 1,
                                 .upto = 1 + part % 9,
                                 .life = std::chrono::milliseconds{part % 3 == 0 ? 10 : 60'000}}},
                       now_);
    if (!slice.ok()) return slice.status().ToString();
    return "slice " + std::to_string(slice->granted) + " " + std::to_string(slice->life.count()) +
           " " + Told(slice->verdict);
  }

  // Some holds expire between two turns, others never; the words of some are those of others.
  std::string Hold(const Request& request, const Turn& turn) {
    const std::int64_t part = turn.asks.front().move.part;
    const std::string id = IdOf(turn);
    const bool may_slice = std::ranges::all_of(request, [&](const Check& check) {
      return check.hash == request.front().hash && !check.limit->is_held();
    });
    const bool wants_slice = turn.patience == Turn::Patience::kTooShort && part % 4 == 0;
    if (may_slice && wants_slice) return Slice(request, id, part);
    const auto grant =
        limiter_.DecideAndHold(request,
                               {.id = id,
                                .ttl = part % 3 == 0 ? Nanos{std::chrono::milliseconds{10}}
                                                     : std::chrono::minutes{part % 5 + 1},
                                .words = static_cast<std::uint64_t>(part % 2),
                                .upto = turn.patience == Turn::Patience::kLong ? 1 + part % 4 : 0},
                               now_);
    if (!grant.ok()) return grant.status().ToString();
    return "hold " + std::to_string(grant->granted) + " " + Told(grant->verdict);
  }

  // Names the first limit of the request, or none.
  std::string Settle(const Request& request, const Turn& turn, std::string_view key) {
    const std::int64_t part = turn.asks.front().move.part;
    const std::string id = IdOf(turn);
    const HashedKey hashed{key, limiter_.Hash(key)};
    SettledKey settled_key{hashed, std::nullopt};
    if (part % 2 == 0) settled_key.cost = part % 7;
    std::vector<TrueCost> named;
    if (part % 3 == 0) named.push_back({hashed, request.front().limit, kNoPolicy, part % 5});
    const auto settled =
        limiter_.SettleHold({.id = id, .keys = std::span(&settled_key, 1), .named = named}, now_);
    if (!settled.ok()) return settled.status().ToString();
    std::string text = settled->settled ? "settled " : "no such hold ";
    if (settled->foreign) return text + "has no limit " + std::to_string(*settled->foreign);
    return text + Told(settled->verdict);
  }

  std::string Reset(const Turn& turn, std::string_view key) {
    static_cast<void>(RequestOf(turn));
    const bool all = turn.what == Turn::What::kResetAll;
    const std::span<const Limit> limits(limits_);
    return "reset " + std::to_string(limiter_.Reset(key, limits.first(all ? 0 : 1), now_));
  }

  // All that the limiter shows of a key.
  std::string Inspect(const std::string& key) {
    const auto present = [&](const Limit& limit) { return policies_.PresentLimit(limit, key); };
    std::vector<std::string> lines;
    for (const LiveBucket& bucket : limiter_.Inspect(key, now_, present)) {
      std::ostringstream line;
      line << bucket.limit << " of " << NumberOf(bucket.limit.owner().policy) << ": "
           << bucket.remaining << ", " << bucket.reset_after.count() << ", "
           << bucket.ban_left.count();
      lines.push_back(line.str());
    }
    std::ranges::sort(lines);  // Ids given out later may differ.
    std::ostringstream text;
    text << key << ": until full " << limiter_.ResetAfter(key, now_, present).count();
    for (const std::string& line : lines) text << "; " << line;
    for (const LiveHold& hold : limiter_.InspectHolds(key, now_, present)) {
      text << "; " << hold.id << (hold.settled ? " settled " : " open ") << hold.expires_in.count();
      for (const LiveHold::Part& part : hold.parts) text << " " << part.limit << " " << part.cost;
    }
    return text.str();
  }

  std::string Sweep() {
    for (std::size_t i = 0; sweeps_ && i < kPartitionCount; ++i) {
      LimiterUpkeep(limiter_.table()).Sweep(i, now_);
    }
    while (LimiterUpkeep(limiter_.table()).ReclaimLimits(1, 100) > 0) {
    }
    return "sweep";
  }

  // One or two limits, one for each ask.
  static PolicyLimits PolicyLimitsOf(const Turn& turn) {
    PolicyLimits limits;
    for (const Ask& ask : turn.asks) {
      const std::string_view word = kWords[ask.limit % kWords.size()];
      if (limits.size() < 2)
        limits.push_back({.limit = LimitOf(word), .cost = {}, .keep = {}, .label = {}});
    }
    return limits;
  }

  std::string Trim(PolicyLimits before, std::shared_ptr<const Policy> after) {
    Limiter::PolicyTrim trim(limiter_, policies_, std::move(before), std::move(after));
    while (!trim.Step(now_)) {
    }
    return ", trimmed " + std::to_string(trim.trimmed());
  }

  std::string ChangePolicy(const Turn& turn, const std::string& key) {
    const std::string_view name = PolicyOf(turn.asks.front());
    const std::int64_t what = turn.move.part % 6;
    const std::shared_ptr<const Policy> before = policies_.Find(name);
    if (what < 2) {
      const std::string set = "set " + policies_.Set(name, PolicyLimitsOf(turn)).ToString();
      return before && what == 0 ? set + Trim(before->limits, policies_.Find(name)) : set;
    }
    if (what == 2) {
      const absl::StatusOr<PolicyId> gone = policies_.Delete(name);
      if (gone.ok()) LimiterUpkeep(limiter_.table()).ForgetPolicies(std::span(&*gone, 1));
      return "delete " + gone.status().ToString();
    }
    if (what < 5) {
      const std::shared_ptr<const PolicyLimits> own = policies_.LimitsOf(name, key);
      const std::string set = policies_.Override(name, key, PolicyLimitsOf(turn)).ToString();
      if (!own) return "override " + set;
      const std::size_t trimmed =
          Limiter::PolicyTrim::TrimKey(limiter_, key, *own, *policies_.LimitsOf(name, key), now_);
      return "override " + set + ", trimmed " + std::to_string(trimmed);
    }
    return "remove " + policies_.RemoveOverride(name, key).status().ToString();
  }

  Limiter& limiter_;
  Policies& policies_;
  const Instant now_;
  const bool sweeps_;
  std::vector<Limit> limits_;  // of the last request
};

// The time between two turns: zero, short, or until most buckets are full again.
[[nodiscard]] inline Nanos RandomPause(std::mt19937_64& random) {
  switch (Draw(random, 9)) {
    case 0:
      return Nanos{Draw(random, std::chrono::nanoseconds(std::chrono::hours{2}).count())};
    case 1:
    case 2:
      return Nanos{Draw(random, std::chrono::nanoseconds(std::chrono::seconds{3}).count())};
    case 3:
    case 4:
      return Nanos{Draw(random, std::chrono::nanoseconds(std::chrono::milliseconds{20}).count())};
    default:
      return Nanos{0};
  }
}

}  // namespace weir
