// A rule's answer: a decision, and the bucket after it.
//
// A rule is a pure function from (limit, bucket, now, cost) to a Step. The caller decides whether
// to keep the bucket: a request keeps all of its steps' buckets or none.
#pragma once

#include "core/rules/bucket.h"
#include "core/rules/decision.h"

namespace weir {

struct Step {
  Decision decision;
  Bucket bucket;  // admitted: the charged bucket; denied: unchanged, except for the clamp
};

}  // namespace weir
