// Decision: the answer to one call, and a row for each limit that was asked.
//
//     reason        allowed   remaining  retry_after   cause
//     kAllowed      true      set        0             ""
//     kDenied       false     set        set           ""
//     kNever        false     set        unset         ""           it costs more than a limit has
//     kUnavailable  as chosen unset      unset         "timeout"    weir gave no answer
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class Reason { kAllowed, kDenied, kNever, kUnavailable };

// "allowed", "denied", "never" or "unavailable".
[[nodiscard]] std::string_view ToString(Reason reason);

// One limit, as it is after the call.
struct LimitRow {
  std::string name;  // its label, else its text: "burst" of "10/s,name=burst". UTF-8
  bool allowed = false;
  std::int64_t count = 0;                                  // tokens of a period
  std::int64_t remaining = 0;                              // tokens
  std::optional<std::chrono::milliseconds> retry_after{};  // unset: never
  std::chrono::milliseconds reset_after{};                 // until it is full
  std::size_t group = 0;                                   // which key, from 0
  std::int64_t cost = 0;                                   // tokens
  std::int64_t keep = 0;                                   // tokens that had to be left
  bool is_shadow = false;  // denies nothing; not known of the labelled limits of a policy
};

struct Decision {
  bool allowed = false;
  std::optional<std::int64_t> remaining{};                 // tokens left, the fewest of any limit
  std::optional<std::chrono::milliseconds> retry_after{};  // unset: never, or not known
  std::optional<std::chrono::milliseconds> reset_after{};  // until all buckets are full
  std::optional<std::size_t> limit{};                      // the index of the limit that decided
  Reason reason = Reason::kAllowed;
  // Why weir is unavailable, else empty. One of: timeout connection loading readonly noreplicas
  // noack misconf oom busy masterdown clusterdown full login unblocked noprimary. It is valid
  // forever.
  std::string_view cause{};
  std::vector<LimitRow> limits{};  // with Details::kYes, or if the words have several keys
  std::int64_t granted = 0;        // tokens that were taken at once, by a Slice
  // For which these may be spent; unset: this is no answer to RL.SLICE.
  std::optional<std::chrono::microseconds> life{};

  explicit operator bool() const { return allowed; }
};

}  // namespace weir
