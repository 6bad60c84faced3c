// Goal: for any requests in any order, the limiter answers as a set of logs would. Method: random
// turns over a few keys and limits of every kind (stacks with repeated checks and shadows,
// alternatives, looks, takes, refunds, waits that are served or given back, resets, sweeps,
// reclaimed ids), each answer compared with that of a model (model_history.h).
#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "tests/random/generators.h"
#include "tests/random/model_history.h"
#include "tests/random/windows.h"

namespace weir {
namespace {

class LimiterHistory : public ModelHistory {
 public:
  LimiterHistory(std::vector<Limit> limits, Instant now)
      : ModelHistory(std::move(limits), now, kMaxWaitMax, Nanos{1}), hints_(kLimits) {}

 private:
  // A sliding window's number has 32 bits, so the sweeper must visit it within 2^31 periods; the
  // sweeper comes every ten seconds.
  void OnMove(Instant then) override {
    for (const Limit& limit : limits()) {
      if (limit.shape().algorithm != Algorithm::kSlidingWindow) continue;
      if ((then - now()) / limit.shape().period < INT32_MAX / 1024) continue;
      for (std::size_t key = 0; key < kKeys; ++key) Sweep(key, now() + 2 * limit.shape().period);
    }
  }

  Request RequestOf(const Checks& checks) {
    Request request;
    for (const auto& [bucket, cost, keep, begins_alternative] : checks) {
      if (begins_alternative) request.BeginAlternative();
      // Half of the checks carry a hint, so that ids are found in both ways.
      LimitHint* const hint = cost % 2 == 0 ? &hints_[bucket.second] : nullptr;
      const std::string_view key = KeyNames()[bucket.first];
      request.push_back({key, &limits()[bucket.second], cost, hint, limiter_->Hash(key), keep});
    }
    return request;
  }

  static void ExpectSame(const Verdict& got, const Verdict& want) {
    if (got == want) return;
    std::ostringstream text;
    text << "\n  got  " << got << "\n  want " << want;
    RC_FAIL(text.str());
  }

  void Compare(const Turn& turn, const Checks& checks, std::int64_t upto,
               const Grant& want) override {
    const Request request = RequestOf(checks);
    if (turn.what == Turn::What::kTake) {
      const Grant got = *limiter_->Take(request, upto, now());
      RC_ASSERT(got.granted == want.granted);
      return ExpectSame(got.verdict, want.verdict);
    }
    if (turn.what == Turn::What::kRefund) {
      return ExpectSame(limiter_->Refund(request, now()), want.verdict);
    }
    // A look bans nothing, and shows no ban of the decision that follows.
    if (want.verdict.banned == 0) ExpectSame(limiter_->Peek(request, now()), want.verdict);
    if (turn.what == Turn::What::kPeek) return;
    RC_ASSERT(limiter_->WouldChange(request, now()) ==
              (want.verdict.allowed || want.verdict.banned != 0));
    ExpectSame(*limiter_->Decide(request, now()), want.verdict);
  }

  void CompareCharge(const Turn& /*turn*/, const Checks& checks, const Charged& want) override {
    const Charged got = *limiter_->Charge(RequestOf(checks), now());
    ExpectSame(got.verdict, want.verdict);
    RC_ASSERT(got.beyond == want.beyond);
  }

  void CompareReserve(const Turn& /*turn*/, const Checks& checks, Nanos patience,
                      const ModelLimiter::Admission& want) override {
    Admission got = *limiter_->Reserve(RequestOf(checks), patience, now());
    ExpectSame(got.verdict, want.verdict);
    RC_ASSERT(got.reservation.has_value() == want.reservation.has_value());
    if (!got.reservation) return;
    RC_ASSERT(got.reservation->ready == want.reservation->ready);
    reservations_.push_back(*std::move(got.reservation));
  }

  void OnGiveBack(std::size_t place) override {
    limiter_->ReturnTokens(reservations_[place]);
    reservations_.erase(reservations_.begin() + static_cast<std::ptrdiff_t>(place));
  }

  std::size_t ResetOf(std::size_t key, const std::vector<std::size_t>& named) override {
    std::vector<Limit> chosen;
    for (const std::size_t limit : named) chosen.push_back(limits()[limit]);
    return limiter_->Reset(KeyNames()[key], chosen, now());
  }

  void CompareInspect(std::size_t key, const std::vector<Live>& want) override {
    const std::vector<LiveBucket> got = limiter_->Inspect(KeyNames()[key], now());
    Nanos longest{0};
    for (const Live& live : want) {
      longest = std::max(longest, live.reset_after);
      const auto found = std::ranges::find(got, limits()[live.limit], &LiveBucket::limit);
      RC_ASSERT(found != got.end());
      RC_ASSERT(found->remaining == live.remaining);
      RC_ASSERT(found->reset_after == live.reset_after);
      RC_ASSERT(found->used == live.used);
      RC_ASSERT(found->ban_left == live.ban_left);
    }
    RC_ASSERT(got.size() == want.size());
    RC_ASSERT(limiter_->ResetAfter(KeyNames()[key], now()) == longest);
  }

  void TakeOwn(const Turn& turn) override {
    if (turn.what == Turn::What::kServe) return Serve(turn);
    if (turn.what == Turn::What::kSweep) return Sweep(turn.asks.front().key, now());
    if (turn.what == Turn::What::kReclaim) {
      return static_cast<void>(upkeep_.ReclaimLimits(1, 2));
    }
    RC_ASSERT(turn.what == Turn::What::kClear);
    upkeep_.Clear();
    model().Clear();
  }

  // Takes the tokens as soon as they are ready, or later.
  void Serve(const Turn& turn) {
    if (waiters().empty()) return;
    const std::size_t place = PlaceOf(turn);
    const auto at = static_cast<std::ptrdiff_t>(place);
    if (reservations_[place].ready <= kInstantMax) {
      MoveTo(std::max(now(), reservations_[place].ready));
      ExpectSame(limiter_->VerdictAfterWait(reservations_[place], now()),
                 model().Settle(waiters()[place], now()));
    }
    reservations_.erase(reservations_.begin() + at);
    waiters().erase(waiters().begin() + at);
  }

  void Sweep(std::size_t key, Instant now) {
    const std::size_t partition = KeyHasher(HashSecret{})(KeyNames()[key]).partition;
    static_cast<void>(upkeep_.Sweep(partition, now));
  }

  void CheckEnd() override {
    std::size_t live = 0;
    for (std::size_t key = 0; key < kKeys; ++key) {
      for (std::size_t limit = 0; limit < kLimits; ++limit)
        live += model().IsLive({key, limit}, now()) ? 1 : 0;
    }
    RC_ASSERT(upkeep_.CountLive(now()) == live);
    RC_ASSERT(upkeep_.size().limits <= limits().size());
  }

  const std::unique_ptr<Limiter> limiter_ =
      std::make_unique<Limiter>(LimiterOptions{.max_wait = kMaxWaitMax, .time_is_ordered = false});
  LimiterUpkeep upkeep_{limiter_->table()};
  std::vector<LimitHint> hints_;
  std::vector<Reservation> reservations_;  // of waiters()
};

// Limits of every kind.
rc::Gen<Limit> AnyKindOfLimit() {
  return rc::gen::weightedOneOf<Limit>({{8, AnyLimit()},
                                        {4, FixedWindows::AnyLimit()},
                                        {4, SlidingWindows::AnyLimit()},
                                        {1, rc::gen::just(Limit::Unlimited())},
                                        {1, rc::gen::just(Limit::None())}});
}

// Token buckets with similar rates, so that the time that fills one bucket does not fill all
// others; few rates are whole nanoseconds. Now and then, any other limit.
rc::Gen<Limit> LimitToWaitFor() {
  return rc::gen::weightedOneOf<Limit>(
      {{12, LimitAmong({"3/s", "7/3s", "7/13s,burst=2", "10/s,burst=30", "10/s,burst=1",
                        "100/7s,burst=9", "11/13s,burst=20", "999999937/1000000s,burst=5000",
                        "1/s,burst=3"})},
       {1, AnyKindOfLimit()}});
}

const TurnWeights& AllTurns() {
  using What = Turn::What;
  static const TurnWeights weights = {
      {50, What::kDecide}, {10, What::kPeek},    {10, What::kTake},   {10, What::kCharge},
      {10, What::kRefund}, {25, What::kReserve}, {8, What::kServe},   {8, What::kGiveBack},
      {3, What::kReset},   {2, What::kResetAll}, {5, What::kInspect}, {10, What::kSweep},
      {4, What::kReclaim}, {1, What::kClear}};
  return weights;
}

TEST(LimiterModelTest, RandomHistories) {
  CheckHistories<LimiterHistory>(14'000, SometimesShadow(SometimesBan(AnyKindOfLimit())),
                                 AllTurns());
}

TEST(LimiterModelTest, RandomHistoriesOfWaits) {
  CheckHistories<LimiterHistory>(6'000, SometimesShadow(SometimesBan(LimitToWaitFor())),
                                 AllTurns());
}

// A queue for one key: each waiter gets its tokens after all earlier waiters, and a waiter that
// leaves gives its tokens back unless a later request changed the bucket.
TEST(LimiterModelTest, RandomQueuesForOneKey) {
  using What = Turn::What;
  const auto limit = LimitAmong(
      {"10/s", "1/s,burst=3", "1000/s,burst=5", "4/s,burst=9", "1/m,burst=6", "5/5ms", "3/s"});
  CheckHistories<LimiterHistory>(
      4'000, limit,
      {{6, What::kReserve}, {3, What::kDecide}, {2, What::kGiveBack}, {2, What::kServe}}, 1);
}

}  // namespace
}  // namespace weir
