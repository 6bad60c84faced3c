// The answer to a call of Envoy's rate limit service: a status of each descriptor, and its message.
//
//     RateLimitAnswer answer;
//     answer.statuses.push_back({.limit = ShownLimit(limit, rule), .remaining = 4, ...});
//     const std::string message = MessageOf(answer);
//
// Pure. Cost: O(statuses).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "rls/call.h"
#include "rls/rule.h"

namespace weir {

// The tokens that are left of what has no bound, and the most that an answer tells.
inline constexpr std::uint32_t kRemainingMax = UINT32_MAX;

// A limit as a client sees it: so many requests in `unit_multiplier` units.
struct AnsweredLimit {
  std::uint32_t requests_per_unit = 0;
  RuleUnit unit = RuleUnit::kNone;  // kNone: the period is no whole number of a unit
  std::uint32_t unit_multiplier = 1;
  std::string_view name = {};  // of the rule's limit; may be empty

  friend bool operator==(const AnsweredLimit&, const AnsweredLimit&) = default;
};

struct DescriptorStatus {
  bool is_over = false;
  std::optional<AnsweredLimit> limit = {};  // none: no limit has decided
  std::uint32_t remaining = 0;
  std::uint32_t reset_seconds = 0;  // shown only with a limit
  // The time after which a limit that is over admits the same hits; kNever if no time does. The
  // message RateLimitResponse does not have it.
  std::optional<Nanos> retry_after = {};
  bool is_quota = false;  // the rule is a quota rule; not in the message either

  friend bool operator==(const DescriptorStatus&, const DescriptorStatus&) = default;
};

// A field of HTTP that Envoy adds to the response to its client.
struct AnsweredHeader {
  std::string name;
  std::string value;

  friend bool operator==(const AnsweredHeader&, const AnsweredHeader&) = default;
};

// The names of limits are viewed, not owned.
struct RateLimitAnswer {
  bool is_over = false;
  std::vector<DescriptorStatus> statuses = {};  // one for each descriptor, in their order
  std::vector<AnsweredHeader> headers = {};
  Metadata::Map metadata = {};  // in UTF-8; empty: none is sent
};

// The numbers of a limit. The unit is the largest one of which the period is a multiple.
[[nodiscard]] AnsweredLimit ShownLimit(const Limit& limit);
// Those of a rule as they are written. Requires: it has a unit.
[[nodiscard]] AnsweredLimit ShownLimit(const RuleLimit& rule);
// Those of a limit that stands in a call.
[[nodiscard]] AnsweredLimit ShownLimit(const CallLimit& inline_limit);

// The status of a descriptor whose limit has said `decision` at `now`, with the reset_after of
// CallVerdict::decisions. The reset of a fixed window is its end, that of a limit of 0 the end of
// the window of its unit. That of another limit is the time until it is full; if it is over, until
// the same would pass.
[[nodiscard]] DescriptorStatus StatusOf(const Limit& limit, const AnsweredLimit& shown,
                                        const Decision& decision, bool is_over, Instant now);

// The place of the status whose numbers the headers of an answer have: the last one that is over,
// but for quota rules; else the first of those with the fewest remaining. Nothing if none has a
// limit.
[[nodiscard]] std::optional<std::size_t> StatusOfHeaders(const RateLimitAnswer& answer);

// The headers of envoyproxy/ratelimit: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset.
// Requires: a status with a limit.
[[nodiscard]] std::vector<AnsweredHeader> ReferenceHeaders(const DescriptorStatus& status);

// The bytes of the message RateLimitResponse.
[[nodiscard]] std::string MessageOf(const RateLimitAnswer& answer);

}  // namespace weir
