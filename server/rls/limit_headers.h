// The headers of an answer of Envoy's rate limit service in the form of docs/http.md: RateLimit,
// RateLimit-Policy and Retry-After.
//
//     RateLimit-Policy: "per_user";q=20;w=60
//     RateLimit: "per_user";r=19;t=27
//
// Pure. Cost: about 100 ns a limit.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "rls/answer.h"

namespace weir {

// A limit of a call, and what it has said.
struct ToldLimit {
  std::string_view name;
  const Limit* limit;
  Decision decision;
  bool is_over = false;
  bool is_quota = false;
  std::size_t part = 0;  // of the call, whose rule is a quota rule or not
};

// Lists the limits in this order, the first kFieldItemsMax of them. A call that is over lists in
// RateLimit only those that are over. Its Retry-After is the time after which the same call would
// pass: the longest of its limits that are over, but of quota rules, if all are over, only that
// which passes first counts.
[[nodiscard]] std::vector<AnsweredHeader> LimitHeaders(std::span<const ToldLimit> limits,
                                                       bool is_over, Instant now);

}  // namespace weir
