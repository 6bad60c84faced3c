// Goal: whatever is asked in whatever order, the limiter answers as a pile of logs would. Method:
// random turns over a few keys and limits of every kind (stacks with repeated checks and shadows,
// looks, takes, refunds, resets, sweeps, ids taken back), each answer compared with a model that
// has one log of admissions (any_oracle.h) for each key and limit and joins their answers as
// documented.
#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter.h"
#include "core/wide.h"
#include "tests/support/any_oracle.h"
#include "tests/support/generators.h"
#include "tests/support/histories.h"
#include "tests/support/windows.h"

namespace weir {
namespace {

constexpr std::size_t kKeys = 3;
constexpr std::size_t kLimits = 5;

const std::vector<std::string>& KeyNames() {
  static const std::vector<std::string> names = {"a", "b", std::string(1, '\0')};
  return names;
}

struct Ask {
  std::size_t key = 0;
  std::size_t limit = 0;
  Move move;  // says what it costs

  friend std::ostream& operator<<(std::ostream& out, const Ask& ask) {
    return out << "key " << ask.key << " limit " << ask.limit << ask.move;
  }
};

struct Turn {
  enum class What {
    kDecide,
    kPeek,
    kTake,
    kRefund,
    kReset,
    kResetAll,
    kInspect,
    kSweep,
    kReclaim,
    kClear
  };

  What what = What::kDecide;
  Move move;              // says how long to wait before
  std::vector<Ask> asks;  // at least one

  friend std::ostream& operator<<(std::ostream& out, const Turn& turn) {
    constexpr const char* kNames[] = {"decide",    "peek",    "take",  "refund",  "reset",
                                      "reset all", "inspect", "sweep", "reclaim", "clear"};
    out << "\n" << kNames[static_cast<int>(turn.what)] << turn.move << ":";
    for (const Ask& ask : turn.asks) out << "\n    " << ask;
    return out;
  }
};

rc::Gen<Turn> AnyTurn() {
  using What = Turn::What;
  const auto ask =
      rc::gen::build<Ask>(rc::gen::set(&Ask::key, Between<std::size_t>(0, kKeys - 1)),
                          rc::gen::set(&Ask::limit, Between<std::size_t>(0, kLimits - 1)),
                          rc::gen::set(&Ask::move, AnyMove()));
  const auto asks = rc::gen::mapcat(Between<std::size_t>(1, 5), [ask](std::size_t count) {
    return rc::gen::container<std::vector<Ask>>(count, ask);
  });
  return rc::gen::build<Turn>(
      rc::gen::set(&Turn::what, rc::gen::weightedElement<What>({{50, What::kDecide},
                                                                {10, What::kPeek},
                                                                {10, What::kTake},
                                                                {10, What::kRefund},
                                                                {3, What::kReset},
                                                                {2, What::kResetAll},
                                                                {5, What::kInspect},
                                                                {10, What::kSweep},
                                                                {4, What::kReclaim},
                                                                {1, What::kClear}})),
      rc::gen::set(&Turn::move, AnyMove()), rc::gen::set(&Turn::asks, asks));
}

// What the limiter must answer.
class ModelLimiter {
 public:
  explicit ModelLimiter(std::vector<Limit> limits) : limits_(std::move(limits)) { Clear(); }

  using BucketName = std::pair<std::size_t, std::size_t>;  // key, limit
  struct Priced {
    BucketName bucket;
    std::int64_t cost;
  };

  Verdict Look(const std::vector<Priced>& checks, Instant now) const {
    return Join(checks, Sum(checks), now);
  }

  Verdict Decide(const std::vector<Priced>& checks, Instant now) {
    return Charge(checks, Sum(checks), now);
  }

  // As many times over as passes, found by halving; once, if nothing does.
  Limiter::Grant Take(const std::vector<Priced>& checks, std::int64_t upto, Instant now) {
    const auto passes = [&](std::int64_t times) {
      return Join(checks, Sum(checks, times), now).allowed;
    };
    std::int64_t granted = 0;
    std::int64_t too_many = upto;
    if (passes(upto)) granted = upto;
    while (granted < upto && too_many - granted > 1) {
      const std::int64_t middle = granted + (too_many - granted) / 2;
      (passes(middle) ? granted : too_many) = middle;
    }
    return {granted, Charge(checks, Sum(checks, std::max<std::int64_t>(granted, 1)), now)};
  }

  Verdict Refund(std::vector<Priced> checks, Instant now) {
    for (const auto& [bucket, cost] : Sum(checks)) {
      if (cost > 0) logs_.at(bucket).Refund(now, cost);
    }
    for (Priced& check : checks) check.cost = 0;
    Verdict verdict;
    verdict.allowed = true;  // whatever "none" says
    verdict.decisions = Decisions(checks, Sum(checks), now, true);
    JoinNumbers(checks, verdict);
    verdict.retry_after = Nanos{0};
    return verdict;
  }

  Decision State(BucketName bucket, Instant now) const { return logs_.at(bucket).Look(now, 0); }
  bool IsLive(BucketName bucket, Instant now) const {
    return State(bucket, now).reset_after > Nanos{0};
  }
  void Forget(BucketName bucket) { logs_.at(bucket).Forget(); }

  void Clear() {
    logs_.clear();
    for (std::size_t key = 0; key < kKeys; ++key) {
      for (std::size_t limit = 0; limit < kLimits; ++limit) {
        logs_.try_emplace({key, limit}, limits_[limit]);
      }
    }
  }

 private:
  using Costs = std::map<BucketName, std::uint64_t>;

  // A sum that leaves 64 bits is above every burst.
  static Costs Sum(const std::vector<Priced>& checks, std::int64_t times = 1) {
    Costs sums;
    for (const Priced& check : checks) {
      const Wide cost = static_cast<Wide>(check.cost) * static_cast<Wide>(times);
      std::uint64_t& sum = sums[check.bucket];
      sum += static_cast<std::uint64_t>(std::min<Wide>(cost, UINT64_MAX - sum));
    }
    return sums;
  }

  bool IsShadow(BucketName bucket) const { return limits_[bucket.second].shape().shadow; }

  // What each limit says; where the request does not pass, one that would have admitted shows its
  // untouched bucket.
  absl::InlinedVector<Decision, 4> Decisions(const std::vector<Priced>& checks, const Costs& costs,
                                             Instant now, bool passes) const {
    absl::InlinedVector<Decision, 4> decisions;
    for (const Priced& check : checks) {
      const AnyOracle& log = logs_.at(check.bucket);
      const Decision decision = log.Look(now, costs.at(check.bucket));
      decisions.push_back(decision.allowed && !passes ? log.Look(now, 0) : decision);
    }
    return decisions;
  }

  // The verdict's five numbers, of the limits that are not shadows if there are any.
  void JoinNumbers(const std::vector<Priced>& checks, Verdict& verdict) const {
    std::vector<std::size_t> joined;
    for (std::size_t i = 0; i < checks.size(); ++i) {
      if (!IsShadow(checks[i].bucket)) joined.push_back(i);
    }
    const bool only_shadows = joined.empty();
    for (std::size_t i = 0; only_shadows && i < checks.size(); ++i) joined.push_back(i);
    const auto& all = verdict.decisions;
    const auto remaining = [&](std::size_t i) { return all[i].remaining; };
    const auto retry_after = [&](std::size_t i) { return all[i].retry_after; };
    const std::size_t fewest = *std::ranges::min_element(joined, {}, remaining);
    const std::size_t longest = *std::ranges::max_element(joined, {}, retry_after);
    verdict.limit_index = verdict.allowed ? fewest : longest;
    const std::size_t decider = checks[verdict.limit_index].bucket.first;
    verdict.key_hash = KeyHasher(HashSecret{})(KeyNames()[decider]).hash;
    verdict.remaining = all[fewest].remaining;
    verdict.retry_after = only_shadows ? Nanos{0} : all[longest].retry_after;
    for (const std::size_t i : joined) {
      verdict.reset_after = std::max(verdict.reset_after, all[i].reset_after);
    }
  }

  Verdict Join(const std::vector<Priced>& checks, const Costs& costs, Instant now) const {
    Verdict verdict;
    verdict.allowed = std::ranges::all_of(costs, [&](const auto& charge) {
      return IsShadow(charge.first) || logs_.at(charge.first).Look(now, charge.second).allowed;
    });
    verdict.decisions = Decisions(checks, costs, now, verdict.allowed);
    JoinNumbers(checks, verdict);
    return verdict;
  }

  Verdict Charge(const std::vector<Priced>& checks, const Costs& costs, Instant now) {
    const Verdict verdict = Join(checks, costs, now);
    if (!verdict.allowed) return verdict;
    for (const auto& [bucket, cost] : costs) logs_.at(bucket).Charge(now, cost);
    return verdict;
  }

  std::vector<Limit> limits_;
  std::map<BucketName, AnyOracle> logs_;
};

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
    const Ask& first = turn.asks.front();
    Decision last = model_.State({first.key, first.limit}, now_);
    last.retry_after = last_retry_after_;
    const Instant next = NextInstant(turn.move, limits_[first.limit], last, now_);
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
      static_cast<void>(limiter_->Sweep(partition, full, SIZE_MAX));
    }
  }

  std::vector<ModelLimiter::Priced> Price(const Turn& turn) const {
    std::vector<ModelLimiter::Priced> checks;
    for (const Ask& ask : turn.asks) {
      const Decision state = model_.State({ask.key, ask.limit}, now_);
      const std::uint64_t cost = CostOf(ask.move, limits_[ask.limit], state);
      checks.push_back({{ask.key, ask.limit},
                        static_cast<std::int64_t>(std::min(cost, std::uint64_t{INT64_MAX}))});
    }
    return checks;
  }

  Request RequestOf(const std::vector<ModelLimiter::Priced>& checks) {
    Request request;
    for (const auto& [bucket, cost] : checks) {
      // A hint now and then, so that ids are found in both ways.
      LimitHint* const hint = cost % 2 == 0 ? &hints_[bucket.second] : nullptr;
      request.push_back({keys_[bucket.first], &limits_[bucket.second], cost, hint});
    }
    return request;
  }

  void Decide(const Turn& turn) {
    const auto checks = Price(turn);
    Compare(*limiter_->Decide(RequestOf(checks), now_), model_.Decide(checks, now_));
  }

  void Peek(const Turn& turn) {
    const auto checks = Price(turn);
    Compare(limiter_->Peek(RequestOf(checks), now_), model_.Look(checks, now_));
  }

  // So many tokens at most as one of the asks says.
  void TakeUpTo(const Turn& turn) {
    auto checks = Price(turn);
    const std::int64_t upto = std::max<std::int64_t>(1, checks.back().cost);
    if (checks.size() > 1) checks.pop_back();
    for (ModelLimiter::Priced& check : checks) check.cost = std::min<std::int64_t>(check.cost, 3);
    const Limiter::Grant got = *limiter_->Take(RequestOf(checks), upto, now_);
    const Limiter::Grant want = model_.Take(checks, upto, now_);
    RC_ASSERT(got.granted == want.granted);
    Compare(got.verdict, want.verdict);
  }

  void Refund(const Turn& turn) {
    const auto checks = Price(turn);
    Compare(limiter_->Refund(RequestOf(checks), now_), model_.Refund(checks, now_));
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
    const std::vector<Limiter::LiveBucket> got = limiter_->Inspect(keys_[key], now_);
    Nanos longest{0};
    std::size_t live = 0;
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      if (!model_.IsLive({key, limit}, now_)) continue;
      ++live;
      const Decision want = model_.State({key, limit}, now_);
      longest = std::max(longest, want.reset_after);
      const auto found = std::ranges::find(got, limits_[limit], &Limiter::LiveBucket::limit);
      RC_ASSERT(found != got.end());
      RC_ASSERT(found->remaining == want.remaining);
      RC_ASSERT(found->reset_after == want.reset_after);
    }
    RC_ASSERT(got.size() == live);
    RC_ASSERT(limiter_->ResetAfter(keys_[key], now_) == longest);
  }

  void Sweep(std::size_t key) {
    const std::size_t partition = KeyHasher(HashSecret{})(keys_[key]).partition;
    static_cast<void>(limiter_->Sweep(partition, now_, SIZE_MAX));
  }

  const std::vector<std::string>& keys_ = KeyNames();
  const std::vector<Limit> limits_;
  const std::unique_ptr<Limiter> limiter_ =
      std::make_unique<Limiter>(LimiterOptions{.time_is_ordered = false});
  ModelLimiter model_;
  std::vector<LimitHint> hints_;
  Instant now_;
  Nanos last_retry_after_{0};
};

// Of every kind; some that only watch.
rc::Gen<Limit> AnyKindOfLimit() {
  const auto kinds = rc::gen::weightedOneOf<Limit>({{8, AnyLimit()},
                                                    {4, FixedWindows::AnyLimit()},
                                                    {4, SlidingWindows::AnyLimit()},
                                                    {1, rc::gen::just(Limit::Unlimited())},
                                                    {1, rc::gen::just(Limit::None())}});
  return rc::gen::map(rc::gen::pair(kinds, Between(0, 3)), [](const std::pair<Limit, int>& drawn) {
    return drawn.second == 0 ? drawn.first.AsShadow() : drawn.first;
  });
}

TEST(LimiterModelTest, RandomHistories) {
  CheckLaw(20'000, [] {
    // No two alike, or they would share a bucket.
    const auto limits =
        *rc::gen::uniqueBy<std::vector<Limit>>(kLimits, AnyKindOfLimit(), LimitText);
    Pair pair(limits, *AnyInstant());
    const auto turns = rc::gen::container<std::vector<Turn>>(AnyTurn());
    for (const Turn& turn : *rc::gen::resize(rc::kNominalSize, turns)) pair.Take(turn);
    pair.CheckAll();
  });
}

}  // namespace
}  // namespace weir
