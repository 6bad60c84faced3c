// Goal: whatever is asked in whatever order, the limiter answers as a pile of logs would. Method:
// random turns over a few keys and limits of every kind (stacks with repeated checks and shadows,
// looks, takes, refunds, waits that are served or given back, resets, sweeps, ids taken back), each
// answer compared with that of a model (model_limiter.h).
#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "tests/support/generators.h"
#include "tests/support/histories.h"
#include "tests/support/model_limiter.h"
#include "tests/support/random_asks.h"
#include "tests/support/windows.h"

namespace weir {
namespace {

struct Turn {
  enum class What {
    kDecide,
    kPeek,
    kTake,
    kRefund,
    kReserve,
    kServe,
    kGiveBack,
    kReset,
    kResetAll,
    kInspect,
    kSweep,
    kReclaim,
    kClear
  };

  // Of a reservation, in relation to how long it would have to wait.
  enum class Patience { kNone, kTooShort, kJust, kLong };

  What what = What::kDecide;
  Move move;  // says how long to wait before
  Patience patience = Patience::kNone;
  std::vector<Ask> asks;  // at least one

  friend std::ostream& operator<<(std::ostream& out, const Turn& turn) {
    constexpr const char* kNames[] = {"decide", "peek",      "take",  "refund",    "reserve",
                                      "serve",  "give back", "reset", "reset all", "inspect",
                                      "sweep",  "reclaim",   "clear"};
    constexpr const char* kPatience[] = {"none", "1 ns too short", "just enough", "all there is"};
    out << "\n"
        << kNames[static_cast<int>(turn.what)] << turn.move << ", patience "
        << kPatience[static_cast<int>(turn.patience)] << ":";
    for (const Ask& ask : turn.asks) out << "\n    " << ask;
    return out;
  }
};

rc::Gen<Turn> AnyTurn() {
  using What = Turn::What;
  return rc::gen::build<Turn>(
      rc::gen::set(&Turn::what, rc::gen::weightedElement<What>({{50, What::kDecide},
                                                                {10, What::kPeek},
                                                                {10, What::kTake},
                                                                {10, What::kRefund},
                                                                {25, What::kReserve},
                                                                {8, What::kServe},
                                                                {8, What::kGiveBack},
                                                                {3, What::kReset},
                                                                {2, What::kResetAll},
                                                                {5, What::kInspect},
                                                                {10, What::kSweep},
                                                                {4, What::kReclaim},
                                                                {1, What::kClear}})),
      rc::gen::set(&Turn::move, AnyMove()),
      rc::gen::set(&Turn::patience, rc::gen::cast<Turn::Patience>(Between(0, 3))),
      rc::gen::set(&Turn::asks, AnyAsks()));
}

// The limiter and its model, side by side through one history.
class Pair {
 public:
  Pair(std::vector<Limit> limits, Instant now)
      : limits_(std::move(limits)), model_(limits_), hints_(limits_.size()), now_(now) {}

  void Take(const Turn& turn) {
    Wait(turn);
    switch (turn.what) {
      case Turn::What::kDecide:
        return Decide(turn);
      case Turn::What::kPeek:
        return Peek(turn);
      case Turn::What::kTake:
        return TakeUpTo(turn);
      case Turn::What::kRefund:
        return Refund(turn);
      case Turn::What::kReserve:
        return Reserve(turn);
      case Turn::What::kServe:
        return Serve(turn);
      case Turn::What::kGiveBack:
        return GiveBack(turn);
      case Turn::What::kReset:
        return Reset(turn);
      case Turn::What::kResetAll:
        return ResetAll(turn.asks.front().key);
      case Turn::What::kInspect:
        return Inspect(turn.asks.front().key);
      case Turn::What::kSweep:
        return Sweep(turn.asks.front().key);
      case Turn::What::kReclaim:
        return static_cast<void>(limiter_->ReclaimLimits(1, 2));
      case Turn::What::kClear:
        limiter_->Clear();
        return model_.Clear();
    }
  }

  // Every bucket at the end of the history.
  void CheckAll() {
    std::size_t live = 0;
    for (std::size_t key = 0; key < kKeys; ++key) {
      Inspect(key);
      for (std::size_t limit = 0; limit < kLimits; ++limit)
        live += model_.IsLive({key, limit}, now_) ? 1 : 0;
    }
    RC_ASSERT(limiter_->CountLive(now_) == live);
    RC_ASSERT(limiter_->size().limits <= limits_.size());
  }

 private:
  void Wait(const Turn& turn) {
    // Who waits comes when others have just taken what there was.
    if (turn.what == Turn::What::kReserve && turn.move.part % 4 != 0) return;
    const Ask& first = turn.asks.front();
    Decision last = model_.State({first.key, first.limit}, now_);
    last.retry_after = last_retry_after_;
    WaitUntil(NextInstant(turn.move, limits_[first.limit], last, now_));
  }

  void WaitUntil(Instant next) {
    for (const Limit& limit : limits_) SweepWithin(limit, next);
    now_ = next;
  }

  // A sliding window's number has 32 bits: within 2^31 periods the sweeper must have come by, which
  // it does every ten seconds.
  void SweepWithin(const Limit& limit, Instant next) {
    if (limit.shape().algorithm != Algorithm::kSlidingWindow) return;
    if ((next - now_) / limit.shape().period < INT32_MAX / 1024) return;
    const Instant full = now_ + 2 * limit.shape().period;
    for (const std::string& key : keys_) {
      const std::size_t partition = KeyHasher(HashSecret{})(key).partition;
      static_cast<void>(limiter_->Sweep(partition, full));
    }
  }

  std::vector<ModelLimiter::Priced> Price(const Turn& turn) const {
    return PriceOf(turn.asks, model_, limits_, now_);
  }

  Request RequestOf(const std::vector<ModelLimiter::Priced>& checks) {
    Request request;
    for (const auto& [bucket, cost] : checks) {
      // A hint now and then, so that ids are found in both ways.
      LimitHint* const hint = cost % 2 == 0 ? &hints_[bucket.second] : nullptr;
      const std::string_view key = keys_[bucket.first];
      request.push_back({key, &limits_[bucket.second], cost, hint, limiter_->Hash(key)});
    }
    return request;
  }

  // A look goes the long way (plan.h), and says the same.
  void Decide(const Turn& turn) {
    const auto checks = Price(turn);
    const Verdict seen = limiter_->Peek(RequestOf(checks), now_);
    const Verdict verdict = *limiter_->Decide(RequestOf(checks), now_);
    Compare(verdict, model_.Decide(checks, now_));
    Compare(verdict, seen);
  }

  void Peek(const Turn& turn) {
    const auto checks = Price(turn);
    Compare(limiter_->Peek(RequestOf(checks), now_), model_.Look(checks, now_));
  }

  void TakeUpTo(const Turn& turn) {
    const auto [upto, checks] = PricedTake(Price(turn));
    const Grant got = *limiter_->Take(RequestOf(checks), upto, now_);
    const Grant want = model_.Take(checks, upto, now_);
    RC_ASSERT(got.granted == want.granted);
    Compare(got.verdict, want.verdict);
  }

  void Refund(const Turn& turn) {
    const auto checks = Price(turn);
    Compare(limiter_->Refund(RequestOf(checks), now_), model_.Refund(checks, now_));
  }

  // Of the first key those limits that can be waited for.
  void Reserve(Turn turn) {
    const std::size_t key = turn.asks.front().key;
    for (Ask& ask : turn.asks) ask.key = key;
    std::erase_if(turn.asks, [this](const Ask& ask) {
      const Limit& limit = limits_[ask.limit];
      return limit.has_bucket() && limit.shape().algorithm != Algorithm::kTokenBucket;
    });
    if (turn.asks.empty()) return;
    if (turn.asks.size() > 2 && turn.move.part % 4 != 0) turn.asks.resize(2);
    auto checks = Price(turn);
    for (std::size_t i = 0; i < checks.size(); ++i) {
      if (turn.asks[i].move.part % 2 == 0) checks[i].cost = CostToWaitFor(checks[i].bucket);
    }
    const Nanos patience = PatienceOf(turn, model_.Wait(checks, now_));
    Admission got = *limiter_->Reserve(RequestOf(checks), patience, now_);
    ModelLimiter::Admission want = model_.Reserve(checks, patience, now_);
    Compare(got.verdict, want.verdict);
    RC_ASSERT(got.reservation.has_value() == want.reservation.has_value());
    if (!got.reservation) return;
    RC_ASSERT(got.reservation->ready == want.reservation->ready);
    waiters_.push_back({*std::move(got.reservation), *std::move(want.reservation)});
  }

  // More than is there, and no more than there can be.
  [[nodiscard]] std::int64_t CostToWaitFor(ModelLimiter::BucketName bucket) const {
    const std::int64_t burst = limits_[bucket.second].capacity_tokens();
    const std::int64_t remaining = model_.State(bucket, now_).remaining;
    return remaining < burst ? remaining + 1 + (burst - remaining - 1) / 4 : 1;
  }

  static Nanos PatienceOf(const Turn& turn, Nanos told) {
    Nanos patience{0};
    if (turn.patience == Turn::Patience::kTooShort) patience = told - Nanos{1};
    if (turn.patience == Turn::Patience::kJust) patience = told;
    if (turn.patience == Turn::Patience::kLong) patience = kMaxWait;
    return std::clamp(patience, Nanos{0}, kMaxWait);
  }

  // As soon as it is ready, or later.
  void Serve(const Turn& turn) {
    std::optional<Waiter> waiter = NextToGo(turn);
    if (!waiter || waiter->got.ready > kInstantMax) return;
    WaitUntil(std::max(now_, waiter->got.ready));
    Compare(limiter_->Settle(waiter->got, now_), model_.Settle(waiter->want, now_));
  }

  void GiveBack(const Turn& turn) {
    const std::optional<Waiter> waiter = NextToGo(turn);
    if (!waiter) return;
    limiter_->GiveBack(waiter->got);
    model_.GiveBack(waiter->want);
  }

  struct Waiter {
    Reservation got;
    ModelLimiter::Reservation want;
  };

  // The last, or any.
  std::optional<Waiter> NextToGo(const Turn& turn) {
    if (waiters_.empty()) return std::nullopt;
    const std::size_t any = static_cast<std::size_t>(turn.move.part) % waiters_.size();
    const std::size_t place = turn.move.part % 2 == 0 ? waiters_.size() - 1 : any;
    Waiter waiter = std::move(waiters_[place]);
    waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(place));
    return waiter;
  }

  void Compare(const Verdict& got, const Verdict& want) {
    last_retry_after_ = want.retry_after;
    if (got == want) return;
    std::ostringstream text;
    text << "\n  got  " << got << "\n  want " << want;
    RC_FAIL(text.str());
  }

  // Of the first key those limits that the turn asks of any.
  void Reset(const Turn& turn) {
    const std::size_t key = turn.asks.front().key;
    std::vector<Limit> named;
    std::size_t live = 0;
    for (const Ask& ask : turn.asks) {
      named.push_back(limits_[ask.limit]);
      live += model_.IsLive({key, ask.limit}, now_) ? 1 : 0;
      model_.Forget({key, ask.limit});
    }
    RC_ASSERT(limiter_->Reset(keys_[key], named, now_) == live);
  }

  void ResetAll(std::size_t key) {
    std::size_t live = 0;
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      live += model_.IsLive({key, limit}, now_) ? 1 : 0;
      model_.Forget({key, limit});
    }
    RC_ASSERT(limiter_->Reset(keys_[key], {}, now_) == live);
  }

  void Inspect(std::size_t key) {
    const std::vector<LiveBucket> got = limiter_->Inspect(keys_[key], now_);
    Nanos longest{0};
    std::size_t live = 0;
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      if (!model_.IsLive({key, limit}, now_)) continue;
      ++live;
      const Decision want = model_.State({key, limit}, now_);
      longest = std::max(longest, want.reset_after);
      const auto found = std::ranges::find(got, limits_[limit], &LiveBucket::limit);
      RC_ASSERT(found != got.end());
      RC_ASSERT(found->remaining == want.remaining);
      RC_ASSERT(found->reset_after == want.reset_after);
    }
    RC_ASSERT(got.size() == live);
    RC_ASSERT(limiter_->ResetAfter(keys_[key], now_) == longest);
  }

  void Sweep(std::size_t key) {
    const std::size_t partition = KeyHasher(HashSecret{})(keys_[key]).partition;
    static_cast<void>(limiter_->Sweep(partition, now_));
  }

  static constexpr Nanos kMaxWait = kMaxWaitMax;

  const std::vector<std::string>& keys_ = KeyNames();
  const std::vector<Limit> limits_;
  const std::unique_ptr<Limiter> limiter_ =
      std::make_unique<Limiter>(LimiterOptions{.max_wait = kMaxWait, .time_is_ordered = false});
  ModelLimiter model_;
  std::vector<LimitHint> hints_;
  std::vector<Waiter> waiters_;  // in the order of their coming
  Instant now_;
  Nanos last_retry_after_{0};
};

// Of every kind.
rc::Gen<Limit> AnyKindOfLimit() {
  return rc::gen::weightedOneOf<Limit>({{8, AnyLimit()},
                                        {4, FixedWindows::AnyLimit()},
                                        {4, SlidingWindows::AnyLimit()},
                                        {1, rc::gen::just(Limit::Unlimited())},
                                        {1, rc::gen::just(Limit::None())}});
}

// Token buckets of like rates, so that what one needs to be full again does not fill all others,
// and few in whole nanoseconds; now and then any other.
rc::Gen<Limit> LimitToWaitFor() {
  const auto everyday = rc::gen::map(
      rc::gen::elementOf(std::vector<std::string_view>{
          "3/s", "7/3s", "7/13s,burst=2", "10/s,burst=30", "10/s,burst=1", "100/7s,burst=9",
          "11/13s,burst=20", "999999937/1000000s,burst=5000", "1/s,burst=3"}),
      [](std::string_view text) { return LimitOf(text); });
  return rc::gen::weightedOneOf<Limit>({{12, everyday}, {1, AnyKindOfLimit()}});
}

void CheckHistories(int count, const rc::Gen<Limit>& limit) {
  const auto sometimes_shadow =
      rc::gen::map(rc::gen::pair(limit, Between(0, 3)), [](const std::pair<Limit, int>& drawn) {
        return drawn.second == 0 ? drawn.first.AsShadow() : drawn.first;
      });
  CheckLaw(count, [&] {
    // No two alike, or they would share a bucket.
    const auto limits =
        *rc::gen::uniqueBy<std::vector<Limit>>(kLimits, sometimes_shadow, LimitText);
    Pair pair(limits, *AnyInstant());
    const auto turns = rc::gen::container<std::vector<Turn>>(AnyTurn());
    for (const Turn& turn : *rc::gen::resize(rc::kNominalSize, turns)) pair.Take(turn);
    pair.CheckAll();
  });
}

TEST(LimiterModelTest, RandomHistories) { CheckHistories(14'000, AnyKindOfLimit()); }

TEST(LimiterModelTest, RandomHistoriesOfWaits) { CheckHistories(6'000, LimitToWaitFor()); }

}  // namespace
}  // namespace weir
