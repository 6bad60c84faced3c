// A bucket of a key that is not full, as RL.INSPECT shows it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/instant.h"
#include "core/policies/policies.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/limit_counters.h"
#include "core/rules/rule.h"
#include "core/words/limit_grammar.h"

namespace weir {

struct LiveBucket {
  Limit limit;
  std::int64_t remaining;  // tokens; -1 for CL.THROTTLE's, whose limit comes with each request
  Nanos reset_after;       // > 0
  std::int64_t used;       // tokens charged, debts included; -1 like `remaining`
  Nanos ban_left{0};       // until the limit's ban ends; 0: it has none
};

// The state of a bucket; nothing if it is full. `limit`: with its present numbers.
[[nodiscard]] inline std::optional<LiveBucket> InspectBucket(const Limit& limit,
                                                             const Bucket& bucket, Instant now,
                                                             Nanos max_wait) {
  LiveBucket live{limit, -1, Nanos{0}, -1, Nanos{0}};
  if (limit.owner() == kThrottleOwner) {  // Its numbers come with each request.
    live.reset_after = TimeToFull(limit, bucket, now);
  } else {
    const Decision look = DecideLimit(limit, bucket, now, 0, max_wait).decision;
    live.remaining = look.remaining;
    live.reset_after = look.reset_after;
    live.used = UsedTokens(limit, bucket, now, max_wait);
    live.ban_left = BanLeft(limit, bucket, now, max_wait);
  }
  return live.reset_after > Nanos{0} ? std::optional(live) : std::nullopt;
}

// The name of a limit's bucket in RL.INSPECT: its text, "@policy#position" or "cl.throttle".
[[nodiscard]] inline std::string BucketName(const Policies& policies, const Limit& limit) {
  const LimitOwner owner = limit.owner();
  if (owner == LimitOwner{}) return LimitText(limit);
  if (owner == kThrottleOwner) return std::string(kThrottleName);
  const std::shared_ptr<const Policy> policy = policies.FindById(owner.policy);
  return absl::StrCat("@", policy ? policy->name : "", "#", owner.position,
                      limit.shape().shadow ? ",shadow" : "");
}

}  // namespace weir
