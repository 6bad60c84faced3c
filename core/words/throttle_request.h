// The language of CL.THROTTLE, as redis-cell has it, for what people run today.
//
//     key max_burst count period_s [quantity]
//
// One bucket a key whatever the parameters: they are those of the request alone, and a lowered
// limit starts empty (the clamp of token_bucket.h, with no wait believed).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/rules/limit.h"

namespace weir {

struct ThrottleRequest {
  std::string_view key;  // of the command's words
  Limit limit;           // owned by kThrottleOwner
  std::int64_t quantity = 1;
};

// Reads the words after the command's name. Fails with kInvalidArgument, and names the word and
// what would be right. Requires: four or five words.
[[nodiscard]] absl::StatusOr<ThrottleRequest> ParseThrottle(
    std::span<const std::string_view> words);

}  // namespace weir
