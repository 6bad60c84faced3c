// The numbers of the HTTP fields RateLimit-Policy and RateLimit, and of Retry-After, for a limit
// and its decision.
//
//     RateLimit-Policy: "burst";q=100;w=60      quota: 100 tokens, which come back within 60 s
//     RateLimit: "burst";r=50;t=30              available: 50 tokens; they come back within 30 s
//
// The fields are those of draft-ietf-httpapi-ratelimit-headers-11, which knows windows only. A
// token bucket has no window, so its window is the time in which its burst comes back, and `t` is
// the time in which the available tokens come back: a client that spreads `r` requests over `t`
// seconds is never faster than the limit. If no token is available, `t` is the time after which the
// same request would pass, whether this one was denied or took the last token. (After an admission
// `t` includes no ban, because only a request before that time would begin one.)
//
// Two laws, which rate_limit_numbers_test.cc checks: of a limit that denied, `t` is at most the
// Retry-After of the whole verdict; of a token bucket that admitted, r / t is at most its rate.
//
// Pure and total. Cost: about 10 ns, 100 if a window is no whole number of seconds.
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"

namespace weir {

// An integer of these fields has at most 15 digits.
inline constexpr std::int64_t kFieldNumberMax = 999'999'999'999'999;

// A whole quota comes back in its window. If that is no whole number of seconds, both are
// multiplied by the smallest factor that makes it one: 100/1500ms is 200 in 3 s.
inline constexpr std::int64_t kQuotaFactorMax = 1000;

struct Quota {
  std::int64_t tokens = 0;                 // `q`
  std::optional<std::int64_t> window_s{};  // `w`, > 0; unset if there is no such factor

  friend bool operator==(const Quota&, const Quota&) = default;
};

// Nothing for a limit without numbers ("unlimited"), or with a number of more than 15 digits.
// Requires: now in [Instant{}, kInstantMax].
[[nodiscard]] std::optional<Quota> QuotaOf(const Limit& limit, Instant now) noexcept;

struct Available {
  std::int64_t tokens = 0;               // `r`: without those that the limit keeps (keep=)
  std::optional<std::int64_t> within_s;  // `t`; unset for a full bucket, and for never

  friend bool operator==(const Available&, const Available&) = default;
};

// `retry_after`: the time until this limit would admit the same request; 0 if the limit would admit
// it now, because it was a look or costs nothing. Then `t` is the time of the next token. Requires:
// the limit's decision; retry_after > 0 if it has denied.
[[nodiscard]] Available AvailableOf(const Limit& limit, const Decision& decision, std::int64_t keep,
                                    Nanos retry_after) noexcept;

// Whole seconds, rounded up. Requires: span >= 0.
[[nodiscard]] std::int64_t CeilSeconds(Nanos span) noexcept;

// Retry-After in seconds, at least 1; nothing for an admission, and for never.
[[nodiscard]] std::optional<std::int64_t> RetryAfterSeconds(const Verdict& verdict) noexcept;

}  // namespace weir
