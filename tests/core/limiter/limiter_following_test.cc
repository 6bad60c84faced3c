// Goal: each promise of a limiter that follows a primary (limiter.h), one by one. Method: records
// of a primary that the test uses in words, applied by hand or over a link without bytes
// (replica_link.h). Random use is in limiter_replica_test.cc.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/change_hub.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_restore.h"
#include "core/limiter/sweeper.h"
#include "tests/core/limiter/hold_fixture.h"
#include "tests/core/limiter/replica_link.h"
#include "tests/support/table_contents.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// The primary is the fixture's limiter.
class LimiterFollowingTest : public HoldFixture {
 protected:
  explicit LimiterFollowingTest(const LimiterOptions& replica = {.logs_changes = true})
      : HoldFixture({.logs_changes = true}), replica_(replica) {
    replica_restore_.SetFollowing(true);
  }

  // The clock of the hub is the fixture's time.
  void Sync() {
    clock_.Set(now_);
    link_.Sync();
  }
  void ExpectEqual() {
    Sync();
    LimitNumbers numbers;
    EXPECT_EQ(
        DifferenceOf(ContentsOf(*limiter_, now_, numbers), ContentsOf(replica_, now_, numbers)),
        "");
  }
  std::int64_t RemainingThere(std::string_view key, std::string_view limit) {
    const Limit& named = Named(limit);
    return replica_
        .Peek({{.key = key, .limit = &named, .cost = 0, .hash = replica_.Hash(key)}}, now_)
        .remaining;
  }
  // Settles the hold with a cost of 0. Returns whether there was one.
  bool CancelThere(std::string_view id, std::string_view key) {
    const SettledKey keys[] = {{{key, replica_.Hash(key)}, 0}};
    const auto settled = replica_.SettleHold({.id = id, .keys = keys, .named = {}}, now_);
    return settled.ok() && settled->settled;
  }
  // As after a heartbeat of the primary.
  void SweepThere() {
    replica_restore_.SetTold(now_);
    for (std::size_t i = 0; i < kPartitionCount; ++i) replica_upkeep_.Sweep(i, now_);
  }
  void ReclaimAll() {
    while (upkeep_.ReclaimLimits(1, 100) > 0) {
    }
  }

  FakeClock clock_;
  Policies policies_;
  ChangeHub hub_{limiter_->table(), policies_, clock_, true};
  Limiter replica_;
  LimiterUpkeep replica_upkeep_{replica_.table()};
  LimiterRestore replica_restore_{replica_.table()};
  ReplicaLink link_{hub_, replica_};
};

// --- Order within one batch ---

TEST_F(LimiterFollowingTest, ALimitThatHasGotAnotherIdKeepsItsBucket) {
  Decide({{"a", "10/h", 3}});
  Sync();
  Reset("a");
  ReclaimAll();
  Decide({{"a", "10/h", 4}});  // its id is the next one: the old one waits for a save
  ExpectEqual();
  EXPECT_EQ(RemainingThere("a", "10/h"), 6);
}

TEST_F(LimiterFollowingTest, SumsStayWhileTheKeyHasAnOpenHold) {
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 50}}, "a", hours{1}));
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 10}}, "b", hours{1}));
  limiter_->Refund(Of({{"k", "100/h,fixed", 30}}), now_);
  Sync();
  // The names are in both orders.
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 1}}, "aa", hours{1}));
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 1}}, "c", hours{1}));
  EXPECT_TRUE(Commit("a", "k"));
  EXPECT_TRUE(Commit("b", "k"));
  ExpectEqual();
}

TEST_F(LimiterFollowingTest, SumsOfAnIdThatWasGivenOutAgainComeWithTheHold) {
  EXPECT_TRUE(Reserve({{"k", "50/d", 1}}, "stays", hours{1}));
  EXPECT_TRUE(limiter_->Charge(Of({{"k", "3/s", 2}}), now_).ok());  // counted, though not held
  Sync();
  now_ += minutes{1};
  SweepAll();
  ReclaimAll();
  Sync();
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 50}}, "id", hours{1}));
  ExpectEqual();
  replica_restore_.SetFollowing(false);
  EXPECT_TRUE(Cancel("id", "k"));
  EXPECT_TRUE(CancelThere("id", "k"));
  EXPECT_EQ(RemainingThere("k", "100/h,fixed"), Remaining("k", "100/h,fixed"));
}

TEST_F(LimiterFollowingTest, AnIdThatWasOpenedAgainIsAnotherHold) {
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 50}}, "id", hours{1}));
  EXPECT_TRUE(Reserve({{"k", "50/d", 1}}, "stays", hours{1}));
  Sync();
  limiter_->Refund(Of({{"k", "100/h,fixed", 30}}), now_);
  EXPECT_TRUE(Cancel("id", "k"));
  now_ += kHoldMarkMax + Nanos{1};
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 20}}, "id", hours{1}));
  ExpectEqual();
}

// --- A clock that goes back ---

// A thread of the replica reads its own clock, two hours ahead of the primary's, and still uses
// that time after the replica has heard from the primary.
TEST_F(LimiterFollowingTest, NothingIsDroppedByATimeThatThePrimaryHasNotTold) {
  const Instant ahead = now_ + hours{2};
  Decide({{"k", "5/h", 5}});
  Sync();
  const std::size_t partition = replica_.Hash("k").partition;
  EXPECT_EQ(replica_upkeep_.Sweep(partition, ahead), 0U);
  EXPECT_EQ(RemainingThere("k", "5/h"), 0);
  LimiterChanges copy;
  ChangeReader(replica_.table()).CopyPartition(partition, ahead, copy);
  EXPECT_EQ(copy.buckets.size(), 1U) << "a save keeps it";
  clock_.Set(ahead);
  ChangeHub hub(replica_.table(), policies_, clock_, true);
  {
    const ChangesLock changes_lock(hub.reader());
    EXPECT_EQ(hub.DropTime(), now_) << "nor does a compaction drop it";
  }
  replica_restore_.SetTold(ahead);
  EXPECT_EQ(replica_upkeep_.Sweep(partition, ahead), 1U);
}

// --- Holds ---

TEST_F(LimiterFollowingTest, NoHoldExpiresWhileItFollows) {
  EXPECT_TRUE(Reserve({{"k", "100/s,burst=1000", 500}}, "id", seconds{2}));
  Decide({{"k", "100/s,burst=1000", 500}});
  Sync();
  now_ += seconds{4};
  EXPECT_EQ(replica_.InspectHolds("k", now_).size(), 0U) << "shows what is not due";
  SweepThere();
  replica_upkeep_.ExpireHolds(now_);
  EXPECT_EQ(replica_upkeep_.counts().open_holds, 1U);
  EXPECT_EQ(RemainingThere("k", "100/s,burst=1000"), 400);
  // The expiry is that of the due time: later, less could be given back.
  replica_restore_.SetFollowing(false);
  EXPECT_EQ(RemainingThere("k", "100/s,burst=1000"), 700);
  EXPECT_EQ(replica_upkeep_.counts().open_holds, 0U);
  EXPECT_EQ(Remaining("k", "100/s,burst=1000"), 700);
}

// Due holds that may not be settled are no reason to hurry.
TEST_F(LimiterFollowingTest, TheSweeperStaysCalm) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "id", seconds{2}));
  Sync();
  now_ += seconds{4};
  Sweeper sweeper(replica_.table());
  while (!sweeper.Step(now_)) {
  }
  EXPECT_FALSE(sweeper.has_left_due());
  EXPECT_EQ(sweeper.LapTime(), Sweeper::kCalmLap);
}

TEST_F(LimiterFollowingTest, TakesWhatThePrimaryHasSettled) {
  EXPECT_TRUE(Reserve({{"k", "5,held", 2}, {"k", "100/h", 50}}, "open", hours{1}));
  EXPECT_TRUE(Reserve({{"k", "5,held", 1}, {"k", "100/h", 20}}, "settled", hours{1}));
  EXPECT_TRUE(Commit("settled", "k", 5));
  ExpectEqual();
  EXPECT_EQ(RemainingThere("k", "5,held"), 3);
  EXPECT_EQ(RemainingThere("k", "100/h"), 45);
  EXPECT_TRUE(Reserve({{"k", "5,held", 2}, {"k", "100/h", 50}}, "open", hours{2})) << "renewed";
  EXPECT_TRUE(Reset("k") > 0);
  ExpectEqual();
  EXPECT_EQ(replica_upkeep_.counts().open_holds, 0U);
  EXPECT_EQ(RemainingThere("k", "5,held"), 5);
}

// Its slots would be lost at its end.
TEST_F(LimiterFollowingTest, SliceOfAHeldLimitIsDropped) {
  const KeyHash key = replica_.Hash("k");
  for (const bool held : {false, true}) {
    LimiterChanges records;
    records.limits = {{LimitId{0}, Named(held ? "5,held" : "100/h")}};
    const SavedHold slice = {.lapses = true, .expiry = now_ + hours{1}, .parts = {{.cost = 2}}};
    records.holds = {{static_cast<std::uint16_t>(key.partition), key.hash, "slice", slice}};
    EXPECT_EQ(replica_restore_.Apply(records, now_), held ? 1U : 0U);
    EXPECT_EQ(replica_upkeep_.counts().open_slices, held ? 0U : 1U);
  }
}

// --- A partition that is rewritten ---

TEST_F(LimiterFollowingTest, ARewrittenPartitionBecomesItsRecords) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "gone", hours{1}));
  EXPECT_TRUE(Reserve({{"k", "5,held"}}, "slots", hours{1}));
  Decide({{"k", "7/d"}});
  Sync();
  const std::size_t partition = limiter_->Hash("k").partition;
  EXPECT_GT(replica_upkeep_.size().buckets, 0U);
  LimiterChanges empty;
  empty.rewritten_partitions = {static_cast<std::uint16_t>(partition)};
  EXPECT_EQ(replica_restore_.Apply(empty, now_), 0U);
  EXPECT_EQ(replica_upkeep_.size().buckets, 0U);
  EXPECT_EQ(replica_upkeep_.counts().open_holds, 0U);
  EXPECT_EQ(replica_upkeep_.counts().hold_bytes, 0U);
  {
    ChangeReader reader(limiter_->table());
    const ChangesLock changes_lock(reader);
    LimiterChanges copy;
    reader.CopyPartition(partition, now_, copy);
    EXPECT_EQ(replica_restore_.Apply(WithDictionary(reader, std::move(copy)), now_), 0U);
  }
  ExpectEqual();
  EXPECT_EQ(RemainingThere("k", "5,held"), 4);
}

// --- Time ---

TEST_F(LimiterFollowingTest, NothingIsDecidedBeforeThePrimarysTime) {
  Decide({{"a", "1/s,fixed"}});
  Sync();
  replica_restore_.SetFollowing(false);
  const Instant sent = now_;
  now_ -= seconds{30};  // by the replica's clock
  const Limit& limit = Named("1/s,fixed");
  const Verdict verdict =
      replica_.Peek({{.key = "a", .limit = &limit, .cost = 1, .hash = replica_.Hash("a")}}, now_);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.retry_after, seconds{1}) << "counted from " << sent;
}

// --- Room ---

// Ids of limits that are idle on the replica make room for those of the records.
class FewLimitsTest : public LimiterFollowingTest {
 protected:
  FewLimitsTest() : LimiterFollowingTest({.limits_max = 50}) {}
};

TEST_F(FewLimitsTest, IdleLimitsMakeRoom) {
  int next = 1;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 30; ++i) Decide({{"a", std::to_string(next++) + "/s"}});
    ExpectEqual();
    now_ += minutes{1};
    SweepAll();
    ReclaimAll();
    SweepThere();
  }
  EXPECT_EQ(link_.dropped(), 0U);
}

// The memory of Clear() is freed later, but the records need ids now.
TEST_F(FewLimitsTest, ClearMakesRoomAtOnce) {
  int next = 1;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 50; ++i) Decide({{std::to_string(i), std::to_string(next++) + "/h"}});
    ExpectEqual();
    upkeep_.Clear();
  }
  EXPECT_EQ(link_.dropped(), 0U);
}

TEST_F(FewLimitsTest, RecordsWithoutRoomForTheirLimitAreDropped) {
  for (int i = 1; i <= 70; ++i) Decide({{"a", std::to_string(i) + "/h"}});
  EXPECT_TRUE(Reserve({{"b", "100/d", 5}}, "id", hours{1}));
  Sync();
  EXPECT_EQ(replica_upkeep_.size().limits, 50U);
  EXPECT_GE(link_.dropped(), 20U);
  Reset("a");
  EXPECT_TRUE(Cancel("id", "b"));
  Sync();
  EXPECT_EQ(replica_upkeep_.size().buckets, 0U);
}

class LittleMemoryTest : public LimiterFollowingTest {
 protected:
  LittleMemoryTest()
      : LimiterFollowingTest({.logs_changes = true, .memory_max = TableBound::kBytesMin}) {}
};

// A replica lacks the buckets that it evicts, and nothing else.
TEST_F(LittleMemoryTest, WhatIsThereIsThePrimarys) {
  constexpr std::size_t kPartition = kPartitionCount - 1;
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < 200; ++i) {
    std::string key = std::to_string(i);
    if (limiter_->Hash(key).partition == kPartition) keys.push_back(std::move(key));
  }
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto cost = static_cast<std::int64_t>((i * 7 + static_cast<std::size_t>(round)) % 9);
      switch (i % 5) {
        case 0:
          static_cast<void>(Hold(Of({{keys[i], "9/h", 1}, {keys[i], "5,held"}}), "id", minutes{2}));
          break;
        case 1:
          static_cast<void>(Settle("id", {keys[i - 1]}, {}, cost % 3));
          break;
        case 2:
          Reset(keys[i]);
          break;
        default:
          Decide({{keys[i], "20/h", cost}, {keys[i], "9/m,sliding"}});
      }
    }
    now_ += seconds{30};
    Sync();
    if (round % 3 == 0) replica_upkeep_.Sweep(kPartition, now_);
  }
  EXPECT_GT(replica_upkeep_.counts().evicted, 0U);
  LimitNumbers numbers;
  const TableContents primary = ContentsOf(*limiter_, now_, numbers);
  const TableContents replica = ContentsOf(replica_, now_, numbers);
  EXPECT_EQ(primary.holds, replica.holds);
  EXPECT_LT(replica.buckets.size(), primary.buckets.size());
  for (const auto& [name, bucket] : replica.buckets) {
    const auto found = primary.buckets.find(name);
    ASSERT_NE(found, primary.buckets.end());
    EXPECT_EQ(found->second, bucket);
  }
}

// --- Another secret ---

TEST_F(LimiterFollowingTest, StartOverForgetsEverything) {
  const HashSecret other = {1, 2, 3};
  EXPECT_TRUE(Reserve({{"k", "10/h", 4}}, "id", hours{1}));
  Decide({{"a", "10/h", 9}});
  Sync();
  const KeyHash before = replica_.Hash("a");
  const LimiterChanges last = ChangeReader(replica_.table()).TakeChanges(now_, false);
  EXPECT_FALSE(last.new_secret);
  replica_restore_.StartOver(other);
  EXPECT_EQ(replica_.hasher().secret(), other);
  EXPECT_EQ(replica_.Hash("a"), KeyHasher(other)("a"));
  EXPECT_NE(replica_.Hash("a"), before);
  EXPECT_EQ(replica_upkeep_.size().buckets, 0U);
  EXPECT_EQ(replica_upkeep_.counts().open_holds, 0U);
  EXPECT_EQ(RemainingThere("a", "10/h"), 10);
  EXPECT_EQ(RemainingThere("k", "10/h"), 10);
  const LimiterChanges next = ChangeReader(replica_.table()).TakeChanges(now_, false);
  EXPECT_EQ(next.new_secret, other);
  EXPECT_EQ(next.generation, Next(last.generation));
  EXPECT_EQ(next.size(), 0U);
}

// Another primary's clock may be behind that of the last one.
TEST_F(LimiterFollowingTest, StartOverForgetsTheTimeOfTheLastDecision) {
  Decide({{"a", "1/s,fixed"}});
  Sync();
  const HashSecret same = replica_.hasher().secret();
  replica_restore_.StartOver(same);
  EXPECT_EQ(replica_.hasher().secret(), same);
  replica_restore_.SetFollowing(false);
  now_ -= hours{5};
  const Limit& limit = Named("1/s,fixed");
  const Request request = {{.key = "a", .limit = &limit, .cost = 1, .hash = replica_.Hash("a")}};
  EXPECT_TRUE(replica_.Decide(request, now_)->allowed);
  now_ += seconds{1};
  EXPECT_TRUE(replica_.Decide(request, now_)->allowed) << "a window of its own time";
}

TEST_F(LimiterFollowingTest, ARequestFromBeforeStartOverFindsNothing) {
  Decide({{"a", "10/h", 4}});
  Sync();
  const Limit& limit = Named("10/h");
  const Request request = {{.key = "a", .limit = &limit, .cost = 0, .hash = replica_.Hash("a")}};
  EXPECT_EQ(replica_.Peek(request, now_).remaining, 6);
  replica_restore_.StartOver({1, 2, 3});
  EXPECT_EQ(replica_.Peek(request, now_).remaining, 10);
}

}  // namespace
}  // namespace weir
