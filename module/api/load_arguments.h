// The arguments after the file's name in `loadmodule weir.so ...`.
//
//     allow-explicit-time
//         clients may give the execution time with AT; for tests: no key expires
//     max-hold ms
//         the longest TTL of RL.RESERVE; by default 3600000, at most 24 hours
//     max-holds number
//         the open holds that there may be; by default 1000000
//     max-wait ms
//         the longest TIMEOUT of RL.WAIT; by default 60000
//     notify-at percents
//         the percentages of a limit at which weir:used has a message, as in 80,95,100, the default
//     notify-interval ms
//         the time between two messages on weir:denied about a key and limit; by default 60000
//     slice-life ms
//         the longest life of a slice (RL.SLICE); by default 2000, at most 60000, 0: none
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/commands/percents.h"
#include "module/api/redis_api.h"

namespace weir {

struct ModuleOptions {
  Nanos max_hold = std::chrono::hours{1};
  std::int64_t max_holds = 1'000'000;
  Nanos max_wait = std::chrono::seconds{60};
  Nanos notify_interval = std::chrono::seconds{60};
  Nanos slice_life = std::chrono::seconds{2};
  Percents notify_at = kDefaultPercents;
  bool allow_explicit_time = false;
};

// Fails with kInvalidArgument, and names the word.
[[nodiscard]] absl::StatusOr<ModuleOptions> ReadLoadArguments(std::span<redis::String*> words);

}  // namespace weir
