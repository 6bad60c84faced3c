// The metadata of an answer (dynamic_metadata), which Envoy hands to the filters behind it and to
// its access log.
//
//     domain: shop
//     descriptors:
//     - {entries: [user=7], code: OVER_LIMIT, limitName: per_user, retryAfterMs: 27000}
//     metadata: {tier: free}
//
// A descriptor has `limit` and `hitsAddend` if the call states them, and the last two fields if
// they have a value; retryAfterMs is -1 for never. `metadata` is that of the rules that decide or
// exempt the descriptors with the code OK, merged in their order: maps deeply, else the first value
// wins.
//
// Pure. Cost: O(bytes of the call and of the metadata).
#pragma once

#include "rls/answer.h"
#include "rls/call.h"
#include "rls/matched_call.h"
#include "rls/rule.h"

namespace weir {

// Requires: the answer to the call. Bytes of the call that are no UTF-8 become U+FFFD: a reader of
// protobuf would refuse the answer.
[[nodiscard]] Metadata::Map MetadataOf(const RateLimitCall& call, const MatchedCall& matched,
                                       const RateLimitAnswer& answer);

}  // namespace weir
