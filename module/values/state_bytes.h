// The buckets and holds of a key as bytes: in RDB files, in DUMP, and in RL.STATE for replicas and
// the AOF.
//
//     state   = bucket *                                  version 1: a key without holds
//             | 0x00 0x02 kind count limit * hold *       version 2, of `count` limits
//     kind    = 0x00 whole | 0x01 change
//     bucket  = length text 12-bytes
//     limit   = length text flags [ 12-bytes ] [ sums ]   flags: 1 it has a bucket, 2 it has sums
//     hold    = length id size [ value ]                  id: 1 to 64 bytes
//     text    = limit | "@" policy "#" position " " limit | "cl.throttle " limit
//
//     length: u8; size: u16; count: u32; big-endian, as all numbers.
//     12-bytes, sums, value: as in a data directory (core/table/hold_bytes.h). The limits of a
//     hold's parts are numbers in the list of limits, from 0.
//
// A limit is its canonical text (core/words/limit_grammar.h); if it has an owner, the text of its
// identity (core/rules/limit.h), with 1 for each number that does not belong to it: "@free#0 1/s".
// A policy is written by its name, because its id is known to one process only. Buckets and holds
// are left out if their policy is deleted. Limits are sorted by their text and holds by their id:
// equal states are equal bytes on every node. The buckets of held limits are not written: they are
// the sums of the open holds.
//
// A change has all buckets and sums of the key, but of its holds only those that have changed; a
// hold of size 0 is gone. It is for RL.STATE alone, so that a change of a key with thousands of
// holds is not as long as all of them.
//
// Modules before holds read version 1 only. They refuse version 2, because no text is empty.
//
// Bytes come from files and from the network: reading is safe for any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/policies/policies.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/settlement.h"
#include "core/table/saved_hold.h"
#include "module/values/key_buckets.h"
#include "module/values/limit_texts.h"

namespace weir {

inline constexpr std::uint8_t kHeldStateVersion = 2;

// The whole state. Cost: its length.
[[nodiscard]] std::string StateBytes(const KeyBuckets& buckets, LimitTexts& texts);
// The state as of the last call of KeyBuckets::EndHoldChanges changed into the present one: a
// change if that is shorter, else the whole state.
[[nodiscard]] std::string ChangeBytes(KeyBuckets& buckets, LimitTexts& texts);

struct SavedState {
  struct OfLimit {
    std::optional<Limit> limit;  // nothing: of a policy or time zone that this node does not have
    std::optional<Bucket> bucket;
    std::optional<SettlementSums> sums;
  };
  struct OfHold {
    std::string id;
    std::optional<SavedHold> hold;  // its limits are indexes; nothing: it is gone
  };
  bool is_change = false;
  std::vector<OfLimit> limits;  // distinct; at most kKeyBucketsMax buckets
  std::vector<OfHold> holds;    // distinct; at most kKeyHoldsMax open ones
};
// Returns nothing if the bytes are invalid.
[[nodiscard]] std::optional<SavedState> ReadStateBytes(std::string_view bytes,
                                                       const Policies& policies);

}  // namespace weir
