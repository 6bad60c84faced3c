// Goal: a reservation is an admission at a later instant: the earliest at which the request passes.
// Every law counts it at that instant, and giving it back leaves no trace if no later request
// changed the bucket; of several keys, each bucket is a queue of its own. Method: random histories
// of requests that wait and requests that do not, compared with the log of admissions (oracle.h),
// with the answers of Peek, and with sums of costs.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/limiter/limiter_fixture.h"
#include "tests/random/property.h"
#include "tests/support/oracle.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LimiterWaitTest : public LimiterFixture {
 protected:
  Admission Reserve(const std::vector<Asked>& asked, Nanos patience) {
    absl::StatusOr<Admission> admission = limiter_->Reserve(Of(asked), patience, now_);
    EXPECT_TRUE(admission.ok()) << admission.status();
    return *std::move(admission);
  }

  // The stored buckets.
  Verdict Look(std::vector<Asked> asked) {
    for (Asked& check : asked) check.cost = 0;
    return limiter_->Peek(Of(asked), now_);
  }

  static Nanos AnyPatience() {
    return *Between(0, 3) == 0 ? Nanos{0} : Nanos{*NumberUpTo(Nanos{seconds{60}}.count())};
  }
};

TEST_F(LimiterWaitTest, ReservesWhatIsNotThereYet) {
  EXPECT_FALSE(Reserve({{"k", "2/s", 2}}, seconds{1}).reservation.has_value());
  const Admission first = Reserve({{"k", "2/s"}}, seconds{1});
  ASSERT_TRUE(first.reservation.has_value());
  EXPECT_EQ(first.reservation->ready, now_ + milliseconds{500});
  const Admission second = Reserve({{"k", "2/s"}}, seconds{1});
  EXPECT_EQ(second.reservation->ready, now_ + seconds{1});
  const Admission third = Reserve({{"k", "2/s"}}, seconds{1});
  EXPECT_FALSE(third.verdict.allowed);
  EXPECT_EQ(third.verdict.retry_after, milliseconds{1500});
  now_ += milliseconds{500};
  const Verdict settled = limiter_->VerdictAfterWait(*first.reservation, now_);
  EXPECT_TRUE(settled.allowed);
  EXPECT_EQ(settled.retry_after, Nanos{0});
  EXPECT_EQ(settled.reset_after, milliseconds{1500});
}

// The words of a request may be freed before its reservation.
TEST_F(LimiterWaitTest, AReservationOwnsWhatItNeeds) {
  Reserve({{"key", "2/s", 2}}, Nanos{0});
  const Verdict before = Look({{"key", "2/s"}});
  auto key = std::make_unique<std::string>("key");
  const Admission admission = Reserve({{*key, "2/s"}}, seconds{1});
  key.reset();
  limiter_->ReturnTokens(*admission.reservation);
  EXPECT_EQ(Look({{"key", "2/s"}}), before);
}

// The limits have whole nanoseconds per token, so the told instant is the exact one.
TEST_F(LimiterWaitTest, EveryLawCountsAReservationAtItsInstant) {
  const std::vector<std::string_view> texts = {"10/s", "7/7s,burst=1", "2/s,burst=20", "1000/h"};
  CheckLaw(500, [&] {
    upkeep_.Clear();
    std::vector<LogOracle> oracles;
    for (const std::string_view text : texts) oracles.emplace_back(Named(text));
    for (int step = *Between(1, 40); step > 0; --step) {
      now_ += Nanos{*NumberUpTo(Nanos{milliseconds{200}}.count())};
      std::vector<Asked> asked;
      std::vector<LogOracle*> logs;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (*Between(0, 2) == 0) continue;
        asked.push_back({"k", texts[i], *Between<std::int64_t>(1, 3)});
        logs.push_back(&oracles[i]);
      }
      if (asked.empty()) continue;
      const Verdict verdict = Reserve(asked, AnyPatience()).verdict;
      for (std::size_t i = 0; verdict.allowed && i < asked.size(); ++i) {
        const auto cost = static_cast<std::uint64_t>(asked[i].cost);
        const Nanos wait = verdict.decisions[i].retry_after;
        RC_ASSERT(wait == Nanos{0} || !logs[i]->Look(now_ + wait - Nanos{1}, cost).allowed);
        RC_ASSERT(logs[i]->Ask(now_ + wait, cost).allowed);
      }
    }
  });
}

// Compares with Peek, whose numbers have laws of their own.
TEST_F(LimiterWaitTest, WaitsExactlyAsLongAsPeekSays) {
  CheckLaw(1000, [this] {
    upkeep_.Clear();
    const std::vector<std::string_view> texts = {"3/s", "7/11ms", "300M/s", "10/s", "3/s,burst=9"};
    for (int step = *Between(1, 20); step > 0; --step) {
      now_ += Nanos{*NumberUpTo(Nanos{milliseconds{500}}.count())};
      std::vector<Asked> asked;
      for (int i = *Between(1, 3); i > 0; --i) {
        asked.push_back({"k", *rc::gen::elementOf(texts), *Between<std::int64_t>(0, 4)});
      }
      const Nanos patience = AnyPatience();
      const Verdict told = limiter_->Peek(Of(asked), now_);
      const Verdict before = Look(asked);
      const Admission admission = Reserve(asked, patience);
      RC_ASSERT(admission.verdict.allowed == (told.retry_after <= patience));
      RC_ASSERT(admission.reservation.has_value() ==
                (admission.verdict.allowed && told.retry_after > Nanos{0}));
      if (!admission.reservation) {
        RC_ASSERT(admission.verdict == told);
        continue;
      }
      RC_ASSERT(admission.reservation->ready == now_ + told.retry_after);
      RC_ASSERT(limiter_->VerdictAfterWait(*admission.reservation, now_).decisions ==
                Look(asked).decisions);
      if (*rc::gen::arbitrary<bool>()) continue;
      limiter_->ReturnTokens(*admission.reservation);
      RC_ASSERT(Look(asked) == before);
    }
  });
}

// Waiters that leave in the opposite order of their arrival leave nothing behind.
TEST_F(LimiterWaitTest, GivenBackInTheOppositeOrderNothingIsLeft) {
  CheckLaw(300, [this] {
    upkeep_.Clear();
    const std::vector<Asked> all = {{"k", "3/s"}, {"k", "10/s,burst=5"}, {"l", "3/s"}};
    Decide({{"k", "3/s", 3}, {"k", "10/s,burst=5", 5}, {"l", "3/s", 3}});
    const Verdict before = Look(all);
    std::vector<Reservation> reservations;
    for (int i = *Between(1, 20); i > 0; --i) {
      std::vector<Asked> asked = all;
      if (*Between(0, 2) == 0) asked.erase(asked.begin() + *Between(0, 2));
      Admission admission = Reserve(asked, seconds{60});
      RC_ASSERT(admission.reservation.has_value());
      reservations.push_back(*std::move(admission.reservation));
    }
    for (std::size_t i = reservations.size(); i-- > 0;) limiter_->ReturnTokens(reservations[i]);
    RC_ASSERT(Look(all) == before);
  });
}

// The bucket of one limit on one key: its tokens, each worth a whole number of nanoseconds, and the
// costs that clients were charged beyond them, in the order of their arrival.
struct Queue {
  std::string_view key;
  std::string_view limit;
  Nanos token;
  std::int64_t burst;
  struct Charge {
    int client;
    std::int64_t cost;
  };
  std::vector<Charge> charges = {};

  // How long the last of the charges has to wait. Requires: the clock is stopped.
  [[nodiscard]] Nanos Wait() const {
    Nanos wait{0};
    for (const Charge& charge : charges) wait += charge.cost * token;
    return wait;
  }
  // A client that leaves takes its charge along only as the last one.
  void Leave(int client) {
    if (!charges.empty() && charges.back().client == client) charges.pop_back();
  }
};

// Clients come and leave while the clock is stopped. A client that comes waits behind all charges
// of each of its buckets, and is ready when the longest of these waits is over. In the end a bucket
// owes the costs of the clients that are served, and of those that left with others behind them.
TEST_F(LimiterWaitTest, EachBucketOfSeveralKeysIsAQueue) {
  CheckLaw(500, [this] {
    upkeep_.Clear();
    std::vector<Queue> queues;
    for (const std::string_view key : {"a", "b", "c"}) {
      queues.push_back({key, "10/s", milliseconds{100}, 10});
      queues.push_back({key, "4/s,burst=3", milliseconds{250}, 3});
      Decide({{key, "10/s", 10}, {key, "4/s,burst=3", 3}});
    }
    std::map<int, Reservation> waiting;
    for (int client = *Between(1, 40); client > 0; --client) {
      if (!waiting.empty() && *Between(0, 2) == 0) {
        const auto leaver =
            std::next(waiting.begin(), *Between<std::ptrdiff_t>(0, std::ssize(waiting) - 1));
        limiter_->ReturnTokens(leaver->second);
        for (Queue& queue : queues) queue.Leave(leaver->first);
        waiting.erase(leaver);
      } else {
        std::vector<Asked> asked;
        Nanos latest{0};
        for (Queue& queue : queues) {
          if (*Between(0, 2) != 0) continue;
          queue.charges.push_back({client, *Between<std::int64_t>(1, 3)});
          asked.push_back({queue.key, queue.limit, queue.charges.back().cost});
          latest = std::max(latest, queue.Wait());
        }
        if (asked.empty()) continue;
        Admission admission = Reserve(asked, seconds{60});
        RC_ASSERT(admission.reservation.has_value());
        RC_ASSERT(admission.reservation->ready == now_ + latest);
        waiting.emplace(client, *std::move(admission.reservation));
      }
      for (const Queue& queue : queues) {
        const Verdict look = Look({{queue.key, queue.limit}});
        RC_ASSERT(look.reset_after == queue.Wait() + queue.burst * queue.token);
      }
    }
  });
}

}  // namespace
}  // namespace weir
