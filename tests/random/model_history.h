// Random histories that a subject (a limiter, or a host of one) and a ModelLimiter run side by
// side. The base class turns each Turn into checks and asks the model; the derived class asks the
// subject, and fails the test unless both give the same answer.
//
//     class LimiterHistory : public ModelHistory { ... };
//     CheckHistories<LimiterHistory>(14'000, AnyLimit(), {{50, Turn::What::kDecide}, ...});
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "core/base/instant.h"
#include "core/rules/limit.h"
#include "core/words/limit_grammar.h"
#include "tests/random/histories.h"
#include "tests/random/property.h"
#include "tests/random/random_turns.h"
#include "tests/support/model_limiter.h"

namespace weir {

class ModelHistory {
 public:
  virtual ~ModelHistory() = default;
  ModelHistory(const ModelHistory&) = delete;
  ModelHistory& operator=(const ModelHistory&) = delete;

  void Take(const Turn& turn) {
    PassTime(turn);
    switch (turn.what) {
      case Turn::What::kDecide:
      case Turn::What::kPeek:
      case Turn::What::kRefund:
      case Turn::What::kTake:
        return Decide(turn);
      case Turn::What::kCharge:
        return Charge(turn);
      case Turn::What::kReserve:
        return Reserve(turn);
      case Turn::What::kGiveBack:
        return ReturnTokens(turn);
      case Turn::What::kReset:
      case Turn::What::kResetAll:
        return Reset(turn);
      case Turn::What::kInspect:
        return Inspect(turn.asks.front().key);
      default:
        return TakeOwn(turn);
    }
  }

  // Every bucket at the end of the history.
  void CheckAll() {
    for (std::size_t key = 0; key < kKeys; ++key) Inspect(key);
    CheckEnd();
  }

 protected:
  using Checks = std::vector<ModelLimiter::Priced>;

  // A key's bucket that is not full.
  struct Live {
    std::size_t limit;
    std::int64_t remaining;
    Nanos reset_after;
    std::int64_t used;
    Nanos ban_left;
  };

  // `max_wait`: that of the subject. `patience_unit`: the unit in which it takes the length of a
  // wait.
  ModelHistory(std::vector<Limit> limits, Instant now, Nanos max_wait, Nanos patience_unit)
      : limits_(std::move(limits)),
        model_(limits_),
        now_(now),
        max_wait_(max_wait),
        patience_unit_(patience_unit) {}

  // Moves the subject's clock from now() to `then`.
  virtual void OnMove(Instant then) = 0;
  // A decision or a look, perhaps of several alternatives, a refund, or a take of at most `upto`.
  virtual void Compare(const Turn& turn, const Checks& checks, std::int64_t upto,
                       const Grant& want) = 0;
  virtual void CompareCharge(const Turn& turn, const Checks& checks, const Charged& want) = 0;
  // If `want` has a reservation, it becomes the last of waiters().
  virtual void CompareReserve(const Turn& turn, const Checks& checks, Nanos patience,
                              const ModelLimiter::Admission& want) = 0;
  // The waiter at `place` disconnects before it is served.
  virtual void OnGiveBack(std::size_t place) = 0;
  // Resets the subject's buckets of `limits`, or all of the key's if there are none; returns how
  // many were not full.
  virtual std::size_t ResetOf(std::size_t key, const std::vector<std::size_t>& limits) = 0;
  virtual void CompareInspect(std::size_t key, const std::vector<Live>& want) = 0;
  // A kind of turn that only this subject has.
  virtual void TakeOwn(const Turn& /*turn*/) {}
  virtual void CheckEnd() {}
  [[nodiscard]] virtual bool CanWaitFor(const Limit& limit) const {
    return !limit.has_bucket() || limit.shape().algorithm == Algorithm::kTokenBucket;
  }

  void MoveTo(Instant then) {
    OnMove(then);
    now_ = then;
  }

  // The last waiter, or any. Requires: there is one.
  [[nodiscard]] std::size_t PlaceOf(const Turn& turn) const {
    const auto part = static_cast<std::size_t>(turn.move.part);
    return part % 2 == 0 ? waiters_.size() - 1 : part % waiters_.size();
  }

  [[nodiscard]] const std::vector<Limit>& limits() const { return limits_; }
  [[nodiscard]] ModelLimiter& model() { return model_; }
  [[nodiscard]] Instant now() const { return now_; }
  // In the order of their arrival.
  [[nodiscard]] std::vector<ModelLimiter::Reservation>& waiters() { return waiters_; }
  [[nodiscard]] const std::vector<ModelLimiter::Reservation>& waiters() const { return waiters_; }

 private:
  void PassTime(const Turn& turn) {
    // A waiter comes just after other requests have taken all tokens.
    if (turn.what == Turn::What::kReserve && turn.move.part % 4 != 0) return;
    const Ask& first = turn.asks.front();
    Decision last = model_.State({first.key, first.limit}, now_);
    last.retry_after = last_retry_after_;
    MoveTo(NextInstant(turn.move, limits_[first.limit], last, now_));
  }

  // The asks of the turn, with costs that depend on the model's present state.
  [[nodiscard]] Checks Price(const std::vector<Ask>& asks) const {
    Checks checks;
    for (const Ask& ask : asks) {
      const Limit& limit = limits_[ask.limit];
      Decision state = model_.State({ask.key, ask.limit}, now_);
      const std::int64_t keep = limit.has_bucket() ? Tokens(ask.keep, limit, state) : 0;
      state.remaining = std::max<std::int64_t>(0, state.remaining - keep);
      checks.push_back({{ask.key, ask.limit}, Tokens(ask.move, limit, state), keep});
    }
    return checks;
  }

  // In one of three turns.
  static void BeginAlternatives(const Turn& turn, Checks& checks) {
    for (std::size_t i = 1; turn.move.part % 3 == 1 && i < checks.size(); ++i) {
      checks[i].begins_alternative = turn.asks[i].move.part % 2 == 0;
    }
  }

  static std::int64_t Tokens(const Move& move, const Limit& limit, const Decision& state) {
    return static_cast<std::int64_t>(
        std::min(CostOf(move, limit, state), std::uint64_t{INT64_MAX}));
  }

  void Decide(const Turn& turn) {
    Checks checks = Price(turn.asks);
    std::int64_t upto = 0;
    Grant want;
    if (turn.what == Turn::What::kTake) {
      // As many checks as the last ask wants; all other checks cost little.
      upto = std::max<std::int64_t>(1, checks.back().cost);
      if (checks.size() > 1) checks.pop_back();
      for (auto& check : checks) check.cost = std::min<std::int64_t>(check.cost, 3);
      want = model_.Take(checks, upto, now_);
    } else if (turn.what == Turn::What::kPeek) {
      BeginAlternatives(turn, checks);
      want.verdict = model_.Look(checks, now_);
    } else if (turn.what == Turn::What::kRefund) {
      want.verdict = model_.Refund(checks, now_);
    } else {
      BeginAlternatives(turn, checks);
      want.verdict = model_.Decide(checks, now_);
    }
    last_retry_after_ = want.verdict.retry_after;
    Compare(turn, checks, upto, want);
  }

  void Charge(const Turn& turn) {
    const Checks checks = Price(turn.asks);
    const Charged want = model_.ChargeAnyway(checks, now_, max_wait_);
    last_retry_after_ = want.verdict.retry_after;
    CompareCharge(turn, checks, want);
  }

  // The asked limits that can be waited for; in one of three turns all are of the first key.
  void Reserve(Turn turn) {
    for (Ask& ask : turn.asks) {
      if (turn.move.part % 3 == 0) ask.key = turn.asks.front().key;
    }
    std::erase_if(turn.asks, [this](const Ask& ask) { return !CanWaitFor(limits_[ask.limit]); });
    if (turn.asks.empty()) return;
    if (turn.asks.size() > 2 && turn.move.part % 4 != 0) turn.asks.resize(2);
    Checks checks = Price(turn.asks);
    for (std::size_t i = 0; i < checks.size(); ++i) {
      checks[i].keep = 0;  // RL.WAIT keeps nothing
      if (turn.asks[i].move.part % 2 == 0) checks[i].cost = CostToWaitFor(checks[i].bucket);
    }
    const Nanos patience = PatienceOf(turn, model_.Wait(checks, now_));
    const ModelLimiter::Admission want = model_.Reserve(checks, patience, now_);
    last_retry_after_ = want.verdict.retry_after;
    if (want.reservation) waiters_.push_back(*want.reservation);
    CompareReserve(turn, checks, patience, want);
  }

  // More tokens than are available, and no more than there can be.
  [[nodiscard]] std::int64_t CostToWaitFor(ModelLimiter::BucketName bucket) const {
    const std::int64_t burst = limits_[bucket.second].capacity_tokens();
    const std::int64_t remaining = model_.State(bucket, now_).remaining;
    return remaining < burst ? remaining + 1 + (burst - remaining - 1) / 4 : 1;
  }

  // A whole number of units.
  [[nodiscard]] Nanos PatienceOf(const Turn& turn, Nanos told) const {
    const Nanos longest = kMaxWaitMax / patience_unit_ * patience_unit_;
    const Nanos just =
        (std::min(told, longest) + patience_unit_ - Nanos{1}) / patience_unit_ * patience_unit_;
    switch (turn.patience) {
      case Turn::Patience::kNone:
        return Nanos{0};
      case Turn::Patience::kTooShort:
        return std::max(just - patience_unit_, Nanos{0});
      case Turn::Patience::kJust:
        return just;
      case Turn::Patience::kLong:
        break;
    }
    return longest;
  }

  void ReturnTokens(const Turn& turn) {
    if (waiters_.empty()) return;
    const std::size_t place = PlaceOf(turn);
    model_.ReturnTokens(waiters_[place]);
    OnGiveBack(place);
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  // Resets the limits that the turn asks of any key; or, if it asks for none, all limits of the
  // first key.
  void Reset(const Turn& turn) {
    const std::size_t key = turn.asks.front().key;
    std::vector<std::size_t> named;
    for (const Ask& ask : turn.asks) {
      if (turn.what == Turn::What::kReset) named.push_back(ask.limit);
    }
    std::size_t live = 0;
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      if (!named.empty() && std::ranges::count(named, limit) == 0) continue;
      live += model_.IsLive({key, limit}, now_) ? 1 : 0;
      model_.Forget({key, limit});
    }
    RC_ASSERT(ResetOf(key, named) == live);
  }

  void Inspect(std::size_t key) {
    std::vector<Live> want;
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      if (!model_.IsLive({key, limit}, now_)) continue;
      const Decision state = model_.State({key, limit}, now_);
      want.push_back({limit, state.remaining, state.reset_after, model_.Used({key, limit}, now_),
                      model_.BanLeft({key, limit}, now_)});
    }
    CompareInspect(key, want);
  }

  const std::vector<Limit> limits_;
  ModelLimiter model_;
  Instant now_;
  const Nanos max_wait_;
  const Nanos patience_unit_;
  std::vector<ModelLimiter::Reservation> waiters_;
  Nanos last_retry_after_{0};
};

// Checks `count` histories of fifty turns on average, a hundred at most, over kLimits of the drawn
// limits and `keys` keys.
template <typename History>
void CheckHistories(std::int64_t count, const rc::Gen<Limit>& limit, const TurnWeights& weights,
                    std::size_t keys = kKeys) {
  const auto turns = rc::gen::resize(
      rc::kNominalSize, rc::gen::container<std::vector<Turn>>(AnyTurn(weights, keys, kLimits)));
  CheckLaw(count, [&] {
    // The limits are distinct: equal limits would share a bucket.
    History history(*rc::gen::uniqueBy<std::vector<Limit>>(kLimits, limit, LimitText),
                    *AnyInstant());
    for (const Turn& turn : *turns) history.Take(turn);
    history.CheckAll();
  });
}

}  // namespace weir
