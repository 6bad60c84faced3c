#include "core/limiter.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/check.h"
#include "core/token_bucket.h"

namespace weir {
namespace {

// Sums of costs stop at 2^64-1, which is above every burst.
std::uint64_t SaturatingAdd(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

}  // namespace

// A request on its way through a decision: one seat a check.
struct Limiter::Plan {
  struct Seat {
    std::uint64_t cost = 0;  // of all checks on this bucket, at the first of them
    std::size_t first =
        0;  // the first check that names the same bucket; itself, if none before does
    std::optional<LimitId> id;  // unset: not interned, so there is no bucket
    Bucket* bucket = nullptr;   // null: absent, so full
    Step step;
  };
  absl::InlinedVector<KeyHash, 4> keys;
  absl::InlinedVector<Seat, 4> seats;
  bool allowed = true;
};

Limiter::Limiter(const LimiterOptions& options)
    : hasher_(options.secret),
      max_wait_(options.max_wait),
      time_is_ordered_(options.time_is_ordered),
      registry_(options.limits_max) {
  WEIR_CHECK(max_wait_ >= Nanos{0} && max_wait_ <= kMaxWaitMax);
}

// Hashes the keys and finds the checks that name the same bucket. Needs no lock.
Limiter::Plan Limiter::PlanRequest(const Request& request) const {
  WEIR_DCHECK(!request.empty() && request.size() <= kChecksMax);
  Plan plan;
  plan.keys.resize(request.size());
  plan.seats.resize(request.size());
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Check& check = request[i];
    WEIR_DCHECK(check.cost >= 0);
    const bool same_key = i > 0 && check.key.data() == request[i - 1].key.data() &&
                          check.key.size() == request[i - 1].key.size();
    plan.keys[i] = same_key ? plan.keys[i - 1] : hasher_(check.key);
    std::size_t first = 0;
    while (first < i &&
           !(plan.keys[first] == plan.keys[i] && *request[first].limit == *check.limit)) {
      ++first;
    }
    plan.seats[i].first = first;
    Plan::Seat& seat = plan.seats[first];
    seat.cost = SaturatingAdd(seat.cost, static_cast<std::uint64_t>(check.cost));
  }
  return plan;
}

// The execution time of a request that came with `now`: no earlier than the changes that its keys
// have seen. A thread reads its clock once per batch and may be overtaken. By the sweeper: to
// decide as of before it would be to take a bucket for full that is absent because it became so
// since. By another thread: its charge would seem to lie too far ahead, and the clamp would cut it.
// Requires: the partitions are locked.
Instant Limiter::ExecutionTime(const Plan& plan, Instant now) {
  for (const KeyHash& key : plan.keys) {
    now = std::max(now, table_.partition(key.partition).latest());
  }
  return now;
}

// Finds the buckets and decides each. Requires: the partitions are locked.
void Limiter::DecideLocked(Plan& plan, const Request& request, Instant now) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.first != i) continue;
    LimitHint no_hint;
    seat.id = registry_.Find(*request[i].limit, request[i].hint ? *request[i].hint : no_hint);
    if (seat.id) {
      seat.bucket = table_.partition(plan.keys[i].partition).Find({plan.keys[i].hash, *seat.id});
    }
    seat.step = DecideTokenBucket(*request[i].limit, seat.bucket ? *seat.bucket : Bucket{}, now,
                                  seat.cost, max_wait_);
    plan.allowed = plan.allowed && seat.step.decision.allowed;
  }
}

// Charges every bucket. Whatever can fail comes before the first write.
absl::Status Limiter::Commit(Plan& plan, const Request& request) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.first != i || seat.cost == 0 || seat.id) continue;
    LimitHint no_hint;
    absl::StatusOr<LimitId> id =
        registry_.Intern(*request[i].limit, request[i].hint ? *request[i].hint : no_hint);
    if (!id.ok()) return id.status();
    seat.id = *id;
  }
  // Present buckets before new ones: an insert may move a map's slots.
  for (Plan::Seat& seat : plan.seats) {
    if (seat.bucket) *seat.bucket = seat.step.bucket;
  }
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Plan::Seat& seat = plan.seats[i];
    if (seat.first != i || seat.cost == 0 || seat.bucket) continue;
    table_.partition(plan.keys[i].partition)
        .Insert({plan.keys[i].hash, *seat.id}, seat.step.bucket);
    registry_.AddBucket(*seat.id);
  }
  return absl::OkStatus();
}

// The only write of a denial. A limit whose bucket was clamped cannot have admitted a cost, so what
// the others would have become is not in question.
void Limiter::StoreClamped(Plan& plan) {
  for (Plan::Seat& seat : plan.seats) {
    if (seat.bucket && !seat.step.decision.allowed) *seat.bucket = seat.step.bucket;
  }
}

void Limiter::NoteChange(const Plan& plan, Instant now) {
  if (!time_is_ordered_) return;
  for (const KeyHash& key : plan.keys) table_.partition(key.partition).RaiseLatest(now);
}

// Joins the decisions. Where the request is denied, a limit that would have admitted shows its
// untouched bucket.
Verdict Limiter::Join(const Plan& plan, const Request& request, Instant now) const {
  Verdict verdict;
  verdict.allowed = plan.allowed;
  verdict.decisions.reserve(request.size());
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Plan::Seat& seat = plan.seats[i];
    Decision decision;
    if (seat.first != i) {
      decision = verdict.decisions[seat.first];
    } else if (plan.allowed || !seat.step.decision.allowed) {
      decision = seat.step.decision;
    } else {
      decision = DecideTokenBucket(*request[i].limit, seat.bucket ? *seat.bucket : Bucket{}, now, 0,
                                   max_wait_)
                     .decision;
    }
    verdict.decisions.push_back(decision);
    const bool decides = plan.allowed ? decision.remaining < verdict.remaining
                                      : decision.retry_after > verdict.retry_after;
    if (i == 0 || decides) verdict.limit_index = i;
    verdict.remaining =
        i == 0 ? decision.remaining : std::min(verdict.remaining, decision.remaining);
    verdict.retry_after = std::max(verdict.retry_after, decision.retry_after);
    verdict.reset_after = std::max(verdict.reset_after, decision.reset_after);
  }
  return verdict;
}

absl::StatusOr<Verdict> Limiter::Decide(const Request& request, Instant now) {
  Plan plan = PlanRequest(request);
  TableLock lock(table_, plan.keys);
  now = ExecutionTime(plan, now);
  DecideLocked(plan, request, now);
  // Joined before the writes: a verdict needs the buckets as they were decided on.
  Verdict verdict = Join(plan, request, now);
  if (plan.allowed) {
    absl::Status committed = Commit(plan, request);
    if (!committed.ok()) return committed;
  } else {
    StoreClamped(plan);
  }
  NoteChange(plan, now);
  return verdict;
}

Verdict Limiter::Peek(const Request& request, Instant now) {
  Plan plan = PlanRequest(request);
  TableLock lock(table_, plan.keys);
  now = ExecutionTime(plan, now);
  DecideLocked(plan, request, now);
  return Join(plan, request, now);
}

std::size_t Limiter::Reset(std::string_view key, std::span<const Limit> limits, Instant now) {
  const KeyHash hash = hasher_(key);
  TableLock lock(table_, hash.partition);
  absl::InlinedVector<LimitId, 4> ids;
  for (const Limit& limit : limits) {
    LimitHint no_hint;
    if (const std::optional<LimitId> id = registry_.Find(limit, no_hint)) ids.push_back(*id);
  }
  std::size_t live = 0;
  const auto forget = [&](const SlotKey& slot, Bucket bucket) {
    const bool named = limits.empty() || std::ranges::find(ids, slot.limit) != ids.end();
    if (slot.key_hash() != hash.hash || !named) return false;
    if (!IsTokenBucketFull(bucket, now)) ++live;
    registry_.RemoveBucket(slot.limit);
    return true;
  };
  table_.partition(hash.partition).EraseIf(std::numeric_limits<std::size_t>::max(), forget);
  return live;
}

std::vector<Limiter::LiveBucket> Limiter::Inspect(std::string_view key, Instant now) {
  const KeyHash hash = hasher_(key);
  TableLock lock(table_, hash.partition);
  std::vector<std::pair<LimitId, Bucket>> live;
  table_.partition(hash.partition).ForEach([&](const SlotKey& slot, Bucket bucket) {
    if (slot.key_hash() != hash.hash || IsTokenBucketFull(bucket, now)) return;
    live.emplace_back(slot.limit, bucket);
  });
  std::ranges::sort(live, {}, &std::pair<LimitId, Bucket>::first);
  std::vector<LiveBucket> buckets;
  buckets.reserve(live.size());
  for (const auto& [id, bucket] : live) {
    const Limit& limit = registry_.Get(id);
    const Decision look = DecideTokenBucket(limit, bucket, now, 0, max_wait_).decision;
    buckets.push_back({limit, look.remaining, look.reset_after});
  }
  return buckets;
}

Nanos Limiter::ResetAfter(std::string_view key, Instant now) {
  Nanos longest{0};
  for (const LiveBucket& bucket : Inspect(key, now)) {
    longest = std::max(longest, bucket.reset_after);
  }
  return longest;
}

void Limiter::Clear() {
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    TableLock lock(table_, i);
    table_.partition(i).EraseIf(std::numeric_limits<std::size_t>::max(),
                                [&](const SlotKey& slot, Bucket) {
                                  registry_.RemoveBucket(slot.limit);
                                  return true;
                                });
    table_.partition(i).Shrink();
  }
}

std::size_t Limiter::Sweep(std::size_t partition, Instant now, std::size_t drop_max) {
  TableLock lock(table_, partition);
  Partition& swept = table_.partition(partition);
  const std::size_t dropped = swept.EraseIf(drop_max, [&](const SlotKey& slot, Bucket bucket) {
    if (!IsTokenBucketFull(bucket, now)) return false;
    registry_.RemoveBucket(slot.limit);
    return true;
  });
  if (dropped > 0) swept.RaiseLatest(now);
  if (dropped < drop_max) swept.Shrink();
  return dropped;
}

std::size_t Limiter::ReclaimLimits(std::size_t ids_min, std::size_t ids_max) {
  const std::vector<LimitId> idle = registry_.Idle(ids_max);
  if (idle.empty() || idle.size() < ids_min) return 0;
  const TableLock world = TableLock::All(table_);
  return registry_.Reclaim(idle);
}

Limiter::Size Limiter::size() {
  constexpr std::size_t kSlotBytes = sizeof(SlotKey) + sizeof(Bucket) + 1;  // and its control byte
  Size size;
  size.limits = registry_.size();
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    TableLock lock(table_, i);
    size.buckets += table_.partition(i).size();
    size.table_bytes += table_.partition(i).capacity() * kSlotBytes;
  }
  return size;
}

std::size_t Limiter::CountLive(Instant now) {
  std::size_t live = 0;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    TableLock lock(table_, i);
    table_.partition(i).ForEach([&](const SlotKey&, Bucket bucket) {
      if (!IsTokenBucketFull(bucket, now)) ++live;
    });
  }
  return live;
}

}  // namespace weir
