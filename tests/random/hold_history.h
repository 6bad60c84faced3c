// A random history of holds over a few keys, limits and ids, with time at the borders of the holds,
// beside the limiter that plays it.
//
//     HoldTally tally;
//     HoldHistory history(tally, limiter);
//     history.Turn();      // a reservation, a settlement or something else, and a comparison
//     history.CheckAll();
//
// Each bucket is compared with a log of the true costs (settled_history.h), which it must not
// exceed, and with the rule alone, which it must equal; held limits with a list of the open holds.
// Uses RC_ASSERT.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "tests/random/generators.h"
#include "tests/support/fake_clock.h"
#include "tests/support/limit_shapes.h"
#include "tests/support/settled_history.h"

namespace weir {

// How often the histories reached each kind of state.
struct HoldTally {
  std::int64_t opened = 0;
  std::int64_t denied = 0;
  std::int64_t renewed = 0;
  std::int64_t settled = 0;
  std::int64_t repeated = 0;
  std::int64_t unknown = 0;
  std::int64_t expired = 0;
  std::int64_t refused = 0;  // other words, or settled
  std::int64_t sliced = 0;
  std::int64_t lapsed = 0;
};

class HoldHistory {
  static constexpr std::int64_t kHeldCount = 4;  // of the held limit
  static constexpr std::size_t kKeyCount = 2;
  static constexpr std::size_t kIdCount = 4;

  using BucketName = std::pair<std::size_t, std::size_t>;  // key, limit
  struct Part {
    std::size_t limit;
    std::uint64_t cost;
    std::size_t event;  // of its history
    bool is_charged;
  };
  struct Open {
    std::uint64_t words;
    std::int64_t order;
    Instant expiry;
    std::vector<Part> parts;
    std::uint64_t units = 0;  // of a slice
    bool is_settled = false;

    // The tokens of one unit of a cost.
    std::uint64_t Each(const Part& part) const { return units == 0 ? 1 : part.cost / units; }
  };
  using HoldName = std::pair<std::size_t, std::size_t>;  // key, id
  using Histories = std::map<BucketName, SettledHistory>;
  using Holds = std::map<HoldName, Open>;  // and marks

 public:
  static constexpr Nanos kMaxWait = std::chrono::seconds{1};

  // Requires: an empty limiter with kMaxWait.
  HoldHistory(HoldTally& tally, Limiter& limiter) : tally_(tally), limiter_(&limiter) {
    for (const char* word : {"10/s", "3/s,burst=7", "20/m,fixed,aligned", "20/m,sliding", "9/day",
                             "5/s,ban=2s", "10/s,burst=4,shadow"}) {
      limits_.push_back(LimitOf(word));
    }
    limits_.push_back(*Limit::Create(HeldShape(kHeldCount)));
    ForgetAll();
  }

  void Turn() {
    PassTime();
    switch (*Between(0, 17)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return Reserve();
      case 6:
      case 7:
      case 8:
      case 9:
        return Settle();
      case 10:
      case 11:
        return Decide();
      case 12:
        return Charge();
      case 13:
        return Refund();
      case 14:
      case 15:
        return Slice();
      case 16:
        return *Between(0, 7) == 0 ? Reset() : Sweep();
      default:
        return CheckBuckets(true);
    }
  }
  void CheckAll() { CheckBuckets(true); }
  // Often exactly to an expiry, or a nanosecond beside it.
  void PassTime() {
    const int how = *Between(0, 9);
    if (how < 5) return;
    if (how < 7 && !holds_.empty()) {
      const auto hold = AnyHold();
      now_ = std::max(now_, hold->second.expiry + Nanos{*Between<std::int64_t>(-1, 1)});
    } else {
      now_ += Nanos{*NumberUpTo(how == 9 ? 100'000'000'000 : 1'000'000'000)};
    }
    SettleDue();
  }
  [[nodiscard]] Instant now() const { return now_; }

  // The buckets and holds at some time.
  struct State {
    Histories histories;
    Holds holds;
  };
  [[nodiscard]] State Remember() const { return {histories_, holds_}; }
  // Continues with a limiter that was restored now, from that state.
  void GoOnWith(Limiter& limiter, const State& state) {
    limiter_ = &limiter;
    histories_.clear();
    histories_.insert(state.histories.begin(), state.histories.end());
    holds_ = state.holds;
    SettleDue();
    CheckBuckets(true);
  }
  // The same, but nothing was restored.
  void GoOnWithout(Limiter& limiter) {
    limiter_ = &limiter;
    ForgetAll();
    CheckBuckets(true);
  }

 private:
  struct Ask {
    BucketName bucket;
    std::int64_t cost;
  };

  static std::string KeyText(std::size_t key) { return key == 0 ? "a" : "b"; }
  static std::string IdText(std::size_t id) { return "id" + std::to_string(id); }
  [[nodiscard]] bool IsHeld(std::size_t limit) const { return limit + 1 == limits_.size(); }
  SettledHistory& History(BucketName bucket) { return histories_.at(bucket); }

  void ForgetAll() {
    for (std::size_t key = 0; key < kKeyCount; ++key) Forget(key);
  }
  void Forget(std::size_t key) {
    for (std::size_t limit = 0; limit + 1 < limits_.size(); ++limit) {
      histories_.erase({key, limit});
      histories_.try_emplace({key, limit}, limits_[limit], kMaxWait);
    }
    std::erase_if(holds_, [&](const auto& hold) { return hold.first.first == key; });
  }

  // A hold or a mark. Requires: there is one.
  Holds::iterator AnyHold() {
    return std::next(holds_.begin(), *Between<std::ptrdiff_t>(0, std::ssize(holds_) - 1));
  }

  void SettleDue() {
    while (true) {
      const HoldName* due = nullptr;
      for (const auto& [name, hold] : holds_) {
        if (hold.is_settled || hold.expiry > now_) continue;
        const auto order = [&](const HoldName& of) {
          return std::pair(holds_.at(of).expiry, holds_.at(of).order);
        };
        if (!due || order(name) < order(*due)) due = &name;
      }
      if (!due) break;
      const Open hold = holds_.at(*due);
      const bool lapses = hold.units > 0;
      for (const Part& part : hold.parts) {
        SettlePart(due->first, part, hold.expiry, lapses ? part.cost : 0);
      }
      holds_.erase(HoldName(*due));
      ++(lapses ? tally_.lapsed : tally_.expired);
    }
    std::erase_if(holds_, [&](const auto& hold) {
      return hold.second.is_settled && hold.second.expiry <= now_;
    });
  }

  void SettlePart(std::size_t key, const Part& part, Instant at, std::uint64_t cost) {
    if (IsHeld(part.limit)) return;
    SettledHistory& history = History({key, part.limit});
    if (part.is_charged) return history.Settle(at, history.PlaceOf(part.event), cost);
    if (cost > 0) history.Charge(at, cost);
  }

  [[nodiscard]] std::int64_t Out(std::size_t key) const {
    std::int64_t out = 0;
    for (const auto& [name, hold] : holds_) {
      if (name.first != key || hold.is_settled) continue;
      for (const Part& part : hold.parts) {
        if (IsHeld(part.limit)) out += static_cast<std::int64_t>(part.cost);
      }
    }
    return out;
  }

  // Returns the time until the last hold with tokens of the held limit ends.
  [[nodiscard]] Nanos UntilEnd(std::size_t key) const {
    Nanos until{0};
    for (const auto& [name, hold] : holds_) {
      const bool is_out = name.first == key && !hold.is_settled &&
                          std::ranges::any_of(hold.parts, [&](const Part& part) {
                            return IsHeld(part.limit) && part.cost > 0;
                          });
      if (is_out) until = std::max(until, hold.expiry - now_);
    }
    return until;
  }

  // One to three buckets, each once.
  std::vector<Ask> AnyAsks(bool with_held) {
    std::vector<Ask> asks;
    const int count = *Between(1, 3);
    for (int i = 0; i < count; ++i) {
      const BucketName bucket{*Between<std::size_t>(0, kKeyCount - 1),
                              *Between<std::size_t>(0, limits_.size() - (with_held ? 1 : 2))};
      if (std::ranges::find(asks, bucket, &Ask::bucket) != asks.end()) continue;
      asks.push_back({bucket, *Between<std::int64_t>(1, 4)});
    }
    return asks;
  }

  Request RequestOf(const std::vector<Ask>& asks) {
    key_texts_.clear();
    for (const Ask& ask : asks) key_texts_.push_back(KeyText(ask.bucket.first));
    Request request;
    for (std::size_t i = 0; i < asks.size(); ++i) {
      request.push_back({.key = key_texts_[i],
                         .limit = &limits_[asks[i].bucket.second],
                         .cost = asks[i].cost,
                         .hash = limiter_->Hash(key_texts_[i])});
    }
    return request;
  }

  [[nodiscard]] bool Admits(const Ask& ask) {
    const auto [key, limit] = ask.bucket;
    if (IsHeld(limit)) return Out(key) + ask.cost <= kHeldCount;
    SettledHistory& history = History(ask.bucket);
    return DecideLimit(history.limit(), history.bucket(), now_,
                       static_cast<std::uint64_t>(ask.cost), kMaxWait)
        .decision.allowed;
  }

  // Plays a request on the histories. Returns whether it is admitted.
  bool Play(const std::vector<Ask>& asks, bool reserves, std::map<std::size_t, Open>* opened) {
    bool allowed = true;
    for (const Ask& ask : asks) {
      allowed = allowed && (limits_[ask.bucket.second].shape().shadow || Admits(ask));
    }
    for (const Ask& ask : asks) {
      const auto [key, limit] = ask.bucket;
      const auto cost = static_cast<std::uint64_t>(ask.cost);
      const bool admits = Admits(ask);
      Part part{limit, admits ? cost : 0, 0, admits};
      if (!IsHeld(limit) && (allowed || !admits)) {
        SettledHistory& history = History(ask.bucket);
        RC_ASSERT(history.Take(now_, cost, reserves && allowed) == admits);
        if (admits && reserves) part.event = history.open().back().event;
      }
      if (allowed && opened) (*opened)[key].parts.push_back(part);
    }
    return allowed;
  }

  void Reserve() {
    const std::size_t id = *Between<std::size_t>(0, kIdCount - 1);
    const std::vector<Ask> asks = AnyAsks(true);
    std::vector<std::size_t> keys;
    for (const Ask& ask : asks) {
      if (std::ranges::find(keys, ask.bucket.first) == keys.end()) keys.push_back(ask.bucket.first);
    }
    std::size_t found = 0;
    bool is_settled = false;
    bool is_same = *Between(0, 1) == 0;
    std::uint64_t words = ++words_;
    for (const std::size_t key : keys) {
      const auto hold = holds_.find({key, id});
      if (hold == holds_.end()) continue;
      is_settled = is_settled || hold->second.is_settled;
      if (found == 0 && is_same) words = hold->second.words;
      is_same = is_same && hold->second.words == words && hold->second.units == 0;
      if (!hold->second.is_settled) ++found;
    }
    const Nanos ttl{*Between<std::int64_t>(0, 1) == 0 ? *NumberUpTo(2'000'000'000)
                                                      : *NumberUpTo(90'000'000'000)};
    const std::string text = IdText(id);
    const absl::StatusOr<Grant> got = limiter_->DecideAndHold(
        RequestOf(asks), {.id = text, .ttl = ttl, .words = words, .upto = 0, .user = {}}, now_);
    if (is_settled || (found > 0 && (found < keys.size() || !is_same))) {
      ++tally_.refused;
      RC_ASSERT(got.status().code() == (is_settled ? absl::StatusCode::kFailedPrecondition
                                                   : absl::StatusCode::kAlreadyExists));
      return CheckBuckets(false);
    }
    RC_ASSERT(got.ok());
    if (found > 0) {
      ++tally_.renewed;
      RC_ASSERT(got->verdict.allowed);
      for (const std::size_t key : keys) holds_.at({key, id}).expiry = now_ + ttl;
      return CheckBuckets(false);
    }
    std::map<std::size_t, Open> opened;
    const bool allowed = Play(asks, true, &opened);
    RC_ASSERT(got->verdict.allowed == allowed);
    ++(allowed ? tally_.opened : tally_.denied);
    for (auto& [key, hold] : opened) {
      hold.words = words;
      hold.order = ++order_;
      hold.expiry = now_ + ttl;
      holds_[{key, id}] = hold;
    }
    CheckBuckets(false);
  }

  void Slice() {
    std::vector<Ask> asks = AnyAsks(false);
    const std::size_t key = asks.front().bucket.first;
    std::erase_if(asks, [&](const Ask& ask) { return ask.bucket.first != key; });
    const std::size_t id = *Between<std::size_t>(0, kIdCount - 1);
    const std::int64_t need = *Between<std::int64_t>(0, 3);
    const SliceWish wish{need, *Between<std::int64_t>(1, std::max<std::int64_t>(need, 1)),
                         *Between<std::int64_t>(1, 6), Nanos{*NumberUpTo(2'000'000'000)}};
    std::vector<SlicedLimit> limits;
    for (const Ask& ask : asks) {
      const SettledHistory& history = History(ask.bucket);
      limits.push_back(
          {&history.limit(), history.bucket(), static_cast<std::uint64_t>(ask.cost), 0});
    }
    const SliceTerms terms = DecideSlice(limits, wish, now_, kMaxWait);
    const absl::StatusOr<SliceGrant> got =
        limiter_->Slice(RequestOf(asks), {.id = IdText(id), .wish = wish, .user = {}}, now_);
    tally_.refused += got.ok() ? 0 : 1;
    RC_ASSERT(got.ok() != holds_.contains({key, id}));
    if (!got.ok()) return CheckBuckets(false);
    RC_ASSERT(got->granted == terms.granted);
    RC_ASSERT(got->life == terms.life);
    if (terms.granted == 0) return CheckBuckets(false);
    for (Ask& ask : asks) ask.cost *= terms.granted;
    std::map<std::size_t, Open> opened;
    RC_ASSERT(Play(asks, got->opens_hold(), got->opens_hold() ? &opened : nullptr));
    for (auto& [of, hold] : opened) {
      ++tally_.sliced;
      holds_[{of, id}] = {0, ++order_, now_ + terms.life, hold.parts,
                          static_cast<std::uint64_t>(terms.granted)};
    }
    CheckBuckets(false);
  }

  void Settle() {
    HoldName name{*Between<std::size_t>(0, kKeyCount - 1), *Between<std::size_t>(0, kIdCount - 1)};
    if (!holds_.empty() && *Between(0, 3) > 0) name = AnyHold()->first;
    const auto [key, id] = name;
    const std::string key_text = KeyText(key);
    const std::string id_text = IdText(id);
    const auto found = holds_.find({key, id});
    std::optional<std::int64_t> all;  // the cost of the limits that are not named
    if (*Between(0, 1) == 0) all = *Between<std::int64_t>(0, 6);
    std::vector<TrueCost> named;
    std::map<std::size_t, std::int64_t> costs;
    const HashedKey hashed{key_text, limiter_->Hash(key_text)};
    if (found != holds_.end()) {
      for (const Part& part : found->second.parts) {
        if (IsHeld(part.limit) || *Between(0, 1) == 0) continue;
        costs[part.limit] = *Between<std::int64_t>(0, 6);
        named.push_back({hashed, &limits_[part.limit], kNoPolicy, costs[part.limit]});
      }
    }
    const SettledKey keys[] = {{hashed, all}};
    const absl::StatusOr<Settled> got =
        limiter_->SettleHold({.id = id_text, .keys = keys, .named = named}, now_);
    RC_ASSERT(got.ok());
    RC_ASSERT(got->settled == (found != holds_.end()));
    if (found == holds_.end()) {
      ++tally_.unknown;
    } else if (found->second.is_settled) {
      ++tally_.repeated;
    } else {
      ++tally_.settled;
      Open& hold = found->second;
      for (const Part& part : hold.parts) {
        std::uint64_t cost = all ? static_cast<std::uint64_t>(*all) * hold.Each(part) : part.cost;
        if (costs.contains(part.limit)) {
          cost = static_cast<std::uint64_t>(costs[part.limit]) * hold.Each(part);
        }
        SettlePart(key, part, now_, cost);
      }
      hold.is_settled = true;
      hold.expiry = std::min(hold.expiry, now_ + kHoldMarkMax);
    }
    CheckBuckets(true);
  }

  void Decide() {
    const std::vector<Ask> asks = AnyAsks(false);
    const bool want = Play(asks, false, nullptr);
    RC_ASSERT(limiter_->Decide(RequestOf(asks), now_)->allowed == want);
    CheckBuckets(false);
  }

  void Charge() {
    std::vector<Ask> asks = AnyAsks(false);
    for (Ask& ask : asks) {
      ask.cost *= *Between<std::int64_t>(1, 10);
      History(ask.bucket).Charge(now_, static_cast<std::uint64_t>(ask.cost));
    }
    RC_ASSERT(limiter_->Charge(RequestOf(asks), now_).ok());
    CheckBuckets(false);
  }

  void Refund() {
    const std::vector<Ask> asks = AnyAsks(false);
    for (const Ask& ask : asks) {
      History(ask.bucket).Refund(now_, static_cast<std::uint64_t>(ask.cost));
    }
    static_cast<void>(limiter_->Refund(RequestOf(asks), now_));
    CheckBuckets(false);
  }

  void Reset() {
    const std::size_t key = *Between<std::size_t>(0, kKeyCount - 1);
    static_cast<void>(limiter_->Reset(KeyText(key), {}, now_));
    Forget(key);
    CheckBuckets(false);
  }

  void Sweep() {
    for (std::size_t key = 0; key < kKeyCount; ++key) {
      LimiterUpkeep(limiter_->table()).Sweep(limiter_->Hash(KeyText(key)).partition, now_);
    }
  }

  // L20, L22: `with_truth` compares with the logs, too, which takes long.
  void CheckBuckets(bool with_truth) {
    std::size_t open = 0;
    for (const auto& [name, hold] : holds_) open += hold.is_settled ? 0 : 1;
    RC_ASSERT(open <= LimiterUpkeep(limiter_->table())
                          .counts()
                          .open_holds);  // Those that are due are settled where they are.
    for (std::size_t key = 0; key < kKeyCount; ++key) {
      std::vector<Ask> look;
      for (std::size_t limit = 0; limit < limits_.size(); ++limit)
        look.push_back({{key, limit}, 0});
      const Verdict verdict = limiter_->Peek(RequestOf(look), now_);
      for (std::size_t limit = 0; limit + 1 < limits_.size(); ++limit) {
        const Decision& got = verdict.decisions[limit];
        RC_ASSERT(got == History({key, limit}).Look(now_));
        if (!with_truth) continue;
        const Decision truth = History({key, limit}).Truth().Look(now_, 0);
        RC_ASSERT(got.remaining <= truth.remaining);
        RC_ASSERT(got.reset_after >= truth.reset_after);
      }
      RC_ASSERT(verdict.decisions.back().remaining == kHeldCount - Out(key));
      RC_ASSERT(verdict.decisions.back().reset_after == UntilEnd(key));
    }
    RC_ASSERT(open == LimiterUpkeep(limiter_->table()).counts().open_holds);
  }

  HoldTally& tally_;
  Limiter* limiter_;
  std::vector<Limit> limits_;  // the held limit is the last
  Histories histories_;
  Holds holds_;
  Instant now_ = FakeClock::kStart;
  std::uint64_t words_ = 0;
  std::int64_t order_ = 0;
  std::vector<std::string> key_texts_;  // of the last request
};

}  // namespace weir
