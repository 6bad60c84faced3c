// The language of CL.THROTTLE, the same as redis-cell's.
//
//     key max_burst count period_s [quantity]
//
// A key has one bucket, whatever the parameters, which count for one request only. A debt outlasts
// smaller parameters (rule.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/rules/limit.h"

namespace weir {

struct ThrottleRequest {
  std::string_view key;  // a view of the command's word
  Limit limit;           // owned by kThrottleOwner
  std::int64_t quantity = 1;
};

// Reads the words after the command's name. Fails with kInvalidArgument, and names the word and
// what is expected. Requires: four or five words.
[[nodiscard]] absl::StatusOr<ThrottleRequest> ParseThrottle(
    std::span<const std::string_view> words);

}  // namespace weir
