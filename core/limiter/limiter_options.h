// The options of a limiter (limiter.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "core/base/instant.h"
#include "core/limiter/hold_request.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"

namespace weir {

struct LimiterOptions {
  HashSecret secret{};
  // The longest wait that may ever be reserved: how far past its capacity a stored time is
  // believed. 0 .. kMaxWaitMax.
  Nanos max_wait = std::chrono::seconds{60};
  std::size_t limits_max = kLimitsMax;  // distinct limits in use
  std::size_t holds_max = kHoldsMax;    // open holds, one for each key of a reservation
  // False if clients give the execution time, which may then go back between decisions on a key.
  // True if it comes from a clock that several threads read: a thread that is overtaken between
  // reading the clock and deciding uses the time of the latest decision about its keys.
  bool time_is_ordered = true;
  bool notes_changes = false;  // for TakeChanges
  std::size_t memory_max = 0;  // as set_memory_max
  // Returns an interned limit with its present numbers, or nothing if it is gone. Null: a limit
  // keeps the numbers that it was interned with. Called with a partition's lock held.
  std::function<std::optional<Limit>(const Limit&)> present = nullptr;
};

}  // namespace weir
