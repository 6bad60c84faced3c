// Goal: a hold is settled once, by a commit or a cancel, whatever happens to its buckets meanwhile.
// Method: short histories in words, with the numbers that a client would see.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/limiter_restore.h"
#include "tests/core/limiter/hold_fixture.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class LimiterHoldsTest : public HoldFixture {
 protected:
  using HoldFixture::HoldFixture;

  // Tokens of a held limit that are there.
  std::int64_t Slots(std::string_view key, const Limit& limit) {
    return limiter_->Peek({CheckOf(key, limit, 0)}, now_).remaining;
  }
};

TEST_F(LimiterHoldsTest, CommitChargesTheTrueCost) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", minutes{1}));
  EXPECT_EQ(Remaining("k", "100/h"), 50);
  const Settled settled = Settle("a", {"k"}, {}, 10);
  EXPECT_TRUE(settled.settled);
  EXPECT_EQ(settled.verdict.remaining, 90);
  EXPECT_EQ(Remaining("k", "100/h"), 90);
}

TEST_F(LimiterHoldsTest, CommitWithoutACostLeavesTheEstimate) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", minutes{1}));
  EXPECT_TRUE(Commit("a", "k"));
  EXPECT_EQ(Remaining("k", "100/h"), 50);
}

TEST_F(LimiterHoldsTest, CommitAboveTheEstimateGoesIntoDebt) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", minutes{1}));
  EXPECT_TRUE(Commit("a", "k", 150));
  const std::vector<LiveBucket> buckets = limiter_->Inspect("k", now_);
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_EQ(buckets[0].used, 150);
}

// The bucket was full and is gone; the rest of the cost makes another one.
TEST_F(LimiterHoldsTest, CommitAboveTheEstimateMakesTheBucketAgain) {
  EXPECT_TRUE(Reserve({{"k", "100/s", 5}}, "a", minutes{1}));
  now_ += seconds{2};
  SweepAll();
  EXPECT_EQ(buckets(), 0U);
  EXPECT_TRUE(Commit("a", "k", 30));
  EXPECT_EQ(Remaining("k", "100/s"), 75);
}

TEST_F(LimiterHoldsTest, L21SettlesOnceHoweverOftenTheCommandComes) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", minutes{1}));
  EXPECT_TRUE(Reserve({{"k", "100/h", 30}}, "b", minutes{1}));
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(Commit("a", "k", 10));
    EXPECT_EQ(Remaining("k", "100/h"), 60);
  }
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(Remaining("k", "100/h"), 60);
  EXPECT_EQ(upkeep_.counts().settled_holds, 1U);
}

TEST_F(LimiterHoldsTest, UnknownIdChangesNothing) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", minutes{1}));
  EXPECT_FALSE(Commit("b", "k", 0));
  EXPECT_FALSE(Commit("a", "other", 0));
  EXPECT_EQ(Remaining("k", "100/h"), 50);
}

TEST_F(LimiterHoldsTest, HoldUsesItsLimit) {
  EXPECT_TRUE(Reserve({{"k", "100/s"}}, "a", hours{1}));
  now_ += seconds{1};
  SweepAll();
  EXPECT_EQ(buckets(), 0U);
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 0U);
}

TEST_F(LimiterHoldsTest, SameWordsAgainAreAHeartbeat) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", seconds{10}));
  now_ += seconds{9};
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", seconds{10}));
  EXPECT_EQ(upkeep_.counts().open_holds, 1U);
  now_ += seconds{9};
  EXPECT_EQ(upkeep_.counts().open_holds, 1U);
  EXPECT_EQ(Remaining("k", "100/h"), 50);
  now_ += seconds{1};
  EXPECT_EQ(Remaining("k", "100/h"), 100);
}

TEST_F(LimiterHoldsTest, HeartbeatIsAdmittedWhateverIsLeft) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 100}}, "a", seconds{10}));
  const absl::StatusOr<Grant> again = Hold(Of({{"k", "100/h", 100}}), "a", seconds{10});
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->verdict.allowed);
  EXPECT_EQ(again->verdict.remaining, 0);
}

TEST_F(LimiterHoldsTest, OtherWordsUnderTheIdAreAnError) {
  EXPECT_TRUE(Reserve({{"k", "100/h"}}, "a", minutes{1}));
  EXPECT_EQ(ErrorOf({{"k", "100/h", 2}}, "a", 1), "hold 'a' is another request");
  EXPECT_EQ(Remaining("k", "100/h"), 99);
  EXPECT_TRUE(Reserve({{"other", "100/h", 2}}, "a", minutes{1})) << "ids belong to a key";
}

TEST_F(LimiterHoldsTest, SettledIdIsNotReservedAgain) {
  EXPECT_TRUE(Reserve({{"k", "100/h"}}, "a", hours{1}));
  EXPECT_TRUE(Commit("a", "k"));
  EXPECT_EQ(ErrorOf({{"k", "100/h"}}, "a", 0), "hold 'a' is settled");
  now_ += kHoldMarkMax - Nanos{1};
  EXPECT_TRUE(Commit("a", "k"));
  now_ += Nanos{1};
  EXPECT_FALSE(Commit("a", "k"));
  EXPECT_TRUE(Reserve({{"k", "100/h"}}, "a", hours{1}));
}

TEST_F(LimiterHoldsTest, DenialHoldsNothing) {
  EXPECT_FALSE(Reserve({{"k", "100/h", 101}}, "a", minutes{1}));
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
  EXPECT_FALSE(Commit("a", "k"));
}

TEST_F(LimiterHoldsTest, OnlyNamedLimitsBecomeTheirTrueCost) {
  EXPECT_TRUE(
      Reserve({{"k", "10/h"}, {"k", "1000/h", 100}, {"k", "20k/h,fixed", 100}}, "a", minutes{1}));
  const Settled settled =
      Settle("a", {"k"}, {{"k", LimitOf("1000/h"), 40}, {"k", LimitOf("20k/h,fixed"), 300}});
  EXPECT_TRUE(settled.settled);
  ASSERT_EQ(settled.verdict.decisions.size(), 2U);
  EXPECT_EQ(settled.verdict.decisions[0].remaining, 960);
  EXPECT_EQ(settled.verdict.decisions[1].remaining, 19'700);
  EXPECT_EQ(Remaining("k", "10/h"), 9);
}

TEST_F(LimiterHoldsTest, LimitThatWasNotReservedIsAnError) {
  EXPECT_TRUE(Reserve({{"k", "10/h", 5}}, "a", minutes{1}));
  const Settled settled = Settle("a", {"k"}, {{"k", LimitOf("10/h"), 1}, {"k", LimitOf("9/h"), 1}});
  EXPECT_EQ(settled.foreign, 1U);
  EXPECT_EQ(Remaining("k", "10/h"), 5) << "nothing has changed";
}

TEST_F(LimiterHoldsTest, LimitThatIsNamedTwiceCostsTheSum) {
  EXPECT_TRUE(Reserve({{"k", "10/h", 3}, {"k", "10/h", 3}}, "a", minutes{1}));
  EXPECT_TRUE(Settle("a", {"k"}, {{"k", LimitOf("10/h"), 1}, {"k", LimitOf("10/h"), 2}}).settled);
  EXPECT_EQ(Remaining("k", "10/h"), 7);
}

TEST_F(LimiterHoldsTest, SeveralKeysAreSettledTogetherOrNot) {
  EXPECT_TRUE(Reserve({{"a", "10/h", 5}, {"b", "10/h", 5}}, "id", minutes{1}));
  EXPECT_EQ(upkeep_.counts().open_holds, 2U);
  EXPECT_FALSE(Settle("id", {"a", "c"}, {}, 0).settled);
  EXPECT_EQ(Remaining("a", "10/h"), 5);
  EXPECT_TRUE(Settle("id", {"a"}, {}, 0).settled);
  EXPECT_EQ(Remaining("a", "10/h"), 10);
  EXPECT_EQ(Remaining("b", "10/h"), 5);
  EXPECT_TRUE(Settle("id", {"a", "b"}, {}, 1).settled) << "the rest, key by key";
  EXPECT_EQ(Remaining("a", "10/h"), 10);
  EXPECT_EQ(Remaining("b", "10/h"), 9);
}

TEST_F(LimiterHoldsTest, IdOfSomeKeysOnlyIsAnotherRequest) {
  EXPECT_TRUE(Reserve({{"a", "10/h"}}, "id", minutes{1}));
  EXPECT_EQ(ErrorOf({{"a", "10/h"}, {"b", "10/h"}}, "id", 0), "hold 'id' is another request");
  EXPECT_EQ(Remaining("b", "10/h"), 10);
}

TEST_F(LimiterHoldsTest, TakeIsSettledInGrantedTokens) {
  const Request request = Of({{"k", "100/h", 3}, {"k", "1000/h", 20}});
  const absl::StatusOr<Grant> grant = Hold(request, "a", minutes{1}, 0, 10);
  ASSERT_TRUE(grant.ok());
  EXPECT_EQ(grant->granted, 10);
  EXPECT_EQ(Hold(request, "a", minutes{1}, 0, 10)->granted, 10) << "again: the first grant";
  EXPECT_TRUE(Commit("a", "k", 4));
  EXPECT_EQ(Remaining("k", "100/h"), 100 - 4 * 3);
  EXPECT_EQ(Remaining("k", "1000/h"), 1000 - 4 * 20);
}

TEST_F(LimiterHoldsTest, ShadowThatWasNotChargedHasNothingToGiveBack) {
  EXPECT_TRUE(Reserve({{"k", "10/h,shadow", 8}}, "a", minutes{1}));
  EXPECT_TRUE(Reserve({{"k", "10/h,shadow", 8}}, "b", minutes{1})) << "it denies nothing";
  EXPECT_TRUE(Cancel("b", "k"));
  EXPECT_EQ(Remaining("k", "10/h,shadow"), 2);
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(Remaining("k", "10/h,shadow"), 10);
}

// --- Other changes between a reservation and its settlement ---

TEST_F(LimiterHoldsTest, RefundBetweenThemIsNotRepeated) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 100}}, "a", minutes{1}));
  static_cast<void>(limiter_->Refund(Of({{"k", "100/h", 100}}), now_));
  EXPECT_TRUE(Decide({{"k", "100/h", 100}}).allowed);
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(Remaining("k", "100/h"), 0);
}

TEST_F(LimiterHoldsTest, ChargeThatWasCutOffIsNotGivenBack) {
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 100}}, "a", minutes{1}));
  ASSERT_TRUE(limiter_->Charge(Of({{"k", "100/h,fixed", 170}}), now_).ok());
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(limiter_->Inspect("k", now_).front().used, 170);
}

TEST_F(LimiterHoldsTest, BanBetweenThemStays) {
  EXPECT_TRUE(Reserve({{"k", "5/m,ban=15m", 5}}, "a", minutes{1}));
  EXPECT_FALSE(Decide({{"k", "5/m,ban=15m"}}).allowed);
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(limiter_->Inspect("k", now_).front().ban_left, minutes{15});
}

TEST_F(LimiterHoldsTest, TimeThatWasCutAsWrongIsNotGivenBack) {
  EXPECT_TRUE(Reserve({{"k", "100/s", 100}}, "a", hours{1}));
  now_ -= hours{1};
  EXPECT_FALSE(Decide({{"k", "100/s"}}).allowed);
  const Told before = Peek({{"k", "100/s", 0}});
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(Peek({{"k", "100/s", 0}}), before);
}

TEST_F(LimiterHoldsTest, ResetDropsTheHoldsOfTheKey) {
  EXPECT_TRUE(Reserve({{"a", "10/h", 5}, {"b", "10/h", 5}}, "id", minutes{1}));
  EXPECT_TRUE(Reserve({{"a", "10/h", 1}}, "settled", minutes{1}));
  EXPECT_TRUE(Commit("settled", "a"));
  Reset("a");
  EXPECT_EQ(upkeep_.counts().open_holds, 1U);
  EXPECT_FALSE(Commit("id", "a"));
  EXPECT_FALSE(Commit("settled", "a"));
  EXPECT_TRUE(Commit("id", "b", 0));
  EXPECT_EQ(Remaining("b", "10/h"), 10);
}

TEST_F(LimiterHoldsTest, ResetOfALimitLeavesNothingOfItToGiveBack) {
  EXPECT_TRUE(Reserve({{"k", "10/d,fixed,aligned", 5}, {"k", "10/h", 5}}, "a", minutes{1}));
  Reset("k", {"10/d,fixed,aligned"});
  EXPECT_TRUE(Decide({{"k", "10/d,fixed,aligned", 10}}).allowed);
  EXPECT_TRUE(Cancel("a", "k"));
  EXPECT_EQ(Remaining("k", "10/d,fixed,aligned"), 0);
  EXPECT_EQ(Remaining("k", "10/h"), 10);
}

TEST_F(LimiterHoldsTest, ClearDropsAllHolds) {
  EXPECT_TRUE(Reserve({{"a", "10/h"}, {"b", "10/h"}}, "id", minutes{1}));
  upkeep_.Clear();
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
  EXPECT_FALSE(Commit("id", "a"));
}

// All keys wait for Clear().
TEST_F(LimiterHoldsTest, ClearVisitsNoHoldHoweverManyThereAre) {
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(Reserve({{"a", "5000,held"}}, std::to_string(i), minutes{1}));
  }
  const std::uint64_t visited = Limiter::SlotsVisited();
  upkeep_.Clear();
  EXPECT_EQ(Limiter::SlotsVisited(), visited);
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
  EXPECT_TRUE(Reserve({{"a", "5000,held", 5000}}, "all", minutes{1}));
  while (upkeep_.FreeDiscarded()) {
  }
  EXPECT_EQ(upkeep_.counts().open_holds, 1U);
}

TEST_F(LimiterHoldsTest, DeletedPolicyTakesItsHoldsAlong) {
  const Limit held = HeldLimit(5);
  const Limit owned = LimitOf("10/h").OwnedBy({PolicyId{7}, 0});
  const Request both = {CheckOf("k", owned, 1), CheckOf("k", held, 2)};
  ASSERT_TRUE(Hold(both, "a", minutes{1})->verdict.allowed);
  EXPECT_EQ(Slots("k", held), 3);
  const PolicyId gone[] = {PolicyId{7}};
  LimiterRestore(limiter_->table()).SetFollowing(true);
  upkeep_.ForgetPolicies(gone);
  EXPECT_EQ(upkeep_.counts().open_holds, 1U) << "a primary says what is gone";
  LimiterRestore(limiter_->table()).SetFollowing(false);
  upkeep_.ForgetPolicies(gone);
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
  EXPECT_EQ(Slots("k", held), 5) << "a slot is never lost";
}

// --- Held limits ---

TEST_F(LimiterHoldsTest, L22SlotsAreOutAsLongAsTheirHolds) {
  const Limit held = HeldLimit(2);
  const Request slot = {CheckOf("k", held, 1)};
  EXPECT_TRUE(Hold(slot, "a", seconds{60})->verdict.allowed);
  EXPECT_TRUE(Hold(slot, "b", seconds{10})->verdict.allowed);
  const Verdict denied = Hold(slot, "c", seconds{10})->verdict;
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.retry_after, seconds{60}) << "an upper bound";
  EXPECT_TRUE(Commit("a", "k"));
  EXPECT_EQ(Slots("k", held), 1);
  now_ += seconds{10};
  EXPECT_EQ(Slots("k", held), 2);
}

TEST_F(LimiterHoldsTest, RequestWithoutASlotTakesNothing) {
  const Limit held = HeldLimit(1);
  const Limit rate = LimitOf("10/h");
  const Request job = {CheckOf("k", held, 1), CheckOf("k", rate, 1)};
  EXPECT_TRUE(Hold(job, "a", seconds{60})->verdict.allowed);
  EXPECT_FALSE(Hold(job, "b", seconds{60})->verdict.allowed);
  EXPECT_EQ(Remaining("k", "10/h"), 9);
  EXPECT_TRUE(Commit("a", "k"));
  EXPECT_EQ(Remaining("k", "10/h"), 9) << "the rate stays charged";
  EXPECT_EQ(Slots("k", held), 1);
}

TEST_F(LimiterHoldsTest, HeartbeatKeepsTheSlot) {
  const Limit held = HeldLimit(1);
  const Request slot = {CheckOf("k", held, 1)};
  for (int beat = 0; beat < 5; ++beat) {
    EXPECT_TRUE(Hold(slot, "a", seconds{10})->verdict.allowed);
    EXPECT_FALSE(Hold(slot, "b", seconds{10})->verdict.allowed);
    now_ += seconds{9};
  }
  EXPECT_EQ(limiter_->Peek({CheckOf("k", held, 1)}, now_).retry_after, seconds{1});
}

TEST_F(LimiterHoldsTest, StaleWorkerFreesNoOthersSlot) {
  const Limit held = HeldLimit(1);
  const Request slot = {CheckOf("k", held, 1)};
  EXPECT_TRUE(Hold(slot, "stale", seconds{10})->verdict.allowed);
  now_ += seconds{10};
  EXPECT_TRUE(Hold(slot, "next", seconds{10})->verdict.allowed);
  EXPECT_FALSE(Commit("stale", "k"));
  EXPECT_EQ(Slots("k", held), 0);
}

TEST_F(LimiterHoldsTest, SlotsAreGivenBackWhateverTheTrueCost) {
  const Limit held = HeldLimit(5);
  EXPECT_TRUE(Hold({CheckOf("k", held, 3)}, "a", seconds{10})->verdict.allowed);
  EXPECT_EQ(Settle("a", {"k"}, {{"k", held, 1}}).foreign, 0U) << "a held limit has no true cost";
  EXPECT_EQ(Slots("k", held), 2);
  EXPECT_TRUE(Settle("a", {"k"}, {{"k", held}}).settled);
  EXPECT_EQ(Slots("k", held), 5);
}

TEST_F(LimiterHoldsTest, ResetOfAHeldLimitDropsItsHolds) {
  const Limit held = HeldLimit(5);
  const Limit other = HeldLimit(4);
  EXPECT_TRUE(
      Hold({CheckOf("k", held, 3), CheckOf("k", other, 2)}, "a", hours{1})->verdict.allowed);
  EXPECT_TRUE(Hold({CheckOf("k", other, 1)}, "b", hours{1})->verdict.allowed);
  EXPECT_EQ(limiter_->Reset("k", std::vector<Limit>{held}, now_), 1U);
  EXPECT_EQ(Slots("k", held), 5);
  EXPECT_EQ(Slots("k", other), 3);
  EXPECT_FALSE(Commit("a", "k"));
}

// --- Bounds ---

class LimiterFewHoldsTest : public LimiterHoldsTest {
 protected:
  LimiterFewHoldsTest() : LimiterHoldsTest({.holds_max = 2, .time_is_ordered = false}) {}
};

TEST_F(LimiterFewHoldsTest, TooManyHoldsAreRefusedBeforeAnythingIsCharged) {
  EXPECT_TRUE(Reserve({{"a", "10/h"}}, "1", minutes{1}));
  EXPECT_EQ(ErrorOf({{"b", "10/h"}, {"c", "10/h"}}, "2", 0), "too many holds");
  EXPECT_EQ(Remaining("b", "10/h"), 10);
  EXPECT_TRUE(Reserve({{"b", "10/h"}}, "2", minutes{1}));
  EXPECT_EQ(ErrorOf({{"b", "10/h"}}, "3", 0), "too many holds");
  EXPECT_TRUE(Reserve({{"b", "10/h"}}, "2", minutes{1})) << "a heartbeat adds no hold";
  EXPECT_TRUE(Commit("1", "a"));
  EXPECT_TRUE(Reserve({{"c", "10/h"}}, "3", minutes{1})) << "marks do not count";
}

TEST_F(LimiterHoldsTest, NamedUserHasATenthOfAllHolds) {
  Limiter limiter({.holds_max = 20});
  const Limit limit = LimitOf("100/h");
  const auto hold = [&](std::string_view id, Introducer user) {
    const Request request = {
        {.key = "k", .limit = &limit, .hint = nullptr, .hash = limiter.Hash("k")}};
    return std::string(
        limiter.DecideAndHold(request, {.id = id, .ttl = minutes{1}, .user = user}, now_)
            .status()
            .message());
  };
  const Introducer ann = IntroducerNamed("ann");
  EXPECT_EQ(hold("1", ann), "");
  EXPECT_EQ(hold("2", ann), "");
  EXPECT_EQ(hold("3", ann), "too many holds");
  EXPECT_EQ(hold("3", IntroducerNamed("bob")), "");
  const SettledKey key[] = {{{"k", limiter.Hash("k")}, std::nullopt}};
  EXPECT_TRUE(limiter.SettleHold({.id = "1", .keys = key, .named = {}}, now_)->settled);
  EXPECT_EQ(hold("4", ann), "") << "settled ones do not count";
  for (int i = 5; i <= 21; ++i) EXPECT_EQ(hold(std::to_string(i), kSoleIntroducer), "") << i;
  EXPECT_EQ(hold("22", kSoleIntroducer), "too many holds");
  now_ += minutes{1};
  EXPECT_EQ(hold("5", ann), "") << "nor do expired ones";
}

TEST_F(LimiterFewHoldsTest, OldestMarksGoFirst) {
  for (const char* id : {"1", "2", "3"}) {
    EXPECT_TRUE(Reserve({{"k", "10/h"}}, id, minutes{1}));
    EXPECT_TRUE(Commit(id, "k"));
    now_ += seconds{1};
  }
  EXPECT_FALSE(Commit("1", "k"));
  EXPECT_TRUE(Commit("2", "k"));
  EXPECT_TRUE(Commit("3", "k"));
}

// A hold that is settled again right away is a mark still, however many there are, and however soon
// it expires.
TEST_F(LimiterFewHoldsTest, AMarkOutlivesItsOwnSettlement) {
  for (const char* key : {"a", "b", "c", "d"}) {
    EXPECT_TRUE(Reserve({{key, "10/h"}}, "1", minutes{1}));
    EXPECT_TRUE(Commit("1", key));
    EXPECT_TRUE(Commit("1", key)) << key;
  }
  EXPECT_TRUE(Reserve({{"a", "10/h"}}, "2", seconds{1}));
  EXPECT_TRUE(Commit("2", "a"));
  EXPECT_TRUE(Commit("2", "a"));
  EXPECT_FALSE(Commit("1", "a")) << "it gave way";
}

TEST_F(LimiterHoldsTest, InspectShowsOpenAndSettledHolds) {
  EXPECT_TRUE(Reserve({{"k", "10/h", 2}, {"k", "20/h", 3}}, "b", minutes{1}));
  EXPECT_TRUE(Reserve({{"k", "10/h"}}, "a", hours{1}));
  EXPECT_TRUE(Commit("a", "k"));
  now_ += seconds{1};
  const std::vector<LiveHold> holds = limiter_->InspectHolds("k", now_);
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_EQ(holds[0].id, "b");
  EXPECT_EQ(holds[0].expires_in, seconds{59});
  EXPECT_FALSE(holds[0].settled);
  ASSERT_EQ(holds[0].parts.size(), 2U);
  EXPECT_EQ(holds[0].parts[1].limit, LimitOf("20/h"));
  EXPECT_EQ(holds[0].parts[1].cost, 3U);
  EXPECT_EQ(holds[1].id, "a");
  EXPECT_EQ(holds[1].expires_in, seconds{59});
  EXPECT_TRUE(holds[1].settled);
}

// At a standing clock each slot goes to one thread, and each comes back once.
TEST_F(LimiterHoldsTest, ThreadsShareTheSlots) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 2'000;
  constexpr std::int64_t kSlots = 3;
  const Limit held = HeldLimit(kSlots);
  std::atomic<std::int64_t> out{0};
  std::atomic<std::int64_t> admitted{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < kRounds; ++round) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(round);
        if (!Hold({CheckOf("k", held, 1)}, id, hours{1})->verdict.allowed) continue;
        ++admitted;
        EXPECT_LE(++out, kSlots);
        --out;
        EXPECT_TRUE(Cancel(id, "k"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Slots("k", held), kSlots);
  EXPECT_EQ(upkeep_.counts().settled_holds, static_cast<std::uint64_t>(admitted.load()));
  EXPECT_GT(admitted, kRounds);
}

}  // namespace
}  // namespace weir
