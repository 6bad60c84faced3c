// Fields and a body of HTTP that tell a caller of its limits, as weir's own /check writes them.
//
//     RateLimit-Policy: "burst";q=40
//     RateLimit: "burst";r=0;t=1
//     Retry-After: 1
//
// The first two have the form of draft-ietf-httpapi-ratelimit-headers-11. They need a Decision with
// details: without, RateLimit says "limit" and nothing of its policy. A denial lists in RateLimit
// the limits that denied, with the seconds to wait for `t`; admissions have no `t`, and no policy a
// `w`, as a Decision does not say whether a limit is a bucket or a window. Shadow limits are never
// listed, and at most 8 limits are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/decision.h"

namespace weir {

struct Field {
  std::string name;
  std::string value;
};

// Empty if weir is unavailable. `legacy`: X-RateLimit-Limit, -Remaining and -Reset, too.
[[nodiscard]] std::vector<Field> Fields(const Decision& decision, bool legacy = false);

// The Content-Type of a ProblemBody.
inline constexpr std::string_view kProblemType = "application/problem+json";

// RFC 9457.
struct ProblemBody {
  int status = 429;
  std::string body;  // JSON, UTF-8
};

// Tells a caller that it is over its limit (429), or that weir is unavailable (503).
// Requires: !decision.allowed.
[[nodiscard]] ProblemBody Problem(const Decision& decision);

}  // namespace weir
