// The buckets of a key as bytes: in RDB files, in DUMP, and in RL.STATE for replicas and the AOF.
//
//     state  = bucket *
//     bucket = length text 12-bytes        length: u8; the bytes: high, low, extra, big-endian
//     text   = limit | "@" policy "#" position " " limit | "cl.throttle " limit
//
// A limit is its canonical text (core/words/limit_grammar.h); if it has an owner, the text of its
// identity (core/rules/limit.h), with 1 for each number that does not belong to it: "@free#0 1/s".
// A policy is written by its name, because its id is known to one process only; buckets of a
// deleted policy are left out. Buckets are sorted by their text, so that equal states are equal
// bytes on every node.
//
// Bytes come from files and from the network: reading is safe for any bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/words/policies.h"
#include "module/values/key_buckets.h"
#include "module/values/limit_texts.h"

namespace weir {

[[nodiscard]] std::string StateBytes(const KeyBuckets& buckets, LimitTexts& texts);

struct SavedBucket {
  Limit limit;
  Bucket bucket;
};
// Returns the buckets, distinct and at most kKeyBucketsMax, without those of policies and time
// zones that this node does not have. Returns nothing if the bytes are invalid.
[[nodiscard]] std::optional<std::vector<SavedBucket>> ReadStateBytes(std::string_view bytes,
                                                                     const Policies& policies);

}  // namespace weir
