// Counts of a Limiter since it was made, as Limiter::counts() returns them. For metrics.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace weir {

struct Counts {
  std::int64_t asked =
      0;  // decisions asked of weir: each is allowed, denied, unavailable, a mistake
  std::int64_t allowed = 0;
  std::int64_t denied = 0;
  std::int64_t kept = 0;      // decisions that a kept denial answered, without a request
  std::int64_t mistakes = 0;  // also of words that were not sent, and throws of on_unavailable
  std::map<std::string, std::int64_t> unavailable{};  // by cause
};

}  // namespace weir
