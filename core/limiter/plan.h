// A request on its way through a decision: which of its checks ask the same bucket, what each
// bucket's limit says, and what they say together.
//
//     Plan plan(request, max_wait, same_key);
//     for (i ...) if (plan.AsksBucket(i)) plan.seat(i).Find(bucket);      // those that there are
//     plan.Decide(now);                                       // or DecideUpTo, Refund, Reserve
//     plan.Join(now, verdict);
//     for (i ...) if (const std::optional<Bucket> bucket = plan.Change(i)) ...      // keep it
//
// It knows no table and keeps nothing: the limiter keeps buckets in its own (limiter.h), the module
// in the values of Redis (module/handlers/key_limiter.h), and both decide here. Not thread-safe.
// Cost: a rule's decision a bucket; no allocation up to 4 checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/container/fixed_array.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/limiter/reservation.h"
#include "core/rules/bucket.h"
#include "core/rules/decision.h"
#include "core/rules/step.h"
#include "core/words/request.h"

namespace weir {

class Plan {
 public:
  // One a check.
  struct Seat {
    std::uint64_t cost = 0;  // of all checks on this bucket, at the first of them
    // The first check that asks the same bucket; itself, if none before does.
    std::size_t first = 0;
    bool shadow = false;
    bool has_bucket = true;
    bool found = false;  // the keeper has the bucket; else `before` is what an absent one is
    Bucket before;       // as the keeper has it
    Bucket present;      // what is decided on: `before`, but for a refund
    Step step;

    // Hands it the bucket that the keeper has.
    void Find(const Bucket& bucket) noexcept {
      found = true;
      Take(bucket);
    }
    // Hands it what stands for a bucket that the keeper has not.
    void Take(const Bucket& bucket) noexcept { before = present = bucket; }
    // True if the request, once it passes, leaves something in the bucket.
    [[nodiscard]] bool charges() const noexcept {
      return has_bucket && cost > 0 && step.decision.allowed;
    }
  };

  // `same_key(i, j)`: whether the checks i and j are about one key. Requires: 1 to kChecksMax
  // checks; they outlive the plan. max_wait as DecideLimit has it.
  template <typename SameKey>
  Plan(std::span<const Check> request, Nanos max_wait, SameKey same_key)
      : request_(request), max_wait_(max_wait), seats_(request.size()) {
    WEIR_DCHECK(!request.empty() && request.size() <= kChecksMax);
    for (std::size_t i = 0; i < request.size(); ++i) {
      std::size_t first = 0;
      while (first < i &&
             !(same_key(first, i) && request[first].limit->SharesBucketsWith(*request[i].limit))) {
        ++first;
      }
      AddCheck(i, first);
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return seats_.size(); }
  [[nodiscard]] Seat& seat(std::size_t i) noexcept { return seats_[i]; }
  [[nodiscard]] const Seat& seat(std::size_t i) const noexcept { return seats_[i]; }
  // True if the check asks a bucket that none before it does: one that the keeper is to look for.
  [[nodiscard]] bool AsksBucket(std::size_t i) const noexcept {
    return seats_[i].first == i && seats_[i].has_bucket;
  }

  // Decides each bucket. With patience tokens of the future will do.
  void Decide(Instant now, Nanos patience = Nanos{0});
  // Decides the request as many times over as it passes, `upto` at most; returns how many. Where
  // that is 0 it is decided once, to learn when it would pass. Requires: upto >= 1.
  std::int64_t DecideUpTo(std::int64_t upto, Instant now);
  // Gives every bucket its cost back. The verdict is an admission with the numbers after it.
  [[nodiscard]] Verdict Refund(Instant now);
  // Decides with patience, or where that is not enough without. What is reserved is ready at `now`
  // where nothing is to be waited for, or nothing is allowed.
  [[nodiscard]] Reservation Reserve(Instant now, Nanos patience);

  [[nodiscard]] bool allowed() const noexcept { return allowed_; }
  // The verdict. Where the request is denied, a limit that would have admitted shows its untouched
  // bucket. Requires: `verdict` is a new one. Leaves its key_hash alone.
  void Join(Instant now, Verdict& verdict) const;

  // What the bucket of the check becomes; nothing where it stays as it is. That is what was charged
  // or given back; and in a denial, as the only write that it makes, the cut time of a limit that
  // denied.
  [[nodiscard]] std::optional<Bucket> Change(std::size_t i) const noexcept {
    const Seat& seat = seats_[i];
    if (!AsksBucket(i)) return std::nullopt;
    if (!seat.found)
      return allowed_ && seat.charges() ? std::optional(seat.step.bucket) : std::nullopt;
    const Bucket& after = allowed_ || !seat.step.decision.allowed ? seat.step.bucket : seat.before;
    return after == seat.before ? std::nullopt : std::optional(after);
  }
  // True if that is a bucket which the keeper has not yet.
  [[nodiscard]] bool IsNew(std::size_t i) const noexcept {
    return !seats_[i].found && Change(i).has_value();
  }

 private:
  void AddCheck(std::size_t i, std::size_t first) noexcept;
  [[nodiscard]] std::int64_t TimesAffordable(Instant now, std::int64_t most) const;
  Nanos SettleShadows(Instant now);

  const std::span<const Check> request_;
  const Nanos max_wait_;
  absl::FixedArray<Seat, 4> seats_;
  bool allowed_ = true;
};

}  // namespace weir
