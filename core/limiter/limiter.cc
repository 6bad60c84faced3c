#include "core/limiter/limiter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/container/fixed_array.h"
#include "absl/utility/utility.h"

#include "core/base/check.h"
#include "core/limiter/plan.h"
#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"
#include "core/table/key_bound.h"

namespace weir {
namespace {

constexpr std::size_t kFewChecks = 4;

// The keys of a request's checks, hashed: one a check.
void HashKeys(const KeyHasher& hasher, std::span<const Check> request, std::span<KeyHash> hashes) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Check& check = request[i];
    const bool same_key = i > 0 && check.key.data() == request[i - 1].key.data() &&
                          check.key.size() == request[i - 1].key.size();
    hashes[i] = same_key ? hashes[i - 1] : check.hash ? *check.hash : hasher(check.key);
  }
}

struct HashedKeys {
  HashedKeys(const KeyHasher& hasher, std::span<const Check> request) : of_check(request.size()) {
    HashKeys(hasher, request, {of_check.data(), of_check.size()});
  }

  absl::FixedArray<KeyHash, kFewChecks> of_check;
};

}  // namespace

// Where a check's bucket is.
struct Limiter::Place {
  std::optional<LimitId> id;  // unset: not interned, so there is no bucket
  Bucket* bucket = nullptr;   // null: absent
  Bucket present;             // its value without marks; Bucket{}, which is full, where absent
};

// A request whose partitions are locked and whose buckets are found, while this lives.
struct Limiter::Hearing {
  Hearing(Limiter& limiter, std::span<const Check> checks, Instant asked)
      : request(checks),
        hashed(limiter.hasher_, checks),
        keys(hashed.of_check),
        places(checks.size()),
        plan(checks, limiter.max_wait_,
             [this](std::size_t i, std::size_t j) { return keys[i] == keys[j]; }),
        lock(limiter.table_, keys),
        now(limiter.ExecutionTime(keys, asked)) {
    limiter.FindBuckets(*this);
  }

  const std::span<const Check> request;
  const HashedKeys hashed;
  const std::span<const KeyHash> keys;         // one a check
  absl::FixedArray<Place, kFewChecks> places;  // one a check
  Plan plan;
  const TableLock lock;
  const Instant now;
};

Limiter::Limiter(const LimiterOptions& options)
    : hasher_(options.secret),
      max_wait_(options.max_wait),
      time_is_ordered_(options.time_is_ordered),
      notes_changes_(options.notes_changes),
      present_(options.present),
      limits_max_(options.limits_max),
      registry_(options.limits_max) {
  WEIR_CHECK(max_wait_ >= Nanos{0} && max_wait_ <= kMaxWaitMax);
  if (notes_changes_) registry_.NoteChanges();
  set_memory_max(options.memory_max);
}

// Gives a bucket that is there another value.
void Limiter::Replace(const KeyHash& key, LimitId id, const Limit& limit, Bucket& slot,
                      Bucket value) {
  if (!notes_changes_) {
    slot = value;
    return;
  }
  Partition& partition = table_.partition(key.partition);
  partition.ReplaceNoted({key.hash, id}, limit.shape().algorithm, slot, value);
  NoteChanged(key.partition);
}

void Limiter::Insert(const KeyHash& key, LimitId id, const Limit& limit, Bucket bucket) {
  Partition& partition = table_.partition(key.partition);
  registry_.AddBucket(id);
  if (!notes_changes_) return partition.Insert({key.hash, id}, bucket);
  partition.InsertNoted({key.hash, id}, limit.shape().algorithm, bucket);
  NoteChanged(key.partition);
}

// Requires: the partition is locked.
void Limiter::NoteChanged(std::size_t partition) {
  changed_partitions_.Add(partition);
  if (table_.partition(partition).everything_changed()) {
    overflowed_partitions_.Add(partition);
  }
}

// The execution time of a request that came with `now`: no earlier than the changes that its keys
// have seen. A thread reads its clock once per batch and may be overtaken. By the sweeper: to
// decide as of before it would be to take a bucket for full that is absent because it became so
// since. By another thread: its charge would seem to lie too far ahead, and the clamp would cut it.
// Requires: the partitions are locked.
Instant Limiter::ExecutionTime(std::span<const KeyHash> keys, Instant now) {
  for (const KeyHash& key : keys) {
    now = std::max(now, table_.partition(key.partition).latest());
  }
  return now;
}

// Where the bucket of a check is, and what it says. Requires: its partition is locked. Inline, for
// a call would make a decision dearer by 4 %.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline Limiter::Place Limiter::FindPlace(const KeyHash& key,
                                                                      const Check& check) {
  Place place;
  LimitHint no_hint;
  place.id = registry_.Find(*check.limit, check.hint ? *check.hint : no_hint);
  if (!place.id) return place;
  place.bucket = table_.partition(key.partition).Find({key.hash, *place.id});
  place.present = place.bucket ? Unmarked(*place.bucket) : Bucket{};
  return place;
}

// Requires: the partitions are locked.
void Limiter::FindBuckets(Hearing& hearing) {
  for (std::size_t i = 0; i < hearing.request.size(); ++i) {
    if (!hearing.plan.AsksBucket(i)) continue;
    Place& place = hearing.places[i];
    place = FindPlace(hearing.keys[i], hearing.request[i]);
    Plan::Seat& seat = hearing.plan.seat(i);
    place.bucket ? seat.Find(place.present) : seat.Take(place.present);
  }
}

// Whether the key may have so many buckets more; nothing if that takes a count. It has no more than
// its partition, and no more than there are limits. Requires: the partition is locked, and the
// limits of the new buckets have ids.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline std::optional<bool> Limiter::KnownRoom(const KeyHash& key,
                                                                           std::size_t added,
                                                                           Instant now) {
  Partition& partition = table_.partition(key.partition);
  // The limits of the new buckets may have no ids yet.
  const std::size_t most = std::min<std::size_t>(partition.size(), registry_.used()) + added;
  if (most <= kKeyBucketsMax) return true;
  return partition.crowded_keys().HasRoom(key.hash, added, now);
}

// The same, counted where it has to be. The full buckets of the key make room, but for `asked`.
inline bool Limiter::HasRoom(const KeyHash& key, std::size_t added, Instant now,
                             std::span<const Place> asked) {
  const std::optional<bool> known = KnownRoom(key, added, now);
  return known ? *known : MakeRoomOnKey(key, added, now, asked);
}

// Counts the buckets of every key in the partition. Where this key has too many, drops its full
// ones but for those of `asked`. Cost: about 20 ns a slot.
bool Limiter::MakeRoomOnKey(const KeyHash& key, std::size_t added, Instant now,
                            std::span<const Place> asked) {
  Partition& partition = table_.partition(key.partition);
  slots_visited_ += partition.size();
  CrowdedKeys::Counts counts;
  partition.ForEach([&](const SlotKey& slot, Bucket) { ++counts[slot.key_hash()]; });
  std::size_t& own = counts[key.hash];
  Nanos until_full = Nanos::max();
  if (own + added > kKeyBucketsMax) {
    const std::size_t dropped = partition.EraseIf([&](const SlotKey& slot, Bucket bucket) {
      if (slot.key_hash() != key.hash) return false;
      const Nanos wait = TimeToFull(registry_.Get(slot.limit), bucket, now);
      const bool is_asked =
          std::ranges::find(asked, std::optional(slot.limit), &Place::id) != asked.end();
      if (wait > Nanos{0} || is_asked) {
        until_full = std::min(until_full, wait);
        return false;
      }
      ForgetFull(key.partition, slot);
      return true;
    });
    if (dropped > 0) partition.RaiseLatest(now);
    own -= dropped;
  }
  partition.crowded_keys().Count(counts);
  if (own + added <= kKeyBucketsMax) return true;
  partition.crowded_keys().NoteExact(key.hash, now + until_full);
  return false;
}

// Keeps what the plan has changed. Whatever can fail comes before the first write.
absl::Status Limiter::Keep(Hearing& hearing, Introducer introducer) {
  const std::size_t checks = hearing.request.size();
  bool any_new = false;
  for (std::size_t i = 0; i < checks; ++i) {
    if (!hearing.plan.IsNew(i)) continue;
    any_new = true;
    std::size_t added = 1;
    for (std::size_t j = 0; j < i; ++j) {
      if (hearing.plan.IsNew(j) && hearing.keys[j] == hearing.keys[i]) ++added;
    }
    if (!HasRoom(hearing.keys[i], added, hearing.now, hearing.places)) return TooManyBucketsOfKey();
  }
  // A request that is refused for its key gives no ids out.
  for (std::size_t i = 0; any_new && i < checks; ++i) {
    if (!hearing.plan.IsNew(i)) continue;
    std::optional<LimitId>& id = hearing.places[i].id;
    if (id) continue;
    const Check& check = hearing.request[i];
    LimitHint no_hint;
    const absl::StatusOr<LimitId> interned =
        registry_.Intern(*check.limit, check.hint ? *check.hint : no_hint, introducer);
    if (!interned.ok()) return interned.status();
    id = *interned;
  }
  // Present buckets before new ones: those may move a map's slots, or drop some.
  for (std::size_t i = 0; i < checks; ++i) {
    const Place& place = hearing.places[i];
    if (!place.bucket) continue;
    if (const std::optional<Bucket> bucket = hearing.plan.Change(i)) {
      Replace(hearing.keys[i], *place.id, *hearing.request[i].limit, *place.bucket, *bucket);
    }
  }
  for (std::size_t i = 0; any_new && i < checks; ++i) {
    if (hearing.plan.IsNew(i)) MakeRoomFor(checks, hearing.keys[i].partition, hearing.now);
  }
  for (std::size_t i = 0; any_new && i < checks; ++i) {
    if (!hearing.plan.IsNew(i)) continue;
    Insert(hearing.keys[i], *hearing.places[i].id, *hearing.request[i].limit,
           *hearing.plan.Change(i));
  }
  return absl::OkStatus();
}

void Limiter::RaiseLatest(std::span<const KeyHash> keys, Instant now) {
  if (!time_is_ordered_) return;
  for (const KeyHash& key : keys) table_.partition(key.partition).RaiseLatest(now);
}

void Limiter::Join(const Hearing& hearing, Verdict& verdict) const {
  hearing.plan.Join(hearing.now, verdict);
  verdict.key_hash = hearing.keys[verdict.limit_index].hash;
}

// The second half of a request, after the decision: the verdict, and the writes.
absl::StatusOr<Verdict> Limiter::Conclude(Hearing& hearing, Introducer introducer) {
  absl::StatusOr<Verdict> verdict(absl::in_place);
  Join(hearing, *verdict);
  absl::Status kept = Keep(hearing, introducer);
  if (!kept.ok()) {
    verdict = std::move(kept);
  } else {
    RaiseLatest(hearing.keys, hearing.now);
  }
  return verdict;
}

// The usual request, one limit of one key, the same as all others are decided: for a third of what
// a plan costs. Returns false, with nothing changed, where the limit has to be interned
// or the key's buckets have to be counted: that is the plan's.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline bool Limiter::DecideOne(const Check& check, Instant now,
                                                            Verdict& verdict) {
  const Limit& limit = *check.limit;
  const KeyHash key = check.hash ? *check.hash : hasher_(check.key);
  const PartitionLock lock(table_, key.partition);
  Partition& partition = table_.partition(key.partition);
  now = std::max(now, partition.latest());
  Place place;
  if (limit.has_bucket()) place = FindPlace(key, check);
  const auto cost = static_cast<std::uint64_t>(check.cost);
  const Step step = DecideLimit(limit, place.present, now, cost, max_wait_);
  if (place.bucket) {
    Replace(key, *place.id, limit, *place.bucket, step.bucket);
  } else if (step.decision.allowed && cost > 0 && limit.has_bucket()) {
    if (!place.id || !KnownRoom(key, 1, now).value_or(false)) return false;
    MakeRoomFor(1, key.partition, now);
    Insert(key, *place.id, limit, step.bucket);
  }
  if (time_is_ordered_) partition.RaiseLatest(now);

  verdict.allowed = step.decision.allowed || limit.shape().shadow;
  verdict.remaining = step.decision.remaining;
  if (!verdict.allowed) verdict.retry_after = step.decision.retry_after;
  verdict.reset_after = step.decision.reset_after;
  verdict.key_hash = key.hash;
  verdict.decisions.push_back(step.decision);
  return true;
}

// Some limits of the usual kind: each interned, none on trial, each with a bucket of its own. The
// same as all others are decided, for half of what a plan costs. Returns false, with nothing
// changed, where one is of another kind.
bool Limiter::DecideFew(std::span<const Check> request, Instant now, Verdict& verdict) {
  if (request.size() > kFewChecks) return false;
  std::array<KeyHash, kFewChecks> hashes{};
  const std::span<KeyHash> keys = std::span(hashes).first(request.size());
  HashKeys(hasher_, request, keys);
  const std::uint16_t partition = hashes[0].partition;
  const bool is_one_partition = std::ranges::all_of(
      keys, [partition](const KeyHash& key) { return key.partition == partition; });
  if (is_one_partition) {
    const PartitionLock lock(table_, partition);
    return DecideFewLocked(request, keys, now, verdict);
  }
  const TableLock lock(table_, keys);
  return DecideFewLocked(request, keys, now, verdict);
}

bool Limiter::DecideFewLocked(std::span<const Check> request, std::span<const KeyHash> keys,
                              Instant now, Verdict& verdict) {
  std::array<Place, kFewChecks> places;
  std::array<Bucket, kFewChecks> after;
  verdict.decisions.resize(request.size());
  const std::span<Decision> decisions(verdict.decisions);
  verdict.allowed = true;
  bool any_new = false;
  now = ExecutionTime(keys, now);
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Check& check = request[i];
    const Limit& limit = *check.limit;
    if (limit.shape().shadow || !limit.has_bucket()) return false;
    places[i] = FindPlace(keys[i], check);
    if (!places[i].id) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (places[j].id == places[i].id && keys[j] == keys[i]) return false;
    }
    const Step step = DecideLimit(limit, places[i].present, now,
                                  static_cast<std::uint64_t>(check.cost), max_wait_);
    after[i] = step.bucket;
    decisions[i] = step.decision;
    verdict.allowed = verdict.allowed && step.decision.allowed;
    any_new = any_new || (!places[i].bucket && check.cost > 0);
  }
  any_new = any_new && verdict.allowed;

  const auto is_new = [&](std::size_t i) {
    return verdict.allowed && !places[i].bucket && request[i].cost > 0;
  };
  for (std::size_t i = 0; any_new && i < request.size(); ++i) {
    // A count of the key's buckets is the plan's.
    if (is_new(i) && !KnownRoom(keys[i], request.size(), now).value_or(false)) return false;
  }
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Place& place = places[i];
    const Limit& limit = *request[i].limit;
    if (decisions[i].allowed && !verdict.allowed) {
      decisions[i] = DecideLimit(limit, place.present, now, 0, max_wait_).decision;
    } else if (place.bucket && after[i] != place.present) {
      Replace(keys[i], *place.id, limit, *place.bucket, after[i]);
    }
  }
  // Behind those that are there: it moves a map's slots, or drops some.
  for (std::size_t i = 0; any_new && i < request.size(); ++i) {
    if (is_new(i)) MakeRoomFor(request.size(), keys[i].partition, now);
  }
  for (std::size_t i = 0; any_new && i < request.size(); ++i) {
    if (is_new(i)) Insert(keys[i], *places[i].id, *request[i].limit, after[i]);
  }
  RaiseLatest(keys, now);
  JoinDecisions([](std::size_t) { return false; }, verdict);
  verdict.key_hash = keys[verdict.limit_index].hash;
  return true;
}

// Returns what attempt() returns. Where that is refused for a new limit, takes ids of idle limits
// back and tries again, until none are left: an attempt leaves fewer idle ones than are taken back
// at once. Not inside an Isolation, whose locks are in the way.
template <typename Result, typename Try>
absl::StatusOr<Result> Limiter::WithRoomForLimits(Try attempt) {
  absl::StatusOr<Result> result = attempt();
  const auto is_refused = [&] {
    return absl::IsResourceExhausted(result.status()) && !TableHold::IsHeldByThisThread(table_);
  };
  for (std::size_t taken = kReclaimsAtOnce; taken == kReclaimsAtOnce && is_refused();) {
    taken = ReclaimLimits(1, kReclaimsAtOnce);
    if (taken > 0) result = attempt();
  }
  return result;
}

absl::StatusOr<Verdict> Limiter::DecidePlanned(const Request& request, Instant now,
                                               Introducer introducer) {
  return WithRoomForLimits<Verdict>([&] {
    Hearing hearing(*this, request, now);
    hearing.plan.Decide(hearing.now);
    return Conclude(hearing, introducer);
  });
}

// All ways return one variable, so that the verdict is made in its place.
absl::StatusOr<Verdict> Limiter::Decide(const Request& request, Instant now,
                                        Introducer introducer) {
  absl::StatusOr<Verdict> verdict(absl::in_place);
  const bool is_decided = request.size() == 1 ? DecideOne(request.front(), now, *verdict)
                                              : DecideFew(request, now, *verdict);
  if (!is_decided) verdict = DecidePlanned(request, now, introducer);
  return verdict;
}

Verdict Limiter::Peek(const Request& request, Instant now) {
  Hearing hearing(*this, request, now);
  hearing.plan.Decide(hearing.now);
  Verdict verdict;
  Join(hearing, verdict);
  return verdict;
}

absl::StatusOr<Limiter::Grant> Limiter::Take(const Request& request, std::int64_t upto, Instant now,
                                             Introducer introducer) {
  return WithRoomForLimits<Grant>([&]() -> absl::StatusOr<Grant> {
    Hearing hearing(*this, request, now);
    const std::int64_t granted = hearing.plan.DecideUpTo(upto, hearing.now);
    absl::StatusOr<Verdict> verdict = Conclude(hearing, introducer);
    if (!verdict.ok()) return verdict.status();
    return Grant{granted, *std::move(verdict)};
  });
}

Verdict Limiter::Refund(const Request& request, Instant now) {
  Hearing hearing(*this, request, now);
  Verdict verdict = hearing.plan.Refund(hearing.now);
  verdict.key_hash = hearing.keys[verdict.limit_index].hash;
  const absl::Status kept = Keep(hearing, kNoIntroducer);
  WEIR_CHECK(kept.ok());  // There are no new buckets in it.
  RaiseLatest(hearing.keys, hearing.now);
  return verdict;
}

absl::StatusOr<Limiter::Admission> Limiter::Reserve(const Request& request, Nanos patience,
                                                    Instant now, Introducer introducer) {
  return WithRoomForLimits<Admission>([&]() -> absl::StatusOr<Admission> {
    Hearing hearing(*this, request, now);
    Reservation reservation = hearing.plan.Reserve(hearing.now, patience);
    reservation.key = hearing.keys.front();
    absl::StatusOr<Verdict> verdict = Conclude(hearing, introducer);
    if (!verdict.ok()) return verdict.status();
    Admission admission{*std::move(verdict), std::nullopt};
    if (admission.verdict.allowed && reservation.ready > hearing.now) {
      admission.reservation = std::move(reservation);
    }
    return admission;
  });
}

}  // namespace weir
