// Goal: a hold is there after a restart, with its bucket as its client left both, and what was
// deleted stays deleted. Method: servers that start, hold, save and end on one directory, with time
// passing while none runs.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/table/table_bound.h"
#include "persistence/hold_format.h"
#include "tests/persistence/storage_fixture.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HoldStorageTest : public StorageTest {
 protected:
  bool Hold(std::string_view key, std::string_view limit, std::string_view id, Nanos ttl,
            std::int64_t cost = 1) {
    return server_.Hold(key, LimitOf(limit), id, ttl, cost);
  }
  void SaveAndCrash() {
    Save();
    server_.End();
  }
  std::string HoldKeyOf(std::string_view key, std::string_view id,
                        TableGeneration generation = {}) {
    const KeyHash hash = server_.limiter().Hash(key);
    std::string bytes;
    AppendHoldKey({generation, hash.partition, hash.hash, id}, bytes);
    return bytes;
  }
  static std::string HoldValueOf(const SavedHold& hold) {
    std::string bytes;
    AppendHoldValue(hold, bytes);
    return bytes;
  }
};

TEST_F(HoldStorageTest, HoldIsSettledByTheNextServer) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h,fixed", "committed", std::chrono::minutes{1}, 40));
  EXPECT_TRUE(Hold("a", "100/h,fixed", "cancelled", std::chrono::minutes{1}, 30));
  EXPECT_TRUE(Hold("a", "100/h,fixed", "expires", std::chrono::seconds{10}, 20));
  SaveAndCrash();
  clock_.Advance(std::chrono::seconds{5});
  Start();
  EXPECT_EQ(server_.found().holds, 3U);
  EXPECT_EQ(server_.Remaining("a", "100/h,fixed"), 10);
  EXPECT_TRUE(server_.Commit("a", "committed", 15));
  EXPECT_TRUE(server_.Commit("a", "cancelled", 0));
  EXPECT_EQ(server_.Remaining("a", "100/h,fixed"), 65);
  clock_.Advance(std::chrono::seconds{5});
  EXPECT_EQ(server_.Remaining("a", "100/h,fixed"), 85);
}

// E4: a crash wastes at most what was out, and gives nothing back that may have been spent.
TEST_F(HoldStorageTest, SliceLapsesAlsoUnderTheNextServer) {
  Start();
  const auto slice = [&](std::string_view id, Nanos ttl, std::int64_t need) {
    EXPECT_EQ(server_.Slice("a", LimitOf("100/h"), id, ttl, need), ttl);
  };
  slice("settled", std::chrono::seconds{20}, 40);
  slice("lapses", std::chrono::seconds{10}, 30);
  slice("lapsed", std::chrono::seconds{1}, 20);
  SaveAndCrash();
  clock_.Advance(std::chrono::seconds{5});
  Start();
  EXPECT_EQ(server_.found().holds, 3U);
  EXPECT_EQ(server_.Remaining("a", "100/h"), 10);
  EXPECT_FALSE(server_.Commit("a", "lapsed", 0));
  EXPECT_TRUE(server_.Commit("a", "settled", 15));
  EXPECT_EQ(server_.Remaining("a", "100/h"), 35);
  Save();
  clock_.Advance(std::chrono::seconds{5});
  EXPECT_EQ(server_.Remaining("a", "100/h"), 35);
  EXPECT_FALSE(server_.Commit("a", "lapses", 0));
  EXPECT_TRUE(server_.Commit("a", "settled", 15)) << "by the earlier command";
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kHoldPrefix), 1U) << "the mark";
}

// A charge without its hold would be lost until time has given it back; so would a hold without its
// charge, for the others.
TEST_F(HoldStorageTest, CrashBeforeTheSaveForgetsBoth) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h", "saved", std::chrono::minutes{1}, 40));
  Save();
  EXPECT_TRUE(Hold("a", "100/h", "unsaved", std::chrono::minutes{1}, 40));
  server_.End();
  Start();
  EXPECT_EQ(server_.Remaining("a", "100/h"), 60);
  EXPECT_FALSE(server_.Commit("a", "unsaved"));
  EXPECT_TRUE(server_.Commit("a", "saved", 0));
  EXPECT_EQ(server_.Remaining("a", "100/h"), 100);
}

TEST_F(HoldStorageTest, SettlementThatWasNotSavedMayBeRepeated) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h", "id", std::chrono::minutes{1}, 40));
  Save();
  EXPECT_TRUE(server_.Commit("a", "id", 10));
  server_.End();
  Start();
  EXPECT_EQ(server_.Remaining("a", "100/h"), 60);
  EXPECT_TRUE(server_.Commit("a", "id", 10));
  EXPECT_EQ(server_.Remaining("a", "100/h"), 90);
}

TEST_F(HoldStorageTest, L21SettlementThatWasSavedIsNotRepeated) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h", "id", std::chrono::hours{1}, 40));
  EXPECT_TRUE(server_.Commit("a", "id", 10));
  SaveAndCrash();
  Start();
  EXPECT_EQ(server_.found().marks, 1U);
  EXPECT_EQ(server_.found().holds, 0U);
  EXPECT_TRUE(server_.Commit("a", "id", 10)) << "by the earlier command";
  EXPECT_EQ(server_.Remaining("a", "100/h"), 90);
  server_.End();
  clock_.Advance(kHoldMarkMax);
  Start();
  EXPECT_FALSE(server_.Commit("a", "id", 10)) << "the mark is forgotten";
  server_.End();
  EXPECT_EQ(CountRecords(kHoldPrefix), 0U) << "and erased";
}

// As of the due time, although no server ran then: at a later time less could be given back, as
// more of it has come back with time.
TEST_F(HoldStorageTest, ExpiryWhileNoServerRunsIsACancelAtItsInstant) {
  Start();
  EXPECT_TRUE(Hold("a", "100/s,burst=1000", "id", std::chrono::seconds{2}, 500));
  EXPECT_TRUE(server_.Decide("a", "100/s,burst=1000", 500));
  SaveAndCrash();
  clock_.Advance(std::chrono::seconds{4});
  Start();
  EXPECT_EQ(server_.found().expired, 1U);
  EXPECT_EQ(server_.found().holds, 0U);
  EXPECT_EQ(server_.Remaining("a", "100/s,burst=1000"), 700);
  EXPECT_FALSE(server_.Commit("a", "id", 5));
  server_.End();
  Start();
  EXPECT_EQ(server_.Remaining("a", "100/s,burst=1000"), 700) << "the first one saved nothing";
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kHoldPrefix), 0U);
  Start();
  EXPECT_EQ(server_.Remaining("a", "100/s,burst=1000"), 700);
}

// After --reset-clock a hold lasts no longer than the longest that can be.
TEST_F(HoldStorageTest, ExpiryIsBelievedUpToTheLongestTtl) {
  const FakeClock reset_clock;
  clock_.Advance(std::chrono::hours{1000});
  Start();
  for (const char* id : {"open", "settled"}) {
    EXPECT_TRUE(Hold("a", "100/h", id, std::chrono::hours{1}));
  }
  EXPECT_TRUE(server_.Commit("a", "settled"));
  SaveAndCrash();
  KeptServer later(reset_clock, {.directory = directory_.path()});
  ASSERT_TRUE(later.Start().ok());
  const std::vector<LiveHold> holds = later.limiter().InspectHolds("a", reset_clock.Now());
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_EQ(holds[0].expires_in, kHoldMax);
  EXPECT_EQ(holds[1].expires_in, kHoldMarkMax);
}

TEST_F(HoldStorageTest, HeartbeatIsSaved) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h", "id", std::chrono::seconds{10}, 40));
  Save();
  clock_.Advance(std::chrono::seconds{9});
  EXPECT_TRUE(Hold("a", "100/h", "id", std::chrono::seconds{10}, 40));
  SaveAndCrash();
  clock_.Advance(std::chrono::seconds{9});
  Start();
  EXPECT_EQ(server_.found().holds, 1U);
  EXPECT_TRUE(server_.Commit("a", "id", 0));
}

// A restart does not forget what others have given back: it is not given back again (L20).
TEST_F(HoldStorageTest, SumsSurvive) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h,fixed", "first", std::chrono::hours{1}, 50));
  EXPECT_TRUE(Hold("a", "100/h,fixed", "second", std::chrono::hours{1}, 50));
  const Limit limit = LimitOf("100/h,fixed");
  const auto refund = [&](std::int64_t cost) {
    const KeyHash hash = server_.limiter().Hash("a");
    server_.limiter().Refund({{.key = "a", .limit = &limit, .cost = cost, .hash = hash}},
                             clock_.Now());
  };
  refund(30);
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kSumsPrefix), 1U);
  Start();
  refund(10);
  EXPECT_TRUE(server_.Commit("a", "first", 0));
  EXPECT_EQ(server_.Remaining("a", "100/h,fixed"), 50) << "40 of its 50 tokens were back";
  EXPECT_TRUE(server_.Commit("a", "second", 0));
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kSumsPrefix), 0U) << "no open hold remembers them";
}

TEST_F(HoldStorageTest, ResetAndFlushStay) {
  Start();
  for (const char* key : {"reset", "kept"})
    EXPECT_TRUE(Hold(key, "100/h", "id", std::chrono::hours{1}, 40));
  Save();
  server_.limiter().Reset("reset", {}, clock_.Now());
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kHoldPrefix), 1U);
  Start();
  EXPECT_FALSE(server_.Commit("reset", "id"));
  EXPECT_TRUE(server_.Commit("kept", "id", 0));
  EXPECT_TRUE(Hold("kept", "100/h", "next", std::chrono::hours{1}, 40));
  Save();
  server_.upkeep().Clear();
  EXPECT_TRUE(Hold("new", "100/h", "id", std::chrono::hours{1}, 40));
  SaveAndCrash();
  Start();
  EXPECT_FALSE(server_.Commit("kept", "next"));
  EXPECT_EQ(server_.found().holds, 1U);
  EXPECT_TRUE(server_.Commit("new", "id", 0));
}

TEST_F(HoldStorageTest, HoldsOfADeletedPolicyAreErased) {
  Start();
  server_.SetPolicy("free", "100/h");
  const Limit limit = server_.policies().Find("free")->limits.front().limit;
  EXPECT_TRUE(server_.Hold("a", limit, "id", std::chrono::hours{1}, 40));
  Save();
  const absl::StatusOr<PolicyId> gone = server_.policies().Delete("free");
  server_.upkeep().ForgetPolicies({&*gone, 1});
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kHoldPrefix), 0U);
}

// Ends between the two steps in which a policy is deleted.
TEST_F(HoldStorageTest, OrphansAreDroppedAndErased) {
  Start();
  server_.SetPolicy("free", "100/h");
  const Limit limit = server_.policies().Find("free")->limits.front().limit;
  EXPECT_TRUE(server_.Hold("a", limit, "id", std::chrono::hours{1}, 40));
  EXPECT_TRUE(server_.Hold("a", limit, "settled", std::chrono::hours{1}, 40));
  EXPECT_TRUE(server_.Commit("a", "settled", 5));
  Save();
  EXPECT_TRUE(server_.policies().Delete("free").ok());
  SaveAndCrash();
  Start();
  EXPECT_EQ(server_.found().dropped_holds, 2U);
  EXPECT_EQ(server_.found().bad, 0U);
  EXPECT_EQ(server_.upkeep().counts().open_holds, 0U);
  server_.End();
  EXPECT_EQ(CountRecords(kHoldPrefix), 0U);
  EXPECT_EQ(CountRecords(kSumsPrefix), 0U);
}

// The numbers of a policy's limit may change while a hold is open: the hold keeps its own.
TEST_F(HoldStorageTest, HoldOfAPolicyKeepsTheNumbersThatItWasReservedAt) {
  Start();
  server_.SetPolicy("free", "100/s");
  EXPECT_TRUE(server_.Hold("a", server_.policies().Find("free")->limits.front().limit, "id",
                           std::chrono::hours{1}, 100));
  server_.SetPolicy("free", "100/h");
  SaveAndCrash();
  Start();
  EXPECT_TRUE(server_.Commit("a", "id", 0));
  EXPECT_EQ(server_.limiter().Inspect("a", clock_.Now()).size(), 0U) << "a second was charged";
}

// The bucket of a held limit has no record: a load counts it, so that the key is there.
TEST_F(HoldStorageTest, L22SlotsInUseAreThoseOfTheOpenHolds) {
  Start();
  EXPECT_TRUE(Hold("a", "5,held", "long", std::chrono::hours{1}, 2));
  EXPECT_TRUE(Hold("a", "5,held", "short", std::chrono::seconds{10}, 1));
  EXPECT_TRUE(Hold("a", "5,held", "settled", std::chrono::hours{1}, 2));
  EXPECT_TRUE(server_.Commit("a", "settled"));
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kBucketPrefix), 0U);
  clock_.Advance(std::chrono::seconds{5});
  Start();
  const std::vector<LiveBucket> buckets = server_.limiter().Inspect("a", clock_.Now());
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_EQ(buckets.front().remaining, 2);
  EXPECT_EQ(buckets.front().reset_after, std::chrono::hours{1} - std::chrono::seconds{5});
  EXPECT_FALSE(Hold("a", "5,held", "next", std::chrono::hours{1}, 3));
  SaveAndCrash();
  clock_.Advance(std::chrono::seconds{5});
  Start();
  EXPECT_EQ(server_.found().expired, 1U);
  EXPECT_TRUE(Hold("a", "5,held", "next", std::chrono::hours{1}, 3));
  EXPECT_TRUE(server_.Commit("a", "long"));
  EXPECT_EQ(server_.Remaining("a", "5,held"), 2);
}

// Where there is no room for the bucket of a held limit, it is counted when it is asked for.
TEST_F(HoldStorageTest, L22SlotsInUseNeedNoRoomForTheirBucket) {
  constexpr std::size_t kPartition = kPartitionCount - 1;
  const std::size_t keys_max =
      2 * TableBound::Within(TableBound::kBytesMin, true).SlotsMax(kPartition);
  Start();
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < keys_max; ++i) {
    std::string key = std::to_string(i);
    if (server_.limiter().Hash(key).partition != kPartition) continue;
    EXPECT_TRUE(Hold(key, "5,held", "id", std::chrono::hours{1}, 2));
    keys.push_back(std::move(key));
  }
  SaveAndCrash();
  server_.set_memory_max(TableBound::kBytesMin);
  Start();
  EXPECT_EQ(server_.found().holds, keys_max);
  EXPECT_LT(server_.upkeep().size().buckets, keys_max);
  for (const std::string& key : keys) ASSERT_EQ(server_.Remaining(key, "5,held"), 3);
}

TEST_F(HoldStorageTest, MemoryOfRestoredHoldsIsCounted) {
  Start();
  for (const char* id : {"open", "settled"}) {
    EXPECT_TRUE(Hold("a", "100/h", id, std::chrono::minutes{1}));
  }
  EXPECT_TRUE(server_.Commit("a", "settled"));
  const std::size_t bytes = server_.upkeep().counts().hold_bytes;
  EXPECT_GT(bytes, 0U);
  SaveAndCrash();
  Start();
  EXPECT_EQ(server_.upkeep().counts().hold_bytes, bytes);
  clock_.Advance(std::chrono::minutes{1});
  server_.upkeep().Sweep(server_.limiter().Hash("a").partition, clock_.Now());
  EXPECT_EQ(server_.upkeep().counts().hold_bytes, 0U);
}

// As a user's limits: they are read back for no user, so that a name costs nothing on disk.
TEST_F(HoldStorageTest, RestoredHoldsCountForNoUser) {
  Start();
  const Limit limit = LimitOf("100/h");
  const auto hold = [&](std::string_view id) {
    const KeyHash hash = server_.limiter().Hash("a");
    return server_.limiter()
        .DecideAndHold({{.key = "a", .limit = &limit, .hash = hash}},
                       {.id = id, .ttl = std::chrono::hours{1}, .user = IntroducerNamed("ann")},
                       clock_.Now())
        .ok();
  };
  EXPECT_TRUE(hold("first"));
  SaveAndCrash();
  Start();
  EXPECT_EQ(server_.upkeep().counts().open_holds, 1U);
  EXPECT_TRUE(hold("second"));
  EXPECT_TRUE(server_.Commit("a", "first"));
  EXPECT_TRUE(server_.Commit("a", "second"));
  EXPECT_EQ(server_.upkeep().counts().open_holds, 0U);
}

TEST_F(HoldStorageTest, SmallAndLargeSavesGiveTheSame) {
  constexpr int kHolds = 5000;
  Start();
  for (int i = 0; i < kHolds; ++i) {
    EXPECT_TRUE(Hold(std::to_string(i), "100/h", "id", std::chrono::hours{1}, 40));
  }
  Save();
  for (int i = 0; i < kHolds; i += 2) EXPECT_TRUE(server_.Commit(std::to_string(i), "id", 10));
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kHoldPrefix), std::size_t{kHolds});
  Start();
  EXPECT_EQ(server_.found().holds, kHolds / 2U);
  EXPECT_EQ(server_.found().marks, kHolds / 2U);
  EXPECT_EQ(server_.found().bad, 0U);
  for (int i = 0; i < kHolds; i += 501) {
    EXPECT_EQ(server_.Remaining(std::to_string(i), "100/h"), i % 2 == 0 ? 90 : 60);
  }
}

// --- An older server between two of ours ---

// 0.1.0 passes over the records of holds and loads the buckets: it writes `clock` only.
TEST_F(HoldStorageTest, HoldsThatAnOlderServerHasPassedOverAreErased) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h", "id", std::chrono::hours{1}, 40));
  EXPECT_TRUE(Hold("a", "100/h", "settled", std::chrono::hours{1}, 10));
  EXPECT_TRUE(server_.Commit("a", "settled", 5));
  EXPECT_TRUE(server_.Stop().ok());
  clock_.Advance(std::chrono::minutes{1});
  Write(MetaKey(kMetaClock), ClockValue(clock_.Now()));
  Start();
  EXPECT_EQ(server_.found().dropped_holds, 2U);
  EXPECT_EQ(server_.found().bad, 0U);
  EXPECT_EQ(server_.upkeep().counts().open_holds, 0U);
  EXPECT_EQ(server_.Remaining("a", "100/h"), 56) << "the charges stay, but for a minute's tokens";
  EXPECT_TRUE(Hold("a", "100/h", "id", std::chrono::hours{1}, 5)) << "its id is free";
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kHoldPrefix), 1U);
  EXPECT_EQ(CountRecords(kSumsPrefix), 0U);
  Start();
  EXPECT_EQ(server_.found().holds, 1U);
  EXPECT_EQ(server_.found().dropped_holds, 0U);
}

// --- Damage ---

TEST_F(HoldStorageTest, CountsImpossibleRecordsAndContinues) {
  Start();
  EXPECT_TRUE(Hold("a", "100/h", "kept", std::chrono::hours{1}, 40));  // limit 0
  EXPECT_TRUE(Hold("b", "9,held", "kept", std::chrono::hours{1}));     // limit 1
  const std::string unreadable = HoldKeyOf("a", "unreadable");
  const std::string impossible = HoldKeyOf("a", "impossible");
  const std::string without_sums = HoldKeyOf("a", "without sums");
  const std::string no_limit = HoldKeyOf("a", "no limit");
  const std::string lapses = HoldKeyOf("a", "lapses");
  const std::string good = HoldKeyOf("a", "good");
  const std::uint64_t hash = server_.limiter().Hash("a").hash;
  EXPECT_TRUE(server_.Stop().ok());
  SavedHold hold = {.expiry = clock_.Now() + std::chrono::hours{1},
                    .parts = {{.cost = 5, .left = {}, .limit = LimitId{0}}},
                    .intervals = {}};
  Write(good, HoldValueOf(hold));
  Write(unreadable, HoldValueOf(hold) + "x");
  hold.parts[0].limit = LimitId{77};
  Write(no_limit, HoldValueOf(hold));
  hold.parts[0] = {.cost = 5, .sums = {1, 0}, .limit = LimitId{0}};
  Write(without_sums, HoldValueOf(hold));
  hold.parts[0] = {.cost = 5, .left = {.extra = 1'000'000'000}, .limit = LimitId{0}};
  Write(impossible, HoldValueOf(hold));
  hold.parts[0] = {.cost = 5, .limit = LimitId{1}};
  hold.lapses = true;
  Write(lapses, HoldValueOf(hold));  // Slots would lapse, and be lost.
  std::string sums;
  AppendSumsKey({TableGeneration{}, 5, 77, LimitId{0}}, sums);
  Write(sums, "short");
  Start();
  EXPECT_EQ(server_.found().bad, 5U);
  EXPECT_EQ(server_.found().dropped_holds, 1U);
  EXPECT_EQ(server_.found().holds, 3U);
  const std::string of_hold = absl::StrCat("a hold (hash ", absl::Hex(hash, absl::kZeroPad16), ")");
  EXPECT_THAT(server_.found().errors,
              ElementsAre("the sums of a bucket: no server writes such bytes",
                          of_hold + ": its limit cannot have left it",
                          of_hold + ": its limit cannot have left it",
                          of_hold + ": no server writes such bytes",
                          of_hold + ": the sums of its bucket are missing"));
  EXPECT_TRUE(server_.Commit("a", "kept", 0));
  EXPECT_TRUE(server_.Commit("a", "good", 0));
  EXPECT_EQ(server_.Remaining("a", "100/h"), 100);
  SaveAndCrash();
  EXPECT_EQ(CountRecords(kHoldPrefix), 4U)
      << "two marks and the slot; what cannot be read is left alone";
}

TEST_F(HoldStorageTest, SumsWithoutAnOpenHoldAreErased) {
  Start();
  server_.Decide("a", "100/h");
  EXPECT_TRUE(server_.Stop().ok());
  std::string key;
  AppendSumsKey({TableGeneration{}, 5, 77, LimitId{0}}, key);
  std::string value;
  AppendSumsValue({1, 2}, value);
  Write(key, value);
  Start();
  EXPECT_EQ(server_.found().bad, 0U);
  server_.End();
  EXPECT_EQ(CountRecords(kSumsPrefix), 0U);
}

TEST_F(HoldStorageTest, HoldOfALaterGenerationContradictsIt) {
  Start();
  const std::string key = HoldKeyOf("a", "id", TableGeneration{1});
  EXPECT_TRUE(server_.Stop().ok());
  Write(key, HoldValueOf({.expiry = clock_.Now(), .parts = {}, .intervals = {}}));
  EXPECT_THAT(server_.Start().message(), HasSubstr("'generation' is damaged"));
  server_.options().database.accept_damage = true;
  Start();
  EXPECT_EQ(server_.found().bad, 1U);
  server_.End();
  EXPECT_EQ(CountRecords(kHoldPrefix), 0U);
}

}  // namespace
}  // namespace weir
