#include "server/http/rate_limit_fields.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "protocol/structured_fields.h"
#include "server/http/rate_limit_numbers.h"

namespace weir {
namespace {

static_assert(kFieldNumberMax == kStructuredIntegerMax);

// The number of bytes of a key's hash in `pk`.
constexpr std::size_t kPartitionKeyBytes = 12;

void AppendPartitionKey(std::string_view key, const KeyHasher& hasher, StructuredList& list) {
  const KeyHasher::Fingerprint hash = hasher.FingerprintOf(key);
  list.BytesParameter("pk", {reinterpret_cast<const char*>(hash.data()), kPartitionKeyBytes});
}

}  // namespace

RateLimitFields::RateLimitFields(const ParsedRequest& request, const Verdict& verdict, Instant now,
                                 const FieldChoice& choice)
    : request_(request), verdict_(verdict), now_(now), choice_(choice) {
  WEIR_CHECK(verdict.decisions.size() == request.checks.size());
  List(verdict.limit_index, now);
  // Of alternatives, the one that was charged or, if all deny, that passes soonest.
  const auto [begin, end] = request.checks.AlternativeWith(verdict.limit_index);
  for (std::size_t i = begin; i < end && listed_.size() < kFieldItemsMax; ++i) {
    if (i != verdict.limit_index) List(i, now);
  }
}

// Lists a check, unless it is not shown, its bucket is listed already, or it has no numbers.
void RateLimitFields::List(std::size_t check, Instant now) {
  if (!IsShown(check) || IsListed(check)) return;
  if (const auto quota = QuotaOf(*request_.checks[check].limit, now)) {
    listed_.push_back({check, *quota});
  }
}

bool RateLimitFields::IsShown(std::size_t check) const {
  if (request_.checks[check].limit->shape().shadow) return false;
  switch (choice_.show) {
    case ShownLimits::kNamed:
      return request_.limits[check]->is_named;
    case ShownLimits::kAll:
      return true;
    case ShownLimits::kDecisive:
      return check == verdict_.limit_index;
    case ShownLimits::kNone:
      break;
  }
  return false;
}

// True if the bucket of the check is listed.
bool RateLimitFields::IsListed(std::size_t check) const {
  if ((verdict_.repeated >> check & 1) == 0) return false;
  const Check& asked = request_.checks[check];
  return std::ranges::any_of(listed_, [&](const Item& item) {
    const Check& listed = request_.checks[item.check];
    return listed.key == asked.key && listed.limit->SharesBucketsWith(*asked.limit);
  });
}

bool RateLimitFields::HasDenied(std::size_t check) const {
  return !verdict_.allowed && !verdict_.decisions[check].allowed;
}

// True for an admission that left nothing in the bucket.
bool RateLimitFields::TookTheLast(std::size_t check) const {
  return verdict_.allowed && verdict_.decisions[check].remaining <= request_.checks[check].keep;
}

void RateLimitFields::Write(Limiter& limiter, HttpWriter& writer) const {
  if (choice_.rate_limit) WriteLists(limiter, writer);
  if (choice_.x_rate_limit && !listed_.empty()) WriteNumbers(writer);
  if (!choice_.retry_after) return;
  if (const auto seconds = RetryAfterSeconds(verdict_)) writer.Field("Retry-After", *seconds);
}

void RateLimitFields::WriteLists(Limiter& limiter, HttpWriter& writer) const {
  const KeyHasher& hasher = limiter.hasher();
  const bool is_empty =
      std::ranges::any_of(listed_, [&](const Item& item) { return TookTheLast(item.check); });
  // The verdict on the same request, right after it was admitted.
  const Verdict retry = is_empty ? limiter.Peek(request_.checks, now_) : Verdict();
  std::string policies_text;
  std::string limits_text;
  StructuredList policies(policies_text);
  StructuredList limits(limits_text);
  for (const auto& [i, quota] : listed_) {
    const Check& check = request_.checks[i];
    const std::string& name = request_.limits[i]->name;
    policies.String(name);
    policies.Parameter("q", quota.tokens);
    if (quota.window_s) policies.Parameter("w", *quota.window_s);
    if (choice_.partition_key) AppendPartitionKey(check.key, hasher, policies);
    if (!verdict_.allowed && !HasDenied(i)) continue;
    const Verdict& told = is_empty ? retry : verdict_;
    const bool must_wait = HasDenied(i) || TookTheLast(i);
    const Available available = AvailableOf(*check.limit, verdict_.decisions[i], check.keep,
                                            must_wait ? told.decisions[i].retry_after : Nanos{0});
    limits.String(name);
    limits.Parameter("r", available.tokens);
    if (available.within_s) limits.Parameter("t", *available.within_s);
    if (choice_.partition_key) AppendPartitionKey(check.key, hasher, limits);
  }
  if (!policies.empty()) writer.Field("RateLimit-Policy", policies_text);
  if (!limits.empty()) writer.Field("RateLimit", limits_text);
}

void RateLimitFields::WriteNumbers(HttpWriter& writer) const {
  const std::size_t first = listed_.front().check;
  const Check& check = request_.checks[first];
  const Decision& decision = verdict_.decisions[first];
  writer.Field("X-RateLimit-Limit", check.limit->capacity_tokens());
  writer.Field("X-RateLimit-Remaining",
               AvailableOf(*check.limit, decision, check.keep, Nanos{0}).tokens);
  writer.Field("X-RateLimit-Reset", CeilSeconds(decision.reset_after));
}

std::string_view RateLimitFields::decisive() const {
  if (!IsShown(verdict_.limit_index)) return {};
  return request_.limits[verdict_.limit_index]->name;
}

std::vector<std::string_view> RateLimitFields::violated() const {
  std::vector<std::string_view> names;
  for (const Item& item : listed_) {
    if (HasDenied(item.check)) names.emplace_back(request_.limits[item.check]->name);
  }
  return names;
}

}  // namespace weir
