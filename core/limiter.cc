#include "core/limiter.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/container/fixed_array.h"
#include "absl/utility/utility.h"

#include "core/check.h"
#include "core/join_decisions.h"
#include "core/rule.h"

namespace weir {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Sums and products of costs stop at 2^64-1, which is above every burst.
std::uint64_t SaturatingAdd(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}
std::uint64_t SaturatingMultiply(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

}  // namespace

// A request on its way through a decision: one seat a check.
struct Limiter::Plan {
  struct Seat {
    std::uint64_t cost = 0;  // of all checks on this bucket, at the first of them
    std::size_t first =
        0;  // the first check that names the same bucket; itself, if none before does
    bool shadow = false;
    bool has_bucket = true;
    std::optional<LimitId> id;  // unset: not interned, so there is no bucket
    Bucket* bucket = nullptr;   // null: absent
    Bucket absent;              // what an absent one is: full, but after some crashes
    Step step;

    [[nodiscard]] Bucket present() const noexcept { return bucket ? Unmarked(*bucket) : absent; }
    // True if the request, once it passes, leaves something in the bucket.
    [[nodiscard]] bool charges() const noexcept {
      return has_bucket && cost > 0 && step.decision.allowed;
    }
  };
  explicit Plan(std::size_t checks) : keys(checks), seats(checks) {}

  absl::FixedArray<KeyHash, 4> keys;
  absl::FixedArray<Seat, 4> seats;
  bool allowed = true;
};

// A request whose partitions are locked and whose buckets are found, while this lives.
struct Limiter::Hearing {
  Hearing(Limiter& limiter, std::span<const Check> request, Instant asked)
      : plan(limiter.PlanRequest(request)),
        lock(limiter.table_, plan.keys),
        now(limiter.ExecutionTime(plan, asked)) {
    limiter.FindBuckets(plan, request);
  }

  Plan plan;
  const TableLock lock;
  const Instant now;
};

Limiter::Limiter(const LimiterOptions& options)
    : hasher_(options.secret),
      max_wait_(options.max_wait),
      time_is_ordered_(options.time_is_ordered),
      notes_changes_(options.notes_changes),
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
  if (table_.partition(partition).everything_changed()) NoteEverything();
}

// Hashes the keys and finds the checks that name the same bucket. Needs no lock.
Limiter::Plan Limiter::PlanRequest(std::span<const Check> request) const {
  WEIR_DCHECK(!request.empty() && request.size() <= kChecksMax);
  Plan plan(request.size());
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Check& check = request[i];
    WEIR_DCHECK(check.cost >= 0);
    const bool same_key = i > 0 && check.key.data() == request[i - 1].key.data() &&
                          check.key.size() == request[i - 1].key.size();
    plan.keys[i] = same_key ? plan.keys[i - 1] : check.hash ? *check.hash : hasher_(check.key);
    std::size_t first = 0;
    while (first < i && !(plan.keys[first] == plan.keys[i] &&
                          request[first].limit->SharesBucketsWith(*check.limit))) {
      ++first;
    }
    plan.seats[i].first = first;
    Plan::Seat& seat = plan.seats[first];
    seat.cost = SaturatingAdd(seat.cost, static_cast<std::uint64_t>(check.cost));
    seat.shadow = check.limit->shape().shadow;
    seat.has_bucket = check.limit->has_bucket();
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

// Requires: the partitions are locked.
void Limiter::FindBuckets(Plan& plan, std::span<const Check> request) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.first != i || !seat.has_bucket) continue;
    LimitHint no_hint;
    seat.id = registry_.Find(*request[i].limit, request[i].hint ? *request[i].hint : no_hint);
    if (!seat.id) continue;
    seat.bucket = table_.partition(plan.keys[i].partition).Find({plan.keys[i].hash, *seat.id});
    if (!seat.bucket && exhausted_since_) seat.absent = AbsentBucket(*seat.id, *request[i].limit);
  }
}

// What a limit's bucket is that is not there.
Bucket Limiter::AbsentBucket(LimitId id, const Limit& limit) const {
  if (!exhausted_since_ || !registry_.IsRemembered(id)) return Bucket{};
  return ExhaustedBucket(limit, *exhausted_since_);
}

// False while a bucket that is not there means less than one that is full. Requires: an id that is
// given out, by which nothing can be taken back now.
bool Limiter::IsAbsentFull(LimitId id, Instant now) const {
  if (!exhausted_since_ || !registry_.IsRemembered(id)) return true;
  const Limit& limit = registry_.Get(id);
  return IsFull(limit, AbsentBucket(id, limit), now);
}

// Decides each bucket. Requires: the partitions are locked, FindBuckets was called.
void Limiter::DecideLocked(Plan& plan, std::span<const Check> request, Instant now,
                           Nanos patience) {
  plan.allowed = true;
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.first != i) continue;
    seat.step = DecideLimit(*request[i].limit, seat.present(), now, seat.cost, max_wait_, patience);
    plan.allowed = plan.allowed && (seat.shadow || seat.step.decision.allowed);
  }
}

// Charges every bucket whose limit admits. Whatever can fail comes before the first write.
absl::Status Limiter::Commit(Plan& plan, std::span<const Check> request, Instant now) {
  const auto is_new = [&](std::size_t i) {
    const Plan::Seat& seat = plan.seats[i];
    return !seat.bucket && seat.first == i && seat.charges();
  };
  bool any_new = false;
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (!is_new(i)) continue;
    any_new = true;
    Plan::Seat& seat = plan.seats[i];
    if (seat.id) continue;
    LimitHint no_hint;
    absl::StatusOr<LimitId> id =
        registry_.Intern(*request[i].limit, request[i].hint ? *request[i].hint : no_hint);
    if (!id.ok()) return id.status();
    seat.id = *id;
  }
  // Present buckets before new ones: those may move a map's slots, or drop some.
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (!seat.bucket) continue;
    Replace(plan.keys[i], *seat.id, *request[i].limit, *seat.bucket, seat.step.bucket);
  }
  for (std::size_t i = 0; any_new && i < request.size(); ++i) {
    if (is_new(i)) MakeRoomFor(request.size(), plan.keys[i].partition, now);
  }
  for (std::size_t i = 0; any_new && i < request.size(); ++i) {
    if (!is_new(i)) continue;
    Insert(plan.keys[i], *plan.seats[i].id, *request[i].limit, plan.seats[i].step.bucket);
  }
  return absl::OkStatus();
}

// The only write of a denial: the cut times of those limits that denied. (A window that was cut and
// would have admitted stays as it is, and is cut again when it is asked.)
void Limiter::StoreClamped(Plan& plan, std::span<const Check> request) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (!seat.bucket || seat.step.decision.allowed) continue;
    Replace(plan.keys[i], *seat.id, *request[i].limit, *seat.bucket, seat.step.bucket);
  }
}

void Limiter::RaiseLatest(const Plan& plan, Instant now) {
  if (!time_is_ordered_) return;
  for (const KeyHash& key : plan.keys) table_.partition(key.partition).RaiseLatest(now);
}

// The verdict. Where the request is denied, a limit that would have admitted shows its untouched
// bucket. Requires: `verdict` is a new one.
void Limiter::Join(const Plan& plan, std::span<const Check> request, Instant now,
                   Verdict& verdict) const {
  verdict.allowed = plan.allowed;
  verdict.decisions.resize(request.size());
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Plan::Seat& seat = plan.seats[i];
    Decision& decision = verdict.decisions[i];
    if (seat.first != i) {
      decision = verdict.decisions[seat.first];
    } else if (plan.allowed || !seat.step.decision.allowed) {
      decision = seat.step.decision;
    } else {
      decision = DecideLimit(*request[i].limit, seat.present(), now, 0, max_wait_).decision;
    }
  }
  JoinDecisions([&](std::size_t i) { return plan.seats[plan.seats[i].first].shadow; }, verdict);
  verdict.key_hash = plan.keys[verdict.limit_index].hash;
}

// What comes after DecideLocked: the verdict, and the writes.
absl::StatusOr<Verdict> Limiter::Conclude(Plan& plan, std::span<const Check> request, Instant now) {
  // Joined before the writes: a verdict needs the buckets as they were decided on.
  absl::StatusOr<Verdict> verdict(absl::in_place);
  Join(plan, request, now, *verdict);
  if (plan.allowed) {
    absl::Status committed = Commit(plan, request, now);
    if (!committed.ok()) verdict = std::move(committed);
  } else {
    StoreClamped(plan, request);
  }
  if (verdict.ok()) RaiseLatest(plan, now);
  return verdict;
}

// The usual request, one limit of one key, the same as all others are decided: for a third of what
// a plan costs.
absl::StatusOr<Verdict> Limiter::DecideOne(const Check& check, Instant now) {
  const Limit& limit = *check.limit;
  const KeyHash key = check.hash ? *check.hash : hasher_(check.key);
  const PartitionLock lock(table_, key.partition);
  Partition& partition = table_.partition(key.partition);
  now = std::max(now, partition.latest());
  LimitHint no_hint;
  LimitHint& hint = check.hint ? *check.hint : no_hint;
  std::optional<LimitId> id;
  Bucket* bucket = nullptr;
  if (limit.has_bucket()) id = registry_.Find(limit, hint);
  if (id) bucket = partition.Find({key.hash, *id});
  const Bucket present = bucket ? Unmarked(*bucket) : id ? AbsentBucket(*id, limit) : Bucket{};
  const auto cost = static_cast<std::uint64_t>(check.cost);
  const Step step = DecideLimit(limit, present, now, cost, max_wait_);
  if (bucket) {
    Replace(key, *id, limit, *bucket, step.bucket);
  } else if (step.decision.allowed && cost > 0 && limit.has_bucket()) {
    if (!id) {
      const absl::StatusOr<LimitId> interned = registry_.Intern(limit, hint);
      if (!interned.ok()) return interned.status();
      id = *interned;
    }
    MakeRoomFor(1, key.partition, now);
    Insert(key, *id, limit, step.bucket);
  }
  if (time_is_ordered_) partition.RaiseLatest(now);

  absl::StatusOr<Verdict> verdict(absl::in_place);
  verdict->allowed = step.decision.allowed || limit.shape().shadow;
  verdict->remaining = step.decision.remaining;
  if (!verdict->allowed) verdict->retry_after = step.decision.retry_after;
  verdict->reset_after = step.decision.reset_after;
  verdict->key_hash = key.hash;
  verdict->decisions.push_back(step.decision);
  return verdict;
}

absl::StatusOr<Verdict> Limiter::Decide(const Request& request, Instant now) {
  if (request.size() == 1) return DecideOne(request.front(), now);
  Hearing hearing(*this, request, now);
  Plan& plan = hearing.plan;
  now = hearing.now;
  DecideLocked(plan, request, now);
  return Conclude(plan, request, now);
}

Verdict Limiter::Peek(const Request& request, Instant now) {
  Hearing hearing(*this, request, now);
  Plan& plan = hearing.plan;
  now = hearing.now;
  DecideLocked(plan, request, now);
  Verdict verdict;
  Join(plan, request, now, verdict);
  return verdict;
}

// How many times over, `most` at most, the request would pass at once.
std::int64_t Limiter::TimesAffordable(const Plan& plan, std::span<const Check> request, Instant now,
                                      std::int64_t most) const {
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Plan::Seat& seat = plan.seats[i];
    if (seat.first != i || seat.shadow) continue;
    const Decision look =
        DecideLimit(*request[i].limit, seat.present(), now, 0, max_wait_).decision;
    if (!look.allowed) return 0;  // "none"
    if (seat.cost == 0 || !seat.has_bucket) continue;
    const std::uint64_t times = static_cast<std::uint64_t>(look.remaining) / seat.cost;
    most = std::min(most, static_cast<std::int64_t>(times));
  }
  return most;
}

absl::StatusOr<Limiter::Grant> Limiter::Take(const Request& request, std::int64_t upto,
                                             Instant now) {
  WEIR_DCHECK(upto >= 1);
  Hearing hearing(*this, request, now);
  Plan& plan = hearing.plan;
  now = hearing.now;
  const std::int64_t granted = TimesAffordable(plan, request, now, upto);
  for (Plan::Seat& seat : plan.seats) {  // With nothing to grant, once: to learn when that passes.
    seat.cost = SaturatingMultiply(seat.cost,
                                   static_cast<std::uint64_t>(std::max<std::int64_t>(granted, 1)));
  }
  DecideLocked(plan, request, now);
  WEIR_DCHECK(plan.allowed == (granted > 0));
  absl::StatusOr<Verdict> verdict = Conclude(plan, request, now);
  if (!verdict.ok()) return verdict.status();
  return Grant{granted, *std::move(verdict)};
}

Verdict Limiter::Refund(const Request& request, Instant now) {
  Hearing hearing(*this, request, now);
  Plan& plan = hearing.plan;
  now = hearing.now;
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.bucket && seat.cost > 0) {
      Replace(plan.keys[i], *seat.id, *request[i].limit, *seat.bucket,
              RefundLimit(*request[i].limit, seat.present(), now, seat.cost, max_wait_));
    }
    seat.cost = 0;
  }
  RaiseLatest(plan, now);
  DecideLocked(plan, request, now);
  plan.allowed = true;  // "none" has nothing to be given, which is no denial.
  Verdict verdict;
  Join(plan, request, now, verdict);
  verdict.retry_after = Nanos{0};
  return verdict;
}

// Decides the shadows again, whose tokens must be there when those of the others are. Returns how
// long that takes. Requires: DecideLocked has allowed the request.
Nanos Limiter::SettleShadows(Plan& plan, std::span<const Check> request, Instant now) {
  Nanos wait{0};
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Plan::Seat& seat = plan.seats[i];
    if (seat.first == i && !seat.shadow) wait = std::max(wait, seat.step.decision.retry_after);
  }
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.first != i || !seat.shadow) continue;
    seat.step = DecideLimit(*request[i].limit, seat.present(), now, seat.cost, max_wait_, wait);
    if (seat.step.decision.allowed) seat.step.decision.retry_after = Nanos{0};
  }
  return wait;
}

absl::StatusOr<Limiter::Admission> Limiter::Reserve(const Request& request, Nanos patience,
                                                    Instant now) {
  Hearing hearing(*this, request, now);
  Plan& plan = hearing.plan;
  now = hearing.now;
  DecideLocked(plan, request, now, patience);
  Reservation reservation;
  reservation.key = plan.keys.front();
  reservation.ready = now;
  if (plan.allowed) {
    reservation.ready += SettleShadows(plan, request, now);
  } else {
    DecideLocked(plan, request, now);  // A denial says what Decide would.
  }
  for (std::size_t i = 0; i < request.size(); ++i) {
    const Plan::Seat& seat = plan.seats[i];
    if (seat.first == i) {
      reservation.part_of_check.push_back(static_cast<std::uint8_t>(reservation.parts.size()));
      const Bucket before = seat.present();
      reservation.parts.push_back({*request[i].limit, before,
                                   seat.charges() ? seat.step.bucket : before, seat.cost,
                                   seat.step.decision.allowed});
    } else {
      reservation.part_of_check.push_back(reservation.part_of_check[seat.first]);
    }
  }
  absl::StatusOr<Verdict> verdict = Conclude(plan, request, now);
  if (!verdict.ok()) return verdict.status();
  Admission admission{*std::move(verdict), std::nullopt};
  if (admission.verdict.allowed && reservation.ready > now) {
    admission.reservation = std::move(reservation);
  }
  return admission;
}

}  // namespace weir
