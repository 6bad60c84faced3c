// Random use of a limiter and its policies, the same for the same seed: what two limiters answer to
// it can be compared.
//
//     std::mt19937_64 random(seed);
//     const std::string answer = RandomTurn(random, limiter, policies, now);
//
// Few keys and limits of every kind, so that buckets, ids and policies come, go and come again.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/limiter/limiter.h"
#include "core/words/policies.h"
#include "tests/support/generators.h"
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
  RandomUse(std::mt19937_64& random, Limiter& limiter, Policies& policies, Instant now, bool sweeps)
      : random_(random), limiter_(limiter), policies_(policies), now_(now), sweeps_(sweeps) {}

  std::string Turn() {
    const std::int64_t what = Draw(random_, 99);
    if (what < 50) return Decide();
    if (what < 56) return Take();
    if (what < 64) return Refund();
    if (what < 70) return Reset();
    if (what < 76) return Reserve();
    if (what < 82) return Inspect();
    if (what < 88) return Sweep();
    if (what < 99) return ChangePolicies();
    limiter_.Clear();
    return "clear";
  }

  // What is known of a key.
  std::string Inspect() {
    const std::string key = AnyKey();
    const auto present = [&](const Limit& limit) { return policies_.PresentLimit(limit, key); };
    std::vector<std::string> lines;
    for (const LiveBucket& bucket : limiter_.Inspect(key, now_, present)) {
      std::ostringstream line;
      line << bucket.limit << " of " << bucket.limit.owner().policy << ": " << bucket.remaining
           << ", " << bucket.reset_after.count();
      lines.push_back(line.str());
    }
    std::ranges::sort(lines);  // Ids given out later may differ.
    std::ostringstream text;
    text << key << ": until full " << limiter_.ResetAfter(key, now_, present).count();
    for (const std::string& line : lines) text << "; " << line;
    return text.str();
  }

 private:
  static constexpr std::array<std::string_view, 4> kPolicies = {"free", "paid", "beta", "ban"};
  static constexpr std::array<std::string_view, 12> kWords = {
      "3/s",           "10/m,burst=3",  "7/11ms",          "2/s,fixed", "5/m,fixed,aligned",
      "3/10s,sliding", "4/7ms,sliding", "2/300ms,sliding", "9/h",       "4/s,shadow",
      "6/d,sliding",   "unlimited"};

  std::string AnyKey() { return "user:" + std::to_string(Draw(random_, 5)); }

  // The limits of a policy for a key; none where there is no such policy.
  void AddPolicy(std::string_view name, std::string_view key) {
    const std::shared_ptr<const Policy> policy = policies_.Find(name);
    if (!policy) return;
    const std::shared_ptr<const PolicyLimits> own = policy->overrides->Find(key);
    for (const PolicyLimit& limit : own ? *own : policy->limits) limits_.push_back(limit.limit);
  }

  Request AnyRequest(bool for_wait = false) {
    key_ = AnyKey();
    limits_.clear();
    const std::int64_t kind = Draw(random_, 9);
    if (kind == 0 && !for_wait) {
      limits_.push_back(LimitOf("5/s,burst=4").OwnedBy(kThrottleOwner));
    } else if (kind < 4 && !for_wait) {
      AddPolicy(DrawOne(random_, kPolicies), key_);
    }
    const std::int64_t words = limits_.empty() ? 1 + Draw(random_, 2) : 0;
    for (std::int64_t i = 0; i < words; ++i) {
      limits_.push_back(LimitOf(for_wait ? kWords[static_cast<std::size_t>(Draw(random_, 2))]
                                         : DrawOne(random_, kWords)));
    }
    Request request;
    for (const Limit& limit : limits_) {
      request.push_back(
          {.key = key_, .limit = &limit, .cost = Draw(random_, 3), .hash = limiter_.Hash(key_)});
    }
    return request;
  }

  static std::string Told(const absl::StatusOr<Verdict>& verdict) {
    std::ostringstream text;
    if (verdict.ok()) text << *verdict;
    if (!verdict.ok()) text << verdict.status();
    return text.str();
  }

  std::string Decide() { return "decide " + Told(limiter_.Decide(AnyRequest(), now_)); }
  std::string Refund() { return "refund " + Told(limiter_.Refund(AnyRequest(), now_)); }

  std::string Take() {
    const Request request = AnyRequest();
    const auto grant = limiter_.Take(request, 1 + Draw(random_, 5), now_);
    if (!grant.ok()) return grant.status().ToString();
    return "take " + std::to_string(grant->granted) + " " + Told(grant->verdict);
  }

  std::string Reserve() {
    const Request request = AnyRequest(true);
    const bool gives_back = Draw(random_, 1) == 0;
    const auto admission = limiter_.Reserve(request, std::chrono::seconds{5}, now_);
    if (!admission.ok()) return admission.status().ToString();
    std::string text = "reserve " + Told(admission->verdict);
    if (admission->reservation && gives_back) limiter_.GiveBack(*admission->reservation);
    if (admission->reservation) text += Told(limiter_.Settle(*admission->reservation, now_));
    return text;
  }

  std::string Reset() {
    static_cast<void>(AnyRequest());
    const bool all = Draw(random_, 1) == 0;
    const std::span<const Limit> limits(limits_);
    return "reset " + std::to_string(limiter_.Reset(key_, limits.first(all ? 0 : 1), now_));
  }

  std::string Sweep() {
    for (std::size_t i = 0; sweeps_ && i < kPartitionCount; ++i) {
      limiter_.Sweep(i, now_);
    }
    while (limiter_.ReclaimLimits(1, 100) > 0) {
    }
    return "sweep";
  }

  PolicyLimits AnyPolicyLimits() {
    PolicyLimits limits;
    const std::int64_t count = 1 + Draw(random_, 1);
    for (std::int64_t i = 0; i < count; ++i) {
      limits.push_back({.limit = LimitOf(DrawOne(random_, kWords)), .cost = {}, .label = {}});
    }
    return limits;
  }

  std::string ChangePolicies() {
    const std::string_view name = DrawOne(random_, kPolicies);
    const std::string key = AnyKey();
    const std::int64_t what = Draw(random_, 5);
    if (what < 2) return "set " + policies_.Set(name, AnyPolicyLimits()).ToString();
    if (what == 2) {
      const absl::StatusOr<std::uint32_t> gone = policies_.Delete(name);
      if (gone.ok()) limiter_.ForgetPolicies(std::span(&*gone, 1));
      return "delete " + gone.status().ToString();
    }
    if (what < 5) return "override " + policies_.Override(name, key, AnyPolicyLimits()).ToString();
    return "remove " + policies_.RemoveOverride(name, key).status().ToString();
  }

  std::mt19937_64& random_;
  Limiter& limiter_;
  Policies& policies_;
  const Instant now_;
  const bool sweeps_;
  std::string key_;
  std::vector<Limit> limits_;
};

// One random thing that is asked of them; returns what they answered. Where clients bring the time
// nothing may be swept.
inline std::string RandomTurn(std::mt19937_64& random, Limiter& limiter, Policies& policies,
                              Instant now, bool sweeps = true) {
  return RandomUse(random, limiter, policies, now, sweeps).Turn();
}

// How far time goes on between two turns: not at all, a little, or until most is full again.
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
