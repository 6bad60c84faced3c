// The bytes of a bucket, of its sums (core/rules/settlement.h) and of a hold: in the records of a
// data directory (docs/persistence-format.md), and in the module's values.
//
//     bucket = high, low, extra: u32 each
//     sums   = given back, cut off: u64 each
//     hold   = flags: u8  expiry: u64 ns  order: u32  request, granted: u64  parts: u8  part *
//     part   = limit: u32  cost: u64          of a mark
//            | limit cost bucket sums [ period: u64  denominator: u32 ]
//
// Numbers are big-endian. The flags of a hold are 1 for a mark, 2 if its parts have intervals, and
// 4 if it lapses; a mark has no other.
//
// The functions that make bytes assert that their argument is one that a limiter can have; those
// that read bytes take any, and return nothing for bytes that none has written. They do not know
// the limit: whether it can have the bucket, HasFormOf says (core/rules/rule.h). Pure; cost:
// linear.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/rules/bucket.h"
#include "core/rules/settlement.h"
#include "core/table/saved_hold.h"

namespace weir {

inline constexpr std::size_t kBucketValueBytes = 12;

// Append to a buffer, which a writer of millions of records clears and reuses.
void AppendBucketValue(const Bucket& bucket, std::string& out);
void AppendSumsValue(const SettlementSums& sums, std::string& out);
void AppendHoldValue(const SavedHold& hold, std::string& out);

[[nodiscard]] std::optional<Bucket> ReadBucketValue(std::string_view bytes);
[[nodiscard]] std::optional<SettlementSums> ReadSumsValue(std::string_view bytes);
[[nodiscard]] std::optional<SavedHold> ReadHoldValue(std::string_view bytes);

}  // namespace weir
