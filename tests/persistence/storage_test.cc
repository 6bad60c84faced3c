// Goal: saved state is there after a restart, and deleted state stays deleted. Method: servers that
// start, save and end on one directory.
#include "persistence/storage.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "persistence/format.h"
#include "persistence/stop_file.h"
#include "tests/persistence/storage_fixture.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(StorageTest, ANewDirectoryHasNothing) {
  Start();
  EXPECT_FALSE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().clock_mark, Instant{});
  EXPECT_EQ(server_.found().loaded, 0U);
}

TEST_F(StorageTest, SmallAndLargeSavesGiveTheSame) {
  for (const int keys : {10, 5000}) {
    Start();
    for (int i = 0; i < keys; ++i) {
      const std::string key = std::to_string(keys) + ":" + std::to_string(i);
      server_.Decide(key, "10/h", 1 + i % 10);
      server_.Decide(key, "10/h,fixed", 1 + i % 10);
      server_.Decide(key, "10/h,sliding", 1 + i % 10);
      server_.Decide(key, "10/day,tz=Europe/Berlin", 1 + i % 10);
    }
    Save();
    server_.limiter().Reset(std::to_string(keys) + ":0", {}, clock_.Now());
    server_.Decide(std::to_string(keys) + ":1", "10/h", 5);
    Save();
    server_.End();
    Start();
    EXPECT_EQ(server_.Remaining(std::to_string(keys) + ":1", "10/h"), 3);
    for (int i = 2; i < keys; ++i) {
      const std::string key = std::to_string(keys) + ":" + std::to_string(i);
      for (const std::string_view limit :
           {"10/h", "10/h,fixed", "10/h,sliding", "10/day,tz=Europe/Berlin"}) {
        ASSERT_EQ(server_.Remaining(key, limit), 9 - i % 10) << key << " " << limit;
      }
    }
    EXPECT_EQ(server_.Remaining(std::to_string(keys) + ":0", "10/h"), 10) << "it was reset";
  }
  EXPECT_EQ(server_.found().loaded, 4U * (9 + 4999));
  EXPECT_EQ(server_.found().bad, 0U);
}

TEST_F(StorageTest, TellsACleanStopFromACutOne) {
  Start();
  EXPECT_TRUE(server_.Stop().ok());
  Start();
  EXPECT_FALSE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().clock_mark, clock_.Now());
  server_.End();
  Start();
  EXPECT_TRUE(server_.found().unclean_restart);
  server_.Decide("a", "10/h");
  Save();
  EXPECT_TRUE(server_.Stop().ok());
  Start();
  EXPECT_FALSE(server_.found().unclean_restart);
}

TEST_F(StorageTest, UnsavedChangesAreLost) {
  Start();
  server_.Decide("a", "10/h", 3);
  clock_.Advance(std::chrono::seconds{1});
  Save();
  server_.Decide("a", "10/h", 3);
  server_.End();
  Start();
  EXPECT_EQ(server_.found().clock_mark, clock_.Now());
  EXPECT_EQ(server_.Remaining("a", "10/h"), 7);
}

// After a crash, too: what a charge has left beyond the limit is believed when it is read.
TEST_F(StorageTest, DebtsSurvive) {
  Start();
  server_.SetPolicy("free", "10/h,sliding");
  const std::vector<Limit> limits = {LimitOf("10/h"), LimitOf("10/h,fixed,aligned"),
                                     LimitOf("10/h,sliding"),
                                     server_.policies().Find("free")->limits.front().limit};
  for (const Limit& limit : limits) {
    const KeyHash hash = server_.limiter().Hash("a");
    const Request request = {{.key = "a", .limit = &limit, .cost = 1000, .hash = hash}};
    EXPECT_FALSE(server_.limiter().Charge(request, clock_.Now())->verdict.allowed);
  }
  Save();
  server_.End();
  Start();
  EXPECT_EQ(server_.found().loaded, 4U);
  EXPECT_EQ(server_.found().bad, 0U);
  for (const LiveBucket& bucket : server_.limiter().Inspect("a", clock_.Now())) {
    EXPECT_EQ(bucket.used, 20) << bucket.limit;
  }
}

// Buckets of counts beyond 32 bits, and holds that have left them.
TEST_F(StorageTest, GreatCountsSurvive) {
  Start();
  server_.SetPolicy("free", "10G/month");
  const std::vector<Limit> limits = {LimitOf("10G/h,fixed"), LimitOf("10G/day"),
                                     server_.policies().Find("free")->limits.front().limit};
  const auto ask = [&](const Limit& limit, std::int64_t cost) {
    const KeyHash hash = server_.limiter().Hash("a");
    return Request{{.key = "a", .limit = &limit, .cost = cost, .hash = hash}};
  };
  for (const Limit& limit : limits) {
    EXPECT_TRUE(server_.limiter().Decide(ask(limit, 3'000'000'000), clock_.Now())->allowed);
    const std::string id = LimitText(limit);
    const HoldRequest hold = {.id = id, .ttl = std::chrono::minutes{1}};
    EXPECT_EQ(server_.limiter()
                  .DecideAndHold(ask(limit, 3'000'000'000), hold, clock_.Now())
                  ->verdict.remaining,
              4'000'000'000);
  }
  Save();
  server_.End();
  Start();
  EXPECT_EQ(server_.found().loaded, 3U);
  EXPECT_EQ(server_.found().holds, 3U);
  EXPECT_EQ(server_.found().bad, 0U);
  for (const LiveBucket& bucket : server_.limiter().Inspect("a", clock_.Now())) {
    EXPECT_EQ(bucket.used, 6'000'000'000) << bucket.limit;
  }
  clock_.Advance(std::chrono::minutes{2});
  for (const LiveBucket& bucket : server_.limiter().Inspect("a", clock_.Now())) {
    EXPECT_EQ(bucket.used, 3'000'000'000) << "the holds have expired";
  }
}

TEST_F(StorageTest, ARewrittenPartitionHasNothingElse) {
  Start();
  for (int i = 0; i < 5000; ++i) server_.Decide("kept:" + std::to_string(i), "10/h");
  for (int i = 1; i < 100; ++i) server_.Decide("gone", std::to_string(i) + "/h");
  Save();
  for (int again = 0; again < 2; ++again) {
    server_.limiter().Reset("gone", {}, clock_.Now());
    for (int i = 1; i < 100; ++i) server_.Decide("gone", std::to_string(i) + "/d");
  }
  server_.limiter().Reset("gone", {}, clock_.Now());
  EXPECT_EQ(server_.upkeep().size().buckets, 5000U);
  Save();
  server_.End();
  EXPECT_EQ(CountRecords(kBucketPrefix), 5000U);
  Start();
  EXPECT_EQ(server_.found().loaded, 5000U);
}

TEST_F(StorageTest, ClearForgetsAllOrNothing) {
  Start();
  for (int i = 0; i < 100; ++i) server_.Decide("a" + std::to_string(i), "10/h");
  Save();
  server_.upkeep().Clear();
  server_.Decide("b", "10/h");
  server_.End();
  Start();
  EXPECT_EQ(server_.found().loaded, 100U) << "the clear was not saved, nor was what came after";
  server_.upkeep().Clear();
  server_.Decide("b", "10/h");
  Save();
  server_.End();
  Start();
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.found().generation, TableGeneration{1});
  server_.upkeep().Clear();
  Save();
  server_.End();
  Start();
  EXPECT_EQ(server_.found().loaded, 0U) << "a clear alone is saved, too";
}

TEST_F(StorageTest, PoliciesAndOverridesSurviveAndDeletedOnesDoNot) {
  Start();
  server_.SetPolicy("gone", "10/h");
  server_.SetPolicy("free", "10/h");
  EXPECT_TRUE(server_.policies().Override("free", "vip", KeptServer::LimitsOf("99/h")).ok());
  EXPECT_TRUE(server_.policies().Override("free", "x", KeptServer::LimitsOf("98/h")).ok());
  EXPECT_TRUE(server_.DecideBy("free", "a", 4));
  EXPECT_TRUE(server_.DecideBy("gone", "a", 4));
  Save();
  EXPECT_TRUE(*server_.policies().RemoveOverride("free", "x"));
  const auto gone = server_.policies().Delete("gone");
  server_.upkeep().ForgetPolicies({&*gone, 1});
  Save();
  server_.End();
  Start();
  const auto free = server_.policies().Find("free");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->id, PolicyId{2});
  EXPECT_EQ(free->overrides->size(), 1U);
  EXPECT_EQ(PolicyLimitText(free->overrides->Find("vip")->front()), "99/h");
  EXPECT_FALSE(server_.policies().Find("gone"));
  EXPECT_FALSE(server_.DecideBy("free", "a", 7)) << "its debt is kept";
  EXPECT_TRUE(server_.DecideBy("free", "a", 6));
  server_.SetPolicy("gone", "10/h");
  EXPECT_EQ(server_.policies().Find("gone")->id, PolicyId{3}) << "ids are never used again";
  EXPECT_TRUE(server_.DecideBy("gone", "a", 10));
}

// Ends between the two steps in which a policy is deleted: its buckets must not be read as those of
// the limit that gets the same number next.
TEST_F(StorageTest, OrphansAreDroppedAndErased) {
  Start();
  server_.SetPolicy("gone", "10/h");
  EXPECT_TRUE(server_.DecideBy("gone", "a", 4));
  Save();
  EXPECT_TRUE(server_.policies().Delete("gone").ok());
  Save();
  server_.End();
  EXPECT_EQ(CountRecords(kBucketPrefix), 1U);
  Start();
  EXPECT_EQ(server_.found().dropped, 1U);
  EXPECT_EQ(server_.found().loaded, 0U);
  server_.Decide("b", "20/h");
  Save();
  server_.End();
  EXPECT_EQ(CountRecords(kBucketPrefix), 1U);
  EXPECT_EQ(CountRecords(kLimitPrefix), 1U);
  Start();
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.Remaining("a", "20/h"), 20);
}

TEST_F(StorageTest, FullSlidingWindowsAreErasedWhenTheyAreDropped) {
  Start();
  server_.Decide("a", "10/s,sliding");
  server_.Decide("a", "10/s");
  Save();
  server_.End();
  clock_.Advance(std::chrono::seconds{5});
  Start();
  EXPECT_EQ(server_.found().dropped, 2U);
  server_.End();
  EXPECT_EQ(CountRecords(kBucketPrefix), 1U) << "the other is full for good";
}

// The number of a window comes again after 2^32 windows, and from half of that on an old one seems
// to be a later one.
TEST_F(StorageTest, ASlidingWindowThatIsLongOverDoesNotComeAgain) {
  constexpr std::int64_t kAges[] = {2, 1LL << 31, (1LL << 31) + 1, 3LL << 30, (1LL << 32) - 1};
  Start();
  for (const std::int64_t age : kAges) {
    server_.Decide("a", "1/ms,sliding");
    Save();
    server_.End();
    clock_.Advance(std::chrono::milliseconds{age});
    Start();
    EXPECT_EQ(server_.found().loaded, 0U) << age;
  }
}

// Goal: a directory of a server with --unclean-restart empty is read like any other, and the record
// of that option is erased by the first load.
TEST_F(StorageTest, ReadsAnExhaustedRecordAsFull) {
  Start();
  server_.Decide("a", "10/h", 4);
  Save();
  server_.End();
  Write(MetaKey(kMetaExhausted), ClockValue(clock_.Now()) + std::string(4, '\0'));
  Start();
  EXPECT_TRUE(server_.found().had_exhausted_record);
  EXPECT_EQ(server_.Remaining("a", "10/h"), 6);
  EXPECT_EQ(server_.Remaining("never seen", "10/h"), 10);
  Start();
  EXPECT_FALSE(server_.found().had_exhausted_record);
}

// Goal: a bucket that was freed stays free after any number of restarts. Method: a refund to full
// writes the record of a full bucket, and loading drops it.
TEST_F(StorageTest, ABucketThatWasFreedStaysFree) {
  Start();
  server_.Decide("a", "10/h", 10);
  Save();
  server_.limiter().Reset("a", {}, clock_.Now());
  Save();
  for (int restart = 0; restart < 3; ++restart) {
    Start();
    EXPECT_EQ(server_.Remaining("a", "10/h"), 10) << restart;
  }
}

// Goal: damage to synced data is refused, or accepted if an option allows it; a torn end after a
// crash needs neither. Method: a server that ended without a stop; its log is damaged in one place.
class DamagedLogTest : public StorageTest {
 protected:
  DamagedLogTest() {
    Start();
    for (int i = 0; i < 300; ++i) {
      server_.Decide(std::to_string(i), "5/30d", 5);
      Save();
    }
    server_.End();
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      if (entry.path().extension() == ".log") name_ = entry.path().filename();
    }
    std::ifstream file(directory_.path() + "/" + name_, std::ios::binary);
    log_.assign(std::istreambuf_iterator<char>(file), {});
  }

  std::string name_;
  std::string log_;
};

TEST_F(DamagedLogTest, DamageBeforeTheEndIsRefusedUnlessItIsAccepted) {
  for (const std::size_t percent : {2U, 25U, 50U, 75U, 98U}) {
    std::string damaged = log_;
    damaged[log_.size() * percent / 100] ^= 16;
    directory_.Write(name_, damaged);
    const absl::Status refused = server_.Start();
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << percent;
    EXPECT_THAT(refused.message(), HasSubstr(name_));
    EXPECT_THAT(refused.message(), HasSubstr("--accept-damaged-state"));
  }
  server_.options().database.accept_damage = true;
  Start();
  EXPECT_THAT(server_.found().losses, ElementsAre(HasSubstr(name_)));
  EXPECT_GT(server_.found().loaded, 250U);
  EXPECT_LT(server_.found().loaded, 300U);
  server_.options().database.accept_damage = false;
  Start();
  EXPECT_TRUE(server_.found().losses.empty()) << "it is mended";
}

TEST_F(DamagedLogTest, ATornEndIsRead) {
  directory_.Write(name_, log_.substr(0, log_.size() - 5));
  Start();
  EXPECT_TRUE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().loaded, 299U);
}

// Goal: a database that has less than its server left at a clean stop is refused. Method: the
// directory as it was before the last writes, with the file that the stop left.
TEST_F(StorageTest, RefusesADatabaseThatEndsBeforeItsCleanStop) {
  Start();
  server_.Decide("a", "10/h");
  ASSERT_TRUE(server_.Stop().ok());
  const std::string path = directory_.path() + "/" + std::string(kStopFile);
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::optional<std::uint64_t> stopped_at = ReadStopFile(text);
  ASSERT_TRUE(stopped_at.has_value()) << text;
  directory_.Write(std::string(kStopFile), StopFileText(*stopped_at + 1));
  const absl::Status refused = server_.Start();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(refused.message(), HasSubstr("--accept-damaged-state"));
  directory_.Write(std::string(kStopFile), text);
  Start();
  EXPECT_FALSE(std::filesystem::exists(path)) << "it is gone before the first write";
}

TEST_F(StorageTest, RefusesAnotherFormat) {
  Start();
  server_.End();
  Write(MetaKey(kMetaFormat), NumberValue(77));
  const absl::Status started = server_.Start();
  EXPECT_EQ(started.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(started.message(), HasSubstr("format 77"));
  EXPECT_THAT(started.message(), HasSubstr("format 1"));
  EXPECT_THAT(started.message(), HasSubstr(directory_.path()));
}

}  // namespace
}  // namespace weir
