#include "persistence/loading.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/status.h"
#include "core/limiter/hold_request.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/rules/rule.h"
#include "core/words/limit_bytes.h"
#include "persistence/bucket_check.h"
#include "persistence/format.h"

namespace weir {
namespace {

// The reasons why a record is bad.
constexpr absl::string_view kUnreadable = "no server writes such bytes";
constexpr absl::string_view kImpossible = "its limit cannot have left it";
constexpr absl::string_view kTaken = "another record has its number or its meaning";
constexpr absl::string_view kWithoutSums = "the sums of its bucket are missing";

// The number of a sliding window wraps around (sliding_window.h), so one of 2^31 windows ago seems
// to be of this moment. Returns true if 2^30 windows have passed since `mark`. The bucket is full
// then, as no charge is later than the mark.
bool IsLongOver(const LimitShape& shape, Instant mark, Instant now) {
  constexpr std::int64_t kWindows = std::int64_t{1} << 30;
  return shape.algorithm == Algorithm::kSlidingWindow && mark > Instant{} &&
         (now - mark) / shape.period >= kWindows;
}

}  // namespace

Loading::Loading(const LoadedMeta& meta, bool accept_damage, LimiterTable& table,
                 Policies& policies, const LoadOptions& options, LoadReport& report)
    : meta_(meta),
      accept_damage_(accept_damage),
      table_(table),
      policies_(policies),
      options_(options),
      report_(report),
      next_policy_(meta.next_policy) {}

void Loading::AddPolicy(std::string_view key, std::string_view value) {
  const std::optional<Policy> policy = ReadPolicy(key, value);
  // The buckets of a damaged policy stay.
  if (const std::optional<std::uint32_t> id = ReadNumber(key.substr(1)))
    policy_ids_.insert(PolicyId{*id});
  if (!policy) return CountBadLimits(key, value);
  if (!policies_.Restore(*policy)) return CountBad(key, kTaken);
  if (policy->id >= PolicyId{next_policy_}) {
    next_policy_ = NumberOf(Next(policy->id));
    Contradict(key, kMetaNextPolicy);
  }
}

void Loading::AddOverride(std::string_view key, std::string_view value) {
  std::optional<SavedOverride> saved = ReadOverride(key, value);
  if (!saved) return CountBadLimits(key, value);
  if (!policies_.RestoreOverride(saved->policy, saved->key, std::move(saved->limits))) {
    CountBad(key, "there is no such policy, or it has an override of that key");
  }
}

void Loading::AddLimit(std::string_view key, std::string_view value) {
  const std::optional<LimitId> id = ReadLimitKey(key);
  const std::optional<Limit> limit = ReadLimitValue(value);
  if (!id || !limit) return CountBadLimits(key, value);
  const PolicyId owner = limit->owner().policy;
  const bool has_owner = owner != kNoPolicy && limit->owner() != kThrottleOwner;
  // The policy was deleted, and the server ended before it had erased the rest.
  if (has_owner && !policy_ids_.contains(owner)) {
    gone_.emplace_back(key);
    return;
  }
  if (!restore_.RestoreLimit(*id, *limit)) return CountBad(key, kTaken);
  limits_.emplace(*id, *limit);
}

void Loading::AddSums(std::string_view key, std::string_view value) {
  const std::optional<SumsKey> sums_key = ReadSumsKey(key);
  const std::optional<SettlementSums> sums = ReadSumsValue(value);
  if (!sums_key || !sums) return CountBad(key, kUnreadable);
  if (!IsPresent(key, sums_key->generation)) return;
  sums_.push_back({*sums_key, *sums});
}

void Loading::AddHold(std::string_view key, std::string_view value) {
  const std::optional<HoldKey> hold_key = ReadHoldKey(key);
  std::optional<SavedHold> hold = ReadHoldValue(value);
  if (!hold_key || !hold) return CountBad(key, kUnreadable);
  if (!IsPresent(key, hold_key->generation)) return;
  const bool has_limits = std::ranges::all_of(
      hold->parts, [&](const HoldPart& part) { return limits_.contains(part.limit); });
  if (meta_.holds_are_stale || !has_limits) {
    report_.dropped_holds.fetch_add(1, std::memory_order_relaxed);
    gone_.emplace_back(key);
    return;
  }
  const absl::string_view fault = FaultOf(*hold_key, *hold);
  if (!fault.empty()) {
    // It is erased, since the ids of its limits may come to stand for others.
    gone_.emplace_back(key);
    return CountBad(key, fault);
  }
  // A reset clock is behind that of the reservation, by any time.
  const Nanos longest = hold->settled ? kHoldMarkMax : kHoldMax;
  if (options_.drops_full) hold->expiry = std::min(hold->expiry, options_.now + longest);
  const bool is_forgotten = hold->settled && options_.drops_full && hold->expiry <= options_.now;
  if (is_forgotten ||
      !restore_.RestoreHold({hold_key->hash, hold_key->partition}, hold_key->id, *hold)) {
    gone_.emplace_back(key);
    return;
  }
  (hold->settled ? report_.marks : report_.holds).fetch_add(1, std::memory_order_relaxed);
}

// The reason why the rules cannot have left this hold; empty: they can. Requires: its limits are
// there.
absl::string_view Loading::FaultOf(const HoldKey& key, const SavedHold& hold) const {
  if (hold.settled) return {};
  for (const HoldPart& part : hold.parts) {
    const Limit& limit = limits_.at(part.limit);
    if (!CanHaveReserved(limit, part) || (hold.lapses && limit.is_held())) return kImpossible;
    const SettlementSums sums = SumsOf(key, part.limit);
    if (part.sums.given_back > sums.given_back || part.sums.cut_off > sums.cut_off) {
      return kWithoutSums;
    }
  }
  return {};
}

SettlementSums Loading::SumsOf(const HoldKey& key, LimitId limit) const {
  const auto order = [](const LoadedSums& sums) {
    return std::tuple(sums.key.partition, sums.key.hash, sums.key.limit);
  };
  const std::tuple wanted(key.partition, key.hash, limit);
  const auto found = std::ranges::lower_bound(sums_, wanted, {}, order);
  return found != sums_.end() && order(*found) == wanted ? found->sums : SettlementSums{};
}

void Loading::EndHolds() {
  WEIR_CHECK(gone_.empty());
  for (const auto& [key, sums] : sums_) {
    const bool is_of_a_hold = limits_.contains(key.limit) &&
                              restore_.RestoreSums(key.partition, {key.hash, key.limit}, sums);
    if (!is_of_a_hold) AppendSumsKey(key, gone_.emplace_back());
  }
  sums_ = {};
}

// Requires: buckets in the order of their keys.
void Loading::AddBucket(std::string_view key, std::string_view value) {
  const std::optional<BucketKey> bucket_key = ReadBucketKey(key);
  const std::optional<Bucket> bucket = ReadBucketValue(value);
  if (!bucket_key || !bucket) return CountBad(key, kUnreadable);
  if (!IsPresent(key, bucket_key->generation)) return;
  const std::optional<Instant> full = CertainlyFullAfter(*bucket_key, *bucket);
  if (full && *full > kTimeMax) return CountBad(key, kImpossible);
  const auto limit = limits_.find(bucket_key->limit);
  // If the algorithms differ, the id was given out again after this bucket was full.
  if (limit == limits_.end() || limit->second.shape().algorithm != bucket_key->algorithm) {
    return Drop(key, full);
  }
  if (!HasFormOf(limit->second, *bucket)) return CountBad(key, kUnreadable);
  const bool is_full =
      IsFull(limit->second, *bucket, options_.now) ||
      (options_.drops_full && IsLongOver(limit->second.shape(), meta_.clock_mark, options_.now));
  if (is_full && options_.drops_full) {
    report_.full.fetch_add(1, std::memory_order_relaxed);
    return Drop(key, full);
  }
  // A full one may be of a limit that had the id before.
  if (!is_full && !CanHaveLeft(limit->second, *bucket)) {
    // It is erased, since the id may come to stand for a limit that can have left it.
    gone_.emplace_back(key);
    return CountBad(key, kImpossible);
  }
  if (bucket_key->partition != partition_) FlushPartition();
  partition_ = bucket_key->partition;
  buckets_.push_back({{bucket_key->hash, bucket_key->limit}, *bucket});
}

void Loading::EndBuckets() {
  FlushPartition();
  const LimiterUpkeep upkeep(table_);
  const std::uint64_t evicted = upkeep.counts().evicted;
  WEIR_CHECK(evicted <= report_.loaded);
  report_.loaded -= evicted;  // for want of room
  restore_.ExpireRestored(options_.drops_full ? std::optional(options_.now) : std::nullopt);
  report_.expired = upkeep.counts().expired_holds;
  WEIR_CHECK(report_.expired <= report_.holds);
  report_.holds -= report_.expired;
}

void Loading::FlushPartition() {
  if (buckets_.empty()) return;
  restore_.RestorePartition(partition_, buckets_, options_.now);
  report_.loaded.fetch_add(buckets_.size(), std::memory_order_relaxed);
  buckets_.clear();
}

// The id of a limit may be given out again. By then each record of the earlier limit must be of a
// bucket that stays full under every limit, or must be erased.
void Loading::Drop(std::string_view key, std::optional<Instant> full) {
  report_.dropped.fetch_add(1, std::memory_order_relaxed);
  const bool stays_full = options_.drops_full && full && *full < options_.now;
  if (!stays_full) gone_.emplace_back(key);
}

// Returns whether a record is of the present generation. One of a later generation is erased, since
// the table may reach its generation.
bool Loading::IsPresent(std::string_view key, TableGeneration generation) {
  if (generation == meta_.generation) return true;
  gone_.emplace_back(key);
  Contradict(key, kMetaGeneration);
  return false;
}

void Loading::CountBad(std::string_view key, absl::string_view why) {
  report_.bad.fetch_add(1, std::memory_order_relaxed);
  if (report_.errors.size() >= options_.errors_max) return;
  report_.errors.push_back(absl::StrCat(RecordName(key), ": ", why));
}

// Counts a record with limits that cannot be read.
void Loading::CountBadLimits(std::string_view key, std::string_view value) {
  const std::string error = LimitErrorIn(key, value);
  CountBad(key, error.empty() ? kUnreadable : error);
}

// Counts a record that contradicts a meta record. The load continues only if damage is accepted.
void Loading::Contradict(std::string_view key, std::string_view meta_name) {
  CountBad(key, absl::StrCat("it contradicts the record '", AbslView(meta_name), "'"));
  if (!accept_damage_) contradicted_ = meta_name;
}

}  // namespace weir
