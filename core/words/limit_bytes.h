// The bytes of a limit, with its owner: in the records of a data directory
// (docs/persistence-format.md), and in the stream to a replica.
//
//     limit = policy: u32  position: u32  word
//
// Numbers are big-endian; the word is LimitText's.
//
// LimitValue asserts that its argument is a limit that buckets can have. The functions that read
// take any bytes, and return nothing for bytes that no server has written. Pure; cost: linear.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/rules/limit.h"

namespace weir {

[[nodiscard]] std::string LimitValue(const Limit& limit);
[[nodiscard]] std::optional<Limit> ReadLimitValue(std::string_view bytes);

// The word in such bytes, which may be one that no server has written; for messages.
[[nodiscard]] std::string_view WordInLimitValue(std::string_view bytes);

}  // namespace weir
