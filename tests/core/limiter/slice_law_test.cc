// Goal: clients that spend slices beside a server spend no more than laws E1 to E4 say, whatever
// replies and settlements are lost, late or repeated. Method: random clients with clocks that
// drift, over links that delay and lose, beside one that asks for each token. The laws are checked
// on the list of all tokens that were spent:
//
//     E1  in any time t from s on at most burst + floor(t * count / period) tokens and those that
//         were charged before s, and at most burst + floor((t + life) * count / period)
//     E2  a window sees at most its count spent
//     E3  no token is spent at the end of its slice's life, or later
//     E4  of a slice, what was spent and what was given back are at most what was granted
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/base/wide.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct SliceTally {
  std::int64_t spent = 0;  // of slices
  std::int64_t settled = 0;
  std::int64_t repeated = 0;
  std::int64_t lapsed = 0;
  std::int64_t late = 0;  // settlements after the life
  std::int64_t spent_after_others = 0;
};

bool OneIn(int n) { return *Between(1, n) == 1; }

class SlicedKey {
 public:
  SlicedKey(SliceTally& tally, const Limit& limit) : tally_(tally), limit_(limit) {
    const int clients = *Between(1, 3);
    for (int i = 0; i < clients; ++i) clients_.push_back({*Between<std::int64_t>(-500, 500), {}});
  }

  void Play() {
    for (int turn = 0; turn < 150; ++turn) {
      Later(Nanos{*Between<std::int64_t>(0, 40'000'000)}, [this] { Turn(); });
      RunUntil(now_ + Nanos{*Between<std::int64_t>(0, 30'000'000)});
    }
    RunUntil(now_ + seconds{10});
    Sweep();
    Check();
    tally_.lapsed += static_cast<std::int64_t>(limiter_.table().keeper.lapsed_slices());
    RC_ASSERT(limiter_.table().hold_records.counts().slices() == 0U);
    RC_ASSERT(limiter_.table().hold_records.counts().units() == 0U);
  }

 private:
  struct Slice {
    std::string id;
    std::int64_t granted;
    std::int64_t left;
    Instant charged_at;
    Instant window_end;
    Instant end;    // of its life
    Instant until;  // which the client believes
  };
  struct Client {
    std::int64_t drift;  // of its clock, in millionths
    std::vector<Slice> hand;
  };
  struct Spend {
    Instant charged_at;
    Instant at;
    Instant window_end;
  };

  void Later(Nanos delay, std::function<void()> event) {
    events_.emplace(now_ + delay, std::move(event));
  }
  void RunUntil(Instant end) {
    while (!events_.empty() && events_.begin()->first <= end) {
      const auto next = events_.extract(events_.begin());
      now_ = next.key();
      next.mapped()();
    }
    now_ = end;
  }
  static Nanos Delay() {
    return Nanos{*Between<std::int64_t>(0, OneIn(5) ? 300'000'000 : 10'000'000)};
  }

  void Turn() {
    Client& client = clients_[*Between<std::size_t>(0, clients_.size() - 1)];
    std::erase_if(client.hand, [&](const Slice& slice) { return slice.until <= now_; });
    const int what = *Between(0, 9);
    if (what < 2) return Ask(client);
    if (what < 4) return static_cast<void>(Decide());
    if (what == 4) return Sweep();
    if (client.hand.empty()) return Ask(client);
    if (what < 7) return SpendFrom(client.hand.front(), *Between<std::int64_t>(1, 8));
    if (what == 7) return Settle(client);
    if (OneIn(10)) SpendAll();
  }

  [[nodiscard]] Request One() const {
    return {{.key = "k", .limit = &limit_, .hash = limiter_.Hash("k")}};
  }
  // Returns the end of the window to which a request has been charged.
  [[nodiscard]] Instant WindowEnd(const Verdict& verdict) const {
    if (limit_.shape().algorithm == Algorithm::kFixedWindow) return now_ + verdict.reset_after;
    const Nanos since = now_.time_since_epoch();
    return now_ + limit_.shape().period - since % limit_.shape().period;
  }

  bool Decide() {
    const absl::StatusOr<Verdict> verdict = limiter_.Decide(One(), now_);
    RC_ASSERT(verdict.ok());
    if (verdict->allowed) spends_.push_back({now_, now_, WindowEnd(*verdict)});
    return verdict->allowed;
  }

  void Ask(Client& client) {
    const std::string id = std::to_string(++ids_);
    const std::int64_t need = *Between<std::int64_t>(0, 3);
    const SliceWish wish = {need, 1, need + *Between<std::int64_t>(1, 40), kLife};
    Later(Delay(), [this, &client, id, wish, sent = now_] {
      const absl::StatusOr<SliceGrant> grant =
          limiter_.Slice(One(), {.id = id, .wish = wish}, now_);
      RC_ASSERT(grant.ok());
      RC_ASSERT(limiter_.Slice(One(), {.id = id, .wish = wish}, now_).ok() != grant->opens_hold());
      if (!grant->opens_hold()) return;  // What was needed is lost on its way.
      longest_ = std::max(longest_, grant->life);
      const Nanos margin = grant->life / 1000 + milliseconds{1};
      const Nanos believed = (grant->life - margin) * (1'000'000 + client.drift) / 1'000'000;
      const Slice slice = {id,
                           grant->granted,
                           grant->granted,
                           now_,
                           WindowEnd(grant->verdict),
                           now_ + grant->life,
                           sent + believed};
      if (OneIn(6)) return;  // The reply is lost.
      Later(Delay(), [&client, slice] { client.hand.push_back(slice); });
    });
  }

  // The most that anybody can do at an instant.
  void SpendAll() {
    for (Client& client : clients_) {
      for (Slice& slice : client.hand) {
        if (now_ < slice.until) SpendFrom(slice, slice.left);
      }
    }
    while (Decide()) continue;
  }
  void SpendFrom(Slice& slice, std::int64_t most) {
    for (; most > 0 && slice.left > 0; --most) {
      RC_ASSERT(now_ < slice.end);  // E3
      --slice.left;
      spends_.push_back({slice.charged_at, now_, slice.window_end});
      ++tally_.spent;
    }
  }

  // The slice leaves the hand before the settlement is sent, which may be lost or sent twice.
  void Settle(Client& client) {
    const Slice slice = client.hand.back();
    client.hand.pop_back();
    for (int times = *Between(0, 2); times > 0; --times) {
      Later(Delay(), [this, slice] { Commit(slice); });
    }
  }
  void Commit(const Slice& slice) {
    const HashedKey key = {"k", limiter_.Hash("k")};
    const SettledKey keys[] = {{key, slice.granted - slice.left}};
    const Verdict before = limiter_.Peek(Nothing(), now_);
    const absl::StatusOr<Settled> settled =
        limiter_.SettleHold({.id = slice.id, .keys = keys, .named = {}}, now_);
    RC_ASSERT(settled.ok());
    RC_ASSERT(settled->settled == (now_ < slice.end));
    const Verdict after = limiter_.Peek(Nothing(), now_);
    const bool is_first = settled->settled && settled_.insert(slice.id).second;
    if (!is_first) {
      RC_ASSERT(before == after);
      ++(settled->settled ? tally_.repeated : tally_.late);
      return;
    }
    ++tally_.settled;
    RC_ASSERT(after.remaining - before.remaining <= slice.left);  // E4
  }
  [[nodiscard]] Request Nothing() const {
    return {{.key = "k", .limit = &limit_, .cost = 0, .hash = limiter_.Hash("k")}};
  }

  void Sweep() { LimiterUpkeep(limiter_.table()).Sweep(limiter_.Hash("k").partition, now_); }

  // --- The laws ---

  [[nodiscard]] std::int64_t MostIn(Nanos time) const {
    const LimitShape& shape = limit_.shape();
    return shape.burst + static_cast<std::int64_t>(Wide(shape.count) * Wide(time.count()) /
                                                   Wide(shape.period.count()));
  }
  void Check() {
    std::ranges::sort(spends_, {}, &Spend::at);
    if (limit_.shape().algorithm != Algorithm::kTokenBucket) return CheckWindows();
    for (std::size_t i = 0; i < spends_.size(); ++i) {
      const Instant begin = spends_[i].at;
      const std::int64_t of_before =
          std::count_if(spends_.begin() + static_cast<std::ptrdiff_t>(i), spends_.end(),
                        [&](const Spend& spend) { return spend.charged_at < begin; });
      for (std::size_t j = i; j < spends_.size(); ++j) {
        const auto spent = static_cast<std::int64_t>(j - i + 1);
        const Nanos time = spends_[j].at - begin;
        RC_ASSERT(spent <= MostIn(time) + of_before);
        RC_ASSERT(spent <= MostIn(time + longest_));
        if (spent > MostIn(time)) ++tally_.spent_after_others;
      }
    }
  }
  void CheckWindows() const {
    std::map<Instant, std::int64_t> spent;
    for (const Spend& spend : spends_) {
      RC_ASSERT(spend.at < spend.window_end);
      RC_ASSERT(++spent[spend.window_end] <= limit_.shape().count);
    }
  }

  static constexpr Nanos kLife = milliseconds{500};

  SliceTally& tally_;
  const Limit limit_;
  mutable Limiter limiter_{{}};
  std::vector<Client> clients_;
  std::multimap<Instant, std::function<void()>> events_;
  Instant now_ = FakeClock::kStart;
  std::vector<Spend> spends_;
  std::set<std::string> settled_;
  Nanos longest_{0};
  int ids_ = 0;
};

TEST(SliceLawTest, E1E2E3E4OnOneServer) {
  SliceTally tally;
  constexpr std::int64_t kHistories = 2'000;
  CheckLaw(kHistories, [&tally] {
    const Limit limit = *LimitAmong({"100/s", "20/s,burst=40", "30/5s", "1000/m,burst=10",
                                     "60/2s,fixed", "40/s,fixed,aligned", "50/s,sliding"});
    SlicedKey(tally, limit).Play();
  });
  const std::int64_t few = InWholeRuns(kHistories);
  EXPECT_GE(tally.spent, 10 * few);
  EXPECT_GE(tally.settled, few);
  EXPECT_GE(tally.repeated, few / 4);
  EXPECT_GE(tally.lapsed, few);
  EXPECT_GE(tally.late, few / 10);
  EXPECT_GE(tally.spent_after_others, InWholeRuns(1)) << "O(s) of E1 is of use";
}

}  // namespace
}  // namespace weir
