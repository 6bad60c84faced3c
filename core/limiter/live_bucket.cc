#include "core/limiter/live_bucket.h"

#include <memory>

#include "absl/strings/str_cat.h"

#include "core/policies/policies.h"
#include "core/rules/limit_counters.h"
#include "core/words/limit_grammar.h"

namespace weir {

std::string BucketName(const Policies& policies, const Limit& limit) {
  const LimitOwner owner = limit.owner();
  if (owner == LimitOwner{}) return LimitText(limit);
  if (owner == kThrottleOwner) return std::string(kThrottleName);
  const std::shared_ptr<const Policy> policy = policies.FindById(owner.policy);
  return absl::StrCat("@", policy ? policy->name : "", "#", owner.position,
                      limit.shape().shadow ? ",shadow" : "");
}

}  // namespace weir
