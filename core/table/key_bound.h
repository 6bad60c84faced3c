// The bound on the buckets of one key, the same in the server and in the module. Without it a
// caller could fill the table and the registry of limits through a single key.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir {

inline constexpr std::size_t kKeyBucketsMax = 1024;

// The error of a request that would exceed the bound.
[[nodiscard]] inline absl::Status TooManyBucketsOfKey() {
  return absl::OutOfRangeError(
      absl::StrCat("too many limits on one key: at most ", kKeyBucketsMax));
}

}  // namespace weir
