// Goal: a record that no server has written is never believed: it is counted and skipped, or the
// start fails with its name. Method: records written into the directory of a stopped server.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/rules/fixed_window.h"
#include "core/rules/sliding_window.h"
#include "core/rules/token_bucket.h"
#include "persistence/stop_file.h"
#include "tests/persistence/storage_fixture.h"

namespace weir {
namespace {

using testing::HasSubstr;
using BadRecordsTest = StorageTest;

TEST_F(BadRecordsTest, CountsImpossibleRecordsAndContinues) {
  Start();
  server_.Decide("a", "10/h", 4);
  EXPECT_TRUE(server_.Stop().ok());
  const BucketKey key{TableGeneration{}, 5, 77, Algorithm::kTokenBucket, LimitId{}};
  const auto at = [&](std::uint64_t hash) {
    BucketKey other = key;
    other.hash = hash;
    return KeyOf(other);
  };
  const std::string value = ValueOf({1, 0x10000000, 0});
  Write(at(1), value.substr(0, 7));
  Write(at(2), value + "x");
  Write(at(3), ValueOf({UINT32_MAX, 0x7FFFFFFF, 0}));    // 2^63 - 1
  Write(at(4), std::string(kBucketValueBytes, '\xFF'));  // marked: -1
  Write(at(5) + "x", value);
  Write(LimitKey(LimitId{7}), "short");
  Write(PolicyKey(PolicyId{7}), "");
  Write(OverrideKey(PolicyId{7}, "a"), "10/h");  // There is no policy 7.
  Start();
  EXPECT_EQ(server_.found().bad, 8U);
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.Remaining("a", "10/h"), 6);
  const std::string of_bucket = "a bucket of limit 0 (hash 000000000000000";
  const std::string bytes = ": no server writes such bytes";
  EXPECT_THAT(server_.found().errors,
              testing::ElementsAre(
                  HasSubstr("policy 7: invalid limit ''"),
                  "an override of policy 7: there is no such policy, or it has an override of that "
                  "key",
                  HasSubstr("limit 7: invalid limit ''"), of_bucket + "1)" + bytes,
                  of_bucket + "2)" + bytes, of_bucket + "3): its limit cannot have left it",
                  of_bucket + "4)" + bytes, "a bucket" + bytes));
  server_.End();
  Write("X", "of a later version");
  Write(MetaKey("later"), "of a later version");
  Start();
  EXPECT_EQ(server_.found().bad, 8U);
}

// Goal: a limit that the server cannot read is named with the reason, whichever record has it.
// Method: a limit of 0.1.0 that is longer than a limit may be now, and a policy of a later version.
TEST_F(BadRecordsTest, NamesTheLimitsThatItCannotRead) {
  Start();
  EXPECT_TRUE(server_.Stop().ok());
  const std::string no_owner(8, '\0');
  Write(LimitKey(LimitId{7}), no_owner + "1/3285d,burst=8");
  Write(PolicyKey(PolicyId{5}), std::string("\0\4free", 6) + "10/s 20/s,later=1");
  Write(OverrideKey(PolicyId{5}, "a"), "1/3285d,burst=9");
  Write(LimitKey(LimitId{8}), "short");
  Start();
  EXPECT_EQ(server_.found().bad, 4U);
  const std::string too_long =
      ": limit is too long: burst times period per token must be at most 2^60 ns (36 years)";
  EXPECT_THAT(server_.found().errors,
              testing::ElementsAre(
                  HasSubstr("policy 5: invalid limit '20/s,later=1': unknown option 'later=1'"),
                  "an override of policy 5: invalid limit '1/3285d,burst=9'" + too_long,
                  "limit 7: invalid limit '1/3285d,burst=8'" + too_long,
                  HasSubstr("limit 8: invalid limit ''")));
  server_.End();
  EXPECT_EQ(CountRecords(kLimitPrefix), 2U) << "they are left alone";
}

// Goal: a bucket that its limit cannot have left is counted as bad and erased, since the limit's
// number may mean another limit later. Method: windows of "now" with more tokens than fit in them.
TEST_F(BadRecordsTest, CountsAndErasesBucketsThatALimitCannotHaveLeft) {
  Start();
  server_.Decide("a", "10/h", 4);                // limit 0
  server_.Decide("a", "10/h,fixed,aligned", 4);  // limit 1
  server_.Decide("a", "10/h,sliding", 4);        // limit 2
  EXPECT_TRUE(server_.Stop().ok());
  const std::chrono::hours hour{1};
  const Instant end = clock_.Now() + hour;
  const auto number = static_cast<std::uint32_t>(clock_.Now().time_since_epoch() / hour);
  std::uint64_t hash = 0;
  const auto write = [&](Algorithm algorithm, const Bucket& bucket) {
    Write(KeyOf({TableGeneration{0}, 5, ++hash, algorithm, static_cast<LimitId>(algorithm)}),
          ValueOf(bucket));
  };
  using enum Algorithm;
  write(kFixedWindow, BucketOf(FixedWindow{end, 20}));
  write(kSlidingWindow, BucketOf(SlidingWindow{number, 20, 20}));
  Start();
  EXPECT_EQ(server_.found().bad, 0U);
  EXPECT_EQ(server_.found().loaded, 5U);
  server_.End();
  write(kTokenBucket, BucketOfTat({end.time_since_epoch().count(), 1}));  // 360 s a token
  write(kFixedWindow, BucketOf(FixedWindow{end, 21}));
  write(kFixedWindow, BucketOf(FixedWindow{end - Nanos{1}, 1}));
  write(kSlidingWindow, BucketOf(SlidingWindow{number, 21, 0}));
  write(kSlidingWindow, BucketOf(SlidingWindow{number, 0, 21}));
  EXPECT_EQ(CountRecords(kBucketPrefix), 10U);
  Start();
  EXPECT_EQ(server_.found().bad, 5U);
  EXPECT_EQ(server_.found().loaded, 5U);
  server_.End();
  EXPECT_EQ(CountRecords(kBucketPrefix), 5U);
}

// Goal: a limit, a policy and an override whose time zone this system does not have are counted as
// bad and stay on disk. Method: such records beside those of a known zone.
TEST_F(BadRecordsTest, CountsLimitsOfUnknownTimeZonesAndLeavesThemAlone) {
  Start();
  server_.Decide("a", "10/day,tz=Europe/Berlin", 4);  // limit 0
  server_.SetPolicy("free", "10/h");                  // policy 1
  EXPECT_TRUE(server_.Stop().ok());
  const std::string no_owner(8, '\0');
  Write(LimitKey(LimitId{7}), no_owner + "10/day,tz=Europe/Atlantis");
  Write(OverrideKey(PolicyId{1}, "a"), "10/day,tz=Europe/Atlantis");
  Start();
  EXPECT_EQ(server_.found().bad, 2U);
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.Remaining("a", "10/day,tz=Europe/Berlin"), 6);
  Save();
  server_.End();
  EXPECT_EQ(CountRecords(kLimitPrefix), 2U);
  EXPECT_EQ(CountRecords(kOverridePrefix), 1U);
  Write(LimitKey(LimitId{7}), no_owner + "10/day,tz=Europe/Paris");
  Start();
  EXPECT_EQ(server_.found().bad, 1U);
}

// Goal: a bucket that was full when its limit's number was reused is not bad, whatever its bytes
// mean under the new limit. Method: such a bucket, one nanosecond after it is full.
TEST_F(BadRecordsTest, AFullBucketOfAnEarlierLimitIsDropped) {
  Start();
  server_.Decide("a", "10/h", 4);  // limit 0: no fractions of a nanosecond
  EXPECT_TRUE(server_.Stop().ok());
  const Instant full = clock_.Now() - Nanos{1};
  Write(KeyOf({TableGeneration{}, 5, 1, Algorithm::kTokenBucket, LimitId{}}),
        ValueOf(BucketOfTat({full.time_since_epoch().count(), 2})));
  Start();
  EXPECT_EQ(server_.found().bad, 0U);
  EXPECT_EQ(server_.found().dropped, 1U);
}

// Goal: a directory whose meta records contradict other records is refused, with the name of the
// record. Method: each such meta record, in a directory with a policy and a bucket.
TEST_F(BadRecordsTest, RefusesMetaThatOtherRecordsContradict) {
  const auto expect_refused = [&](std::string_view words) {
    const absl::Status started = server_.Start();
    EXPECT_EQ(started.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(started.message(), HasSubstr(directory_.path()));
    EXPECT_THAT(started.message(), HasSubstr(std::string(words)));
  };
  Start();
  server_.SetPolicy("free", "10/h");  // its number is 1
  server_.upkeep().Clear();
  server_.Decide("a", "10/h");
  EXPECT_TRUE(server_.Stop().ok());
  Write(MetaKey(kMetaGeneration), NumberValue(0));
  expect_refused("'generation' is damaged");
  Write(MetaKey(kMetaGeneration), NumberValue(1));
  Write(MetaKey(kMetaNextPolicy), NumberValue(1));
  expect_refused("'next-policy' is damaged");
  Write(MetaKey(kMetaNextPolicy), NumberValue(2));
  Write(MetaKey(kMetaStopped), NumberValue(2));
  expect_refused("'stopped' is damaged");
  Write(MetaKey(kMetaStopped), NumberValue(1));
  Write(MetaKey(kMetaClock), ClockValue(Instant{}));
  Write(MetaKey(kMetaClockAllowance), ClockValue(Instant{Nanos{1}}));
  expect_refused("'clock' is missing");
  Write(MetaKey(kMetaClock), ClockValue(clock_.Now()));
  Start();
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.found().bad, 0U);
}

// Goal: a server that accepts damage starts nevertheless, and later starts find no contradiction.
// Method: the same contradictions; the server after it accepts nothing.
TEST_F(BadRecordsTest, CorrectsContradictionsIfDamageIsAccepted) {
  Start();
  server_.SetPolicy("free", "10/h");  // its number is 1
  server_.SetPolicy("paid", "20/h");
  server_.DecideBy("paid", "a", 4);
  EXPECT_TRUE(server_.Stop().ok());
  Write(MetaKey(kMetaNextPolicy), NumberValue(1));
  Write(KeyOf({TableGeneration{1}, 5, 77, Algorithm::kTokenBucket, LimitId{}}),
        ValueOf({1, 0x10000000, 0}));
  EXPECT_EQ(server_.Start().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CountRecords(kBucketPrefix), 2U);
  server_.options().database.accept_damage = true;
  Start();
  EXPECT_EQ(server_.found().bad, 3U);
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_THAT(server_.found().errors,
              testing::ElementsAre("policy 1: it contradicts the record 'next-policy'",
                                   "policy 2: it contradicts the record 'next-policy'",
                                   "a bucket of limit 0 (hash 000000000000004d): it contradicts "
                                   "the record 'generation'"));
  server_.End();
  EXPECT_EQ(CountRecords(kBucketPrefix), 1U);
  server_.options().database.accept_damage = false;
  Start();
  EXPECT_EQ(server_.found().bad, 0U);
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(NumberOf(server_.policies().All().back()->id), 2U);
  server_.SetPolicy("new", "30/h");
  EXPECT_EQ(NumberOf(server_.policies().Find("new")->id), 3U);
}

TEST_F(BadRecordsTest, RefusesDamagedMeta) {
  for (const std::string_view name : {kMetaClock, kMetaClockAllowance, kMetaFormat, kMetaGeneration,
                                      kMetaNextPolicy, kMetaSecret, kMetaStopped}) {
    TemporaryDirectory directory;
    KeptServer server(clock_, {.directory = directory.path()});
    ASSERT_TRUE(server.Start().ok());
    server.Decide("a", "10/h");
    EXPECT_TRUE(server.Stop().ok());
    {
      const auto database = Database::Open({.directory = directory.path()});
      ASSERT_TRUE(database.ok());
      const auto write = [&](Database::Writer& to) { to.Put(MetaKey(name), "x"); };
      EXPECT_TRUE((*database)->Write(1, write).ok());
    }
    const absl::Status started = server.Start();
    EXPECT_EQ(started.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(started.message(), HasSubstr("'" + std::string(name) + "' is damaged"));
  }
}

TEST_F(BadRecordsTest, RefusesAStopFileThatItCannotRead) {
  Start();
  EXPECT_TRUE(server_.Stop().ok());
  const std::filesystem::path path = directory_.path() + "/" + std::string(kStopFile);
  ASSERT_TRUE(std::filesystem::remove(path));
  std::filesystem::create_directory(path);
  EXPECT_EQ(server_.Start().code(), absl::StatusCode::kUnavailable);
  std::filesystem::remove(path);
  Start();
}

}  // namespace
}  // namespace weir
