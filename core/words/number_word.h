// A number among the words of a request.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace weir {

// Reads a word of digits (ParseDigits) from `min` to `max`. Fails with kInvalidArgument:
//     invalid COST 'x': value is not an integer or out of range (0 to 100)
[[nodiscard]] absl::StatusOr<std::int64_t> ReadNumber(std::string_view name, std::string_view word,
                                                      std::int64_t min, std::int64_t max);

}  // namespace weir
