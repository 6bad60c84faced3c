// A rule's answer: a decision, and the bucket after it.
//
// A rule is a pure function from (limit, bucket, now, cost) to a Step. Whether the bucket is kept
// is the caller's business: a request keeps all of its steps' buckets or none.
#pragma once

#include "core/rules/bucket.h"
#include "core/rules/decision.h"

namespace weir {

struct Step {
  Decision decision;
  Bucket bucket;  // admitted: the charged bucket. Denied: the same bucket, but for the clamp
};

}  // namespace weir
