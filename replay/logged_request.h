// A request as a log tells it: when which keys asked for how many tokens, with which command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/instant.h"
#include "core/table/key_hash.h"

namespace weir {

// The commands that change buckets. All before kRefund ask for tokens; kCharge takes them whatever
// the answer.
enum class LoggedAction : std::uint8_t {
  kAllow,  // RL.ALLOW, CL.THROTTLE, and every line of an access log or a CSV file
  kTake,
  kWait,
  kCharge,
  kRefund,
  kReset,  // RL.RESET, with or without limits, DEL, UNLINK
  kClear   // FLUSHALL, FLUSHDB
};

[[nodiscard]] constexpr bool AsksForTokens(LoggedAction action) noexcept {
  return action < LoggedAction::kRefund;
}

// A word's cost that the log does not tell.
inline constexpr std::int64_t kNoCost = -1;

struct LoggedKey {
  std::string_view key;
  std::int64_t cost = 1;
  KeyHash hash = {};  // set by TimeOrder
  // The cost= of each limit that was asked, or kNoCost; may be shorter than the list of limits.
  std::span<const std::int64_t> word_costs = {};

  // The cost of the limit in this position of the key's list.
  [[nodiscard]] std::int64_t CostOfWord(std::size_t position) const noexcept {
    if (position >= word_costs.size() || word_costs[position] == kNoCost) return cost;
    return word_costs[position];
  }
};

// A view: the reader of the log, or the queue that keeps it, says how long it is good.
struct LoggedRequest {
  Instant at{};
  LoggedAction action = LoggedAction::kAllow;
  std::int64_t number = 0;               // UPTO of kTake, TIMEOUT in ms of kWait
  std::span<const LoggedKey> keys = {};  // none in kClear, else at least one
};

}  // namespace weir
