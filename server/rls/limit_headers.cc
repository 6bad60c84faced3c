#include "server/rls/limit_headers.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

#include "protocol/structured_fields.h"
#include "server/http/rate_limit_fields.h"
#include "server/http/rate_limit_numbers.h"

namespace weir {
namespace {

// Nothing if no part denies. Quota rules deny together.
std::optional<Nanos> TimeToPass(std::span<const ToldLimit> limits) {
  std::optional<Nanos> longest;
  std::map<std::size_t, std::optional<Nanos>> quotas;  // by part; nothing for one that passes
  for (const ToldLimit& told : limits) {
    std::optional<Nanos>& wait = told.is_quota ? quotas[told.part] : longest;
    if (told.is_over) wait = std::max(wait, std::optional(told.decision.retry_after));
  }
  const auto wait_of = [](const auto& quota) { return quota.second; };
  const auto soonest = std::ranges::min_element(quotas, {}, wait_of);
  return soonest == quotas.end() ? longest : std::max(longest, soonest->second);
}

}  // namespace

std::vector<AnsweredHeader> LimitHeaders(std::span<const ToldLimit> limits, bool is_over,
                                         Instant now) {
  std::string policies_text;
  std::string limits_text;
  StructuredList policies(policies_text);
  StructuredList available(limits_text);
  for (const ToldLimit& told : limits.first(std::min(limits.size(), kFieldItemsMax))) {
    const std::optional<Quota> quota = QuotaOf(*told.limit, now);
    if (!quota) continue;
    policies.String(told.name);
    policies.Parameter("q", quota->tokens);
    if (quota->window_s) policies.Parameter("w", *quota->window_s);
    if (is_over && !told.is_over) continue;
    const Available left = AvailableOf(*told.limit, told.decision, 0,
                                       told.is_over ? told.decision.retry_after : Nanos{0});
    available.String(told.name);
    available.Parameter("r", told.is_over ? 0 : left.tokens);
    if (left.within_s) available.Parameter("t", *left.within_s);
  }
  std::vector<AnsweredHeader> headers;
  if (!policies.empty()) headers.push_back({"RateLimit-Policy", policies_text});
  if (!available.empty()) headers.push_back({"RateLimit", limits_text});
  const std::optional<Nanos> wait = is_over ? TimeToPass(limits) : std::nullopt;
  if (wait && *wait != kNever) {
    headers.push_back({"Retry-After", absl::StrCat(std::max<std::int64_t>(1, CeilSeconds(*wait)))});
  }
  return headers;
}

}  // namespace weir
