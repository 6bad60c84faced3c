#include "server/rls/reference_count.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_split.h"

#include "core/base/status.h"
#include "rls/reference_name.h"
#include "server/measures/limit_labels.h"

namespace weir {
namespace {

void AddHits(std::atomic<std::uint64_t>& count, std::int64_t hits) {
  if (hits > 0) count.fetch_add(static_cast<std::uint64_t>(hits), std::memory_order_relaxed);
}

bool HasBit(std::uint64_t bits, std::size_t i) { return (bits >> i & 1) != 0; }

// The name as it stands in labels.
std::string LabelsOf(std::string_view domain, std::span<const DescriptorEntry> levels) {
  const std::string name = ReferenceName(domain, levels);
  std::string labels;
  for (const absl::string_view level : absl::StrSplit(name, '.')) {
    if (!labels.empty()) labels += '.';
    labels += MetricLabel(StdView(level));
  }
  return labels;
}

// The counts of a part.
ReferenceCounts& CountsOf(const RlsRules::Set& rules, std::string_view domain,
                          const MatchedPart& part, ReferenceCounters& counters) {
  if (part.rule == nullptr) return counters.Of(LabelsOf(domain, part.entries), true);
  const bool has_values = rules.tree.HasMetricValues(*part.rule);
  std::atomic<ReferenceCounts*>& known = rules.reference[rules.tree.PlaceOf(*part.rule)];
  ReferenceCounts* counts = has_values ? nullptr : known.load(std::memory_order_relaxed);
  if (counts != nullptr) return *counts;
  counts =
      &counters.Of(LabelsOf(domain, rules.tree.MetricLevels(*part.rule, part.entries)), has_values);
  if (!has_values) known.store(counts, std::memory_order_relaxed);
  return *counts;
}

// What the descriptors of a bucket have asked for or reported.
struct BucketHits {
  std::int64_t hits = 0;
  bool are_reported = false;
};

bool IsSameBucket(const MatchedPart& a, const MatchedPart& b) {
  const auto unit_of = [](const MatchedPart& part) {
    return part.inline_limit == nullptr ? RuleUnit::kNone : part.inline_limit->unit;
  };
  return a.rule == b.rule && unit_of(a) == unit_of(b) && a.key == b.key;
}

// The hits up to which a limit counts as not near, as the reference computes them.
std::int64_t NearFrom(std::int64_t limit) {
  return static_cast<std::int64_t>(std::floor(static_cast<float>(limit) * 0.8F));
}

// The tokens that were left before a report that its limit denies.
std::int64_t LeftBefore(const CallVerdict& verdict, std::size_t check) {
  if (!HasBit(verdict.beyond, check)) return 0;
  const std::uint64_t before = verdict.beyond & ((std::uint64_t{1} << check) - 1);
  return verdict.left_of_beyond[static_cast<std::size_t>(std::popcount(before))];
}

// `first`: the first check of the part.
void CountPart(const BucketHits& asked, const CallRequest& request, const CallVerdict& verdict,
               std::size_t part, std::size_t first, ReferenceCounts& counts) {
  const PartVerdict& said = verdict.parts[part];
  const std::int64_t limit = request.checks[said.decider].limit->capacity_tokens();
  const std::int64_t near_from = NearFrom(limit);
  // Of limits that calls bring for one bucket, the one that decides may be another descriptor's.
  const std::size_t check = request.parts[part].checks == 1 ? first : said.decider;
  AddHits(counts.total_hits, asked.hits);
  if (!said.over) {
    const bool is_charged = HasBit(verdict.taken, check);
    const std::int64_t used = limit - said.decision.remaining + (is_charged ? 0 : asked.hits);
    AddHits(counts.near_limit, std::min(asked.hits, used - near_from));
    AddHits(counts.within_limit, asked.hits);
    return;
  }
  const std::int64_t left = asked.are_reported ? LeftBefore(verdict, check) : 0;
  AddHits(counts.over_limit, asked.hits - left);
  AddHits(counts.near_limit, std::min(left, limit - near_from));
}

// True if a call would be over its limits without rls-shadow.
bool IsOverBehindShadow(const MatchedCall& matched, const CallRequest& request,
                        const CallVerdict& verdict) {
  bool is_over = matched.Has(MatchedDescriptor::Answer::kDenied);
  bool has_quota = request.quota_passes;
  bool quota_passes = request.quota_passes;
  for (std::size_t part = 0; part < request.parts.size(); ++part) {
    const bool passes = !verdict.parts[part].over || matched.parts()[part].is_shadow;
    const bool is_quota = request.parts[part].quota;
    has_quota |= is_quota;
    quota_passes |= is_quota && passes;
    is_over |= !is_quota && !passes;
  }
  return is_over || (has_quota && !quota_passes);
}

}  // namespace

void CountForReference(const RlsRules::Set& rules, const RateLimitCall& call,
                       const MatchedCall& matched, const CallRequest& request,
                       const CallVerdict& verdict, bool is_shadow, ReferenceCounters& counters) {
  if (matched.domain() == nullptr) {
    return counters.CountUnknownDomain(MetricLabel(ReferenceDomain(call.domain())),
                                       call.descriptors().size());
  }
  if (is_shadow && IsOverBehindShadow(matched, request, verdict)) {
    counters.shadowed_calls.fetch_add(1, std::memory_order_relaxed);
  }
  const std::span<const MatchedPart> parts = matched.parts();
  absl::InlinedVector<bool, 4> is_counted(parts.size());
  std::size_t first = 0;
  for (std::size_t i = 0; i < parts.size(); first += request.parts[i].checks, ++i) {
    if (is_counted[i]) continue;
    BucketHits asked;
    for (std::size_t other = i; other < parts.size(); ++other) {
      if (other != i && !IsSameBucket(parts[i], parts[other])) continue;
      is_counted[other] = true;
      if (parts[other].way < Way::kAsk) continue;
      asked.hits += parts[other].hits;
      asked.are_reported |= parts[other].way == Way::kReport;
    }
    if (asked.hits == 0) continue;
    ReferenceCounts& counts = CountsOf(rules, call.domain(), parts[i], counters);
    CountPart(asked, request, verdict, i, first, counts);
    if (parts[i].is_shadow && verdict.parts[i].over) AddHits(counts.shadow_mode, asked.hits);
  }
}

}  // namespace weir
