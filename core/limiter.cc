#include "core/limiter.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/check.h"
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

// Joins the decisions that count: those of shadow limits only where there are no others. Requires:
// verdict.decisions is complete, verdict.allowed is set.
void JoinDecisions(absl::FunctionRef<bool(std::size_t)> is_shadow, Verdict& verdict) {
  const std::size_t count = verdict.decisions.size();
  bool all_shadow = true;
  for (std::size_t i = 0; i < count; ++i) all_shadow = all_shadow && is_shadow(i);
  bool first = true;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_shadow(i) && !all_shadow) continue;
    const Decision& decision = verdict.decisions[i];
    const bool decides = verdict.allowed ? decision.remaining < verdict.remaining
                                         : decision.retry_after > verdict.retry_after;
    if (first || decides) verdict.limit_index = i;
    verdict.remaining =
        first ? decision.remaining : std::min(verdict.remaining, decision.remaining);
    if (!all_shadow) verdict.retry_after = std::max(verdict.retry_after, decision.retry_after);
    verdict.reset_after = std::max(verdict.reset_after, decision.reset_after);
    first = false;
  }
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
  absl::InlinedVector<KeyHash, 4> keys;
  absl::InlinedVector<Seat, 4> seats;
  bool allowed = true;
};

// A request whose partitions are locked and whose buckets are found, while this lives.
struct Limiter::Hearing {
  Hearing(Limiter& limiter, const Request& request, Instant asked)
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
void Limiter::FindBuckets(Plan& plan, const Request& request) {
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
void Limiter::DecideLocked(Plan& plan, const Request& request, Instant now, Nanos patience) {
  plan.allowed = true;
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.first != i) continue;
    seat.step = DecideLimit(*request[i].limit, seat.present(), now, seat.cost, max_wait_, patience);
    plan.allowed = plan.allowed && (seat.shadow || seat.step.decision.allowed);
  }
}

// Charges every bucket whose limit admits. Whatever can fail comes before the first write.
absl::Status Limiter::Commit(Plan& plan, const Request& request, Instant now) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    Plan::Seat& seat = plan.seats[i];
    if (seat.first != i || !seat.charges() || seat.id) continue;
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
  const auto is_new = [&](std::size_t i) {
    const Plan::Seat& seat = plan.seats[i];
    return seat.first == i && seat.charges() && !seat.bucket;
  };
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (is_new(i)) MakeRoomFor(request.size(), plan.keys[i].partition, now);
  }
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (!is_new(i)) continue;
    Insert(plan.keys[i], *plan.seats[i].id, *request[i].limit, plan.seats[i].step.bucket);
  }
  return absl::OkStatus();
}

// The only write of a denial: the cut times of those limits that denied. (A window that was cut and
// would have admitted stays as it is, and is cut again when it is asked.)
void Limiter::StoreClamped(Plan& plan, const Request& request) {
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
// bucket.
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
      decision = DecideLimit(*request[i].limit, seat.present(), now, 0, max_wait_).decision;
    }
    verdict.decisions.push_back(decision);
  }
  JoinDecisions([&](std::size_t i) { return plan.seats[plan.seats[i].first].shadow; }, verdict);
  verdict.key_hash = plan.keys[verdict.limit_index].hash;
  return verdict;
}

// What comes after DecideLocked: the verdict, and the writes.
absl::StatusOr<Verdict> Limiter::Conclude(Plan& plan, const Request& request, Instant now) {
  // Joined before the writes: a verdict needs the buckets as they were decided on.
  Verdict verdict = Join(plan, request, now);
  if (plan.allowed) {
    absl::Status committed = Commit(plan, request, now);
    if (!committed.ok()) return committed;
  } else {
    StoreClamped(plan, request);
  }
  RaiseLatest(plan, now);
  return verdict;
}

absl::StatusOr<Verdict> Limiter::Decide(const Request& request, Instant now) {
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
  return Join(plan, request, now);
}

// How many times over, `most` at most, the request would pass at once.
std::int64_t Limiter::TimesAffordable(const Plan& plan, const Request& request, Instant now,
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
  Verdict verdict = Join(plan, request, now);
  verdict.retry_after = Nanos{0};
  return verdict;
}

// Decides the shadows again, whose tokens must be there when those of the others are. Returns how
// long that takes. Requires: DecideLocked has allowed the request.
Nanos Limiter::SettleShadows(Plan& plan, const Request& request, Instant now) {
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

// The bucket, or null; and the limit's id, where there is one.
Bucket* Limiter::FindBucket(const KeyHash& key, const Limit& limit, LimitId& id) {
  LimitHint no_hint;
  const std::optional<LimitId> found = registry_.Find(limit, no_hint);
  if (!found) return nullptr;
  id = *found;
  return table_.partition(key.partition).Find({key.hash, id});
}

// What the limits of a reservation say now: those that did not allow it, and where it is not
// allowed any more all of them, when they would.
Verdict Limiter::LookAgain(const Reservation& reservation, bool allowed, Instant now) {
  TableLock lock(table_, reservation.key.partition);
  now = std::max(now, table_.partition(reservation.key.partition).latest());
  absl::InlinedVector<Decision, 2> looks;
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id = 0;
    const Bucket* found = FindBucket(reservation.key, part.limit, id);
    const Bucket bucket = found ? Unmarked(*found) : Bucket{};
    Decision look = DecideLimit(part.limit, bucket, now, 0, max_wait_).decision;
    if (!part.allowed || !allowed) {
      const Decision decision = DecideLimit(part.limit, bucket, now, part.cost, max_wait_).decision;
      look.allowed = part.allowed && decision.allowed;
      look.retry_after = decision.retry_after;
    }
    looks.push_back(look);
  }
  Verdict verdict;
  verdict.allowed = allowed;
  verdict.key_hash = reservation.key.hash;
  for (const std::uint8_t part : reservation.part_of_check) {
    verdict.decisions.push_back(looks[part]);
  }
  JoinDecisions(
      [&](std::size_t i) {
        return reservation.parts[reservation.part_of_check[i]].limit.shape().shadow;
      },
      verdict);
  return verdict;
}

Verdict Limiter::Settle(const Reservation& reservation, Instant now) {
  return LookAgain(reservation, true, now);
}

Verdict Limiter::Withdraw(const Reservation& reservation, Instant now) {
  return LookAgain(reservation, false, now);
}

void Limiter::GiveBack(const Reservation& reservation) {
  TableLock lock(table_, reservation.key.partition);
  for (const Reservation::Part& part : reservation.parts) {
    LimitId id = 0;
    Bucket* bucket = FindBucket(reservation.key, part.limit, id);
    if (!bucket || Unmarked(*bucket) != part.after) continue;
    Replace(reservation.key, id, part.limit, *bucket, part.before);
  }
}

}  // namespace weir
