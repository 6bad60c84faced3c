#include "replay/burst_fit.h"

#include <algorithm>
#include <limits>
#include <span>

#include "core/base/check.h"
#include "core/base/wide.h"
#include "core/plans/choice.h"

namespace weir {

BurstFit::BurstFit(const Check& check, Nanos max_wait)
    : check_(check), max_wait_(max_wait), shape_(check.limit->shape()) {
  WEIR_CHECK(shape_.algorithm == Algorithm::kTokenBucket);
  shape_.shadow = false;
  check_.hint = nullptr;
}

void BurstFit::Add(const LoggedRequest& request, const KeyHash& key, std::int64_t cost) {
  WEIR_CHECK(bucket_of_.size() < std::numeric_limits<std::uint32_t>::max());
  const auto next = static_cast<std::uint32_t>(bucket_of_.size());
  const std::uint32_t bucket = bucket_of_.try_emplace(key.hash, next).first->second;
  items_.push_back({.at = request.at, .cost = cost, .bucket = bucket});
  if (AsksForTokens(request.action)) ++checks_;
  if (request.action == LoggedAction::kAllow) return;
  specials_.push_back({request.action, request.number});
  items_.back().special = static_cast<std::uint32_t>(specials_.size());
}

void BurstFit::AddClear() {
  specials_.push_back({.action = LoggedAction::kClear, .number = 0});
  items_.push_back(
      {.at = {}, .cost = 0, .bucket = 0, .special = static_cast<std::uint32_t>(specials_.size())});
}

std::optional<Limit> BurstFit::WithBurst(std::int64_t burst) const {
  LimitShape shape = shape_;
  shape.burst = burst;
  const absl::StatusOr<Limit> limit = Limit::Create(shape);
  return limit.ok() ? std::optional(*limit) : std::nullopt;
}

std::int64_t BurstFit::GreatestBurst() const {
  std::int64_t good = shape_.burst;
  std::int64_t bad = std::numeric_limits<std::int64_t>::max();
  WEIR_CHECK(WithBurst(good).has_value());
  if (WithBurst(bad)) return bad;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (WithBurst(middle) ? good : bad) = middle;
  }
  return good;
}

BurstFit::Pass BurstFit::Run(std::int64_t burst) {
  const std::optional<Limit> limit = WithBurst(burst);
  WEIR_CHECK(limit.has_value());
  buckets_.assign(bucket_of_.size(), Bucket{});
  Check check = check_;
  check.limit = &*limit;
  Pass pass;
  for (const Item& item : items_) {
    if (item.special != 0 && specials_[item.special - 1].action == LoggedAction::kClear) {
      buckets_.assign(bucket_of_.size(), Bucket{});
      continue;
    }
    check.cost = item.cost;
    Bucket& bucket = buckets_[item.bucket];
    if (item.special != 0) {
      pass.admitted += DecideSpecial(check, item, bucket) ? 1 : 0;
      continue;
    }
    Plan<kOneCheck> plan(std::span(&check, 1), max_wait_);
    plan.bucket(0).SetStored(bucket);
    plan.Decide(item.at, Purpose::kTake);
    if (plan.allowed()) {
      ++pass.admitted;
      if (item.cost > 0)
        pass.backlog = std::max(pass.backlog, burst - plan.bucket(0).step.decision.remaining);
    }
    if (const std::optional<Bucket> changed = plan.Change(0)) bucket = *changed;
  }
  return pass;
}

// The other commands. Returns whether the check asked for tokens and got some.
bool BurstFit::DecideSpecial(const Check& check, const Item& item, Bucket& bucket) const {
  const Special& special = specials_[item.special - 1];
  if (special.action == LoggedAction::kReset) {
    bucket = Bucket{};
    return false;
  }
  Plan<kManyChecks> plan(std::span(&check, 1), max_wait_);
  plan.bucket(0).SetStored(bucket);
  bool allowed = false;
  if (special.action == LoggedAction::kTake) {
    allowed = plan.DecideUpTo(special.number, item.at) > 0;
  } else if (special.action == LoggedAction::kCharge) {
    allowed = plan.Charge(item.at).verdict.allowed;
  } else if (special.action == LoggedAction::kWait) {
    static_cast<void>(plan.Reserve(item.at, std::chrono::milliseconds{special.number}));
    allowed = plan.allowed();
  } else {
    WEIR_CHECK(special.action == LoggedAction::kRefund);
    static_cast<void>(plan.Refund(item.at));
  }
  if (const std::optional<Bucket> changed = plan.Change(0)) bucket = *changed;
  return allowed;
}

std::uint64_t BurstFit::CountAdmitted(std::int64_t burst) { return Run(burst).admitted; }

std::optional<std::int64_t> BurstFit::Find(std::int64_t share) {
  WEIR_CHECK(share > 0);
  WEIR_CHECK(share <= kAllPercent);
  if (checks_ == 0) return std::nullopt;
  const auto wanted = static_cast<std::uint64_t>(
      (static_cast<Wide>(checks_) * static_cast<Wide>(share) + kAllPercent - 1) / kAllPercent);
  std::int64_t enough = GreatestBurst();
  std::int64_t too_small = 0;
  const Pass pass = Run(enough);
  if (pass.admitted < wanted) return std::nullopt;
  const std::int64_t backlog = std::max<std::int64_t>(pass.backlog, 1);
  if (specials_.empty() && pass.admitted == checks_ && backlog < enough) {
    // With this burst all pass, unless a check asks for more than tokens.
    if (CountAdmitted(backlog) < wanted) {
      too_small = backlog;
    } else if (wanted == checks_) {
      return backlog;
    } else {
      enough = backlog;
    }
  }
  while (enough - too_small > 1) {
    const std::int64_t middle = too_small + (enough - too_small) / 2;
    (CountAdmitted(middle) < wanted ? too_small : enough) = middle;
  }
  return enough;
}

}  // namespace weir
