// Goal: what was saved is there after a restart, what was deleted stays deleted, and what cannot be
// read is counted and passed over. Method: servers that start, save and end on one directory; where
// something must be wrong on disk, records written with the database alone.
#include "persistence/storage.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "persistence/format.h"
#include "persistence/stop_file.h"
#include "tests/persistence/kept_server.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class StorageTest : public testing::Test {
 protected:
  void Start() {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  void Save() { EXPECT_TRUE(server_.Save().ok()); }

  // Writes one record while no server uses the directory.
  void Write(const std::string& key, const std::string& value) {
    const auto database = Database::Open({.directory = directory_.path()});
    ASSERT_TRUE(database.ok()) << database.status();
    EXPECT_TRUE((*database)->Write(1, [&](Database::Writer& to) { to.Put(key, value); }).ok());
  }
  std::size_t CountRecords(char prefix) {
    const auto database = Database::Open({.directory = directory_.path()});
    std::size_t count = 0;
    EXPECT_TRUE((*database)
                    ->Scan(std::string(1, prefix),
                           [&](std::string_view key, std::string_view) {
                             if (key[0] != prefix) return false;
                             ++count;
                             return true;
                           })
                    .ok());
    return count;
  }
  static std::string KeyOf(const BucketKey& key) {
    std::string bytes;
    AppendBucketKey(key, bytes);
    return bytes;
  }
  static std::string ValueOf(const Bucket& bucket) {
    std::string bytes;
    AppendBucketValue(bucket, bytes);
    return bytes;
  }

  TemporaryDirectory directory_;
  FakeClock clock_;
  KeptServer server_{clock_, {.directory = directory_.path()}};
};

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
      for (const std::string_view limit : {"10/h", "10/h,fixed", "10/h,sliding"}) {
        ASSERT_EQ(server_.Remaining(key, limit), 9 - i % 10) << key << " " << limit;
      }
    }
    EXPECT_EQ(server_.Remaining(std::to_string(keys) + ":0", "10/h"), 10) << "it was reset";
  }
  EXPECT_EQ(server_.found().loaded, 3U * (9 + 4999));
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

TEST_F(StorageTest, WhatWasNotSavedIsForgotten) {
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

// Buckets that came and went after the list of changes had overflowed are gone on disk as well.
TEST_F(StorageTest, APartitionThatIsWrittenAnewHasNothingElse) {
  Start();
  for (int i = 0; i < 5000; ++i) server_.Decide("kept:" + std::to_string(i), "10/h");
  for (int i = 1; i < 100; ++i) server_.Decide("gone", std::to_string(i) + "/h");
  Save();
  for (int again = 0; again < 2; ++again) {
    server_.limiter().Reset("gone", {}, clock_.Now());
    for (int i = 1; i < 100; ++i) server_.Decide("gone", std::to_string(i) + "/d");
  }
  server_.limiter().Reset("gone", {}, clock_.Now());
  EXPECT_EQ(server_.limiter().size().buckets, 5000U);
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
  server_.limiter().Clear();
  server_.Decide("b", "10/h");
  server_.End();
  Start();
  EXPECT_EQ(server_.found().loaded, 100U) << "the clear was not saved, nor was what came after";
  server_.limiter().Clear();
  server_.Decide("b", "10/h");
  Save();
  server_.End();
  Start();
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.found().generation, 1U);
  server_.limiter().Clear();
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
  server_.limiter().ForgetPolicies({&*gone, 1});
  Save();
  server_.End();
  Start();
  const auto free = server_.policies().Find("free");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->id, 2U);
  EXPECT_EQ(free->overrides->size(), 1U);
  EXPECT_EQ(PolicyLimitText(free->overrides->Find("vip")->front()), "99/h");
  EXPECT_FALSE(server_.policies().Find("gone"));
  EXPECT_FALSE(server_.DecideBy("free", "a", 7)) << "its debt is kept";
  EXPECT_TRUE(server_.DecideBy("free", "a", 6));
  server_.SetPolicy("gone", "10/h");
  EXPECT_EQ(server_.policies().Find("gone")->id, 3U) << "ids are never used again";
  EXPECT_TRUE(server_.DecideBy("gone", "a", 10));
}

// Ends between the two steps in which a policy goes: its buckets must not come back as those of the
// limit that gets the number next.
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

TEST_F(StorageTest, CountsWhatCannotBeAndGoesOn) {
  Start();
  server_.Decide("a", "10/h", 4);
  EXPECT_TRUE(server_.Stop().ok());
  const BucketKey key{0, 5, 77, Algorithm::kTokenBucket, 0};
  const auto at = [&](std::uint64_t hash) {
    BucketKey other = key;
    other.hash = hash;
    return KeyOf(other);
  };
  const std::string value = ValueOf({1, 0x10000000, 0});
  Write(at(1), value.substr(0, 7));
  Write(at(2), value + "x");
  Write(at(3), ValueOf({UINT32_MAX, 0x7FFFFFFF, 0}));           // 2^63 - 1
  Write(at(4), ValueOf({UINT32_MAX, UINT32_MAX, UINT32_MAX}));  // marked: -1
  Write(at(5) + "x", value);
  Write(LimitKey(7), "short");
  Write(PolicyKey(7), "");
  Write(OverrideKey(7, "a"), "10/h");  // There is no policy 7.
  Start();
  EXPECT_EQ(server_.found().bad, 8U);
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.Remaining("a", "10/h"), 6);
  server_.End();
  Write("X", "of a later version");
  Write(MetaKey("later"), "of a later version");
  Start();
  EXPECT_EQ(server_.found().bad, 8U);
}

// Goal: a directory that a server with --unclean-restart empty has left is read as any other, and
// the record of that option goes with the first load.
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

// Goal: a bucket that was freed stays free after any number of restarts. Method: the record of a
// full bucket is written where it went back, and loading drops it.
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

// Goal: damage of what was synced is refused, and accepted where that is asked for; the torn end of
// a crash is neither. Method: a server that ended without a stop; its log damaged at one place.
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

TEST_F(StorageTest, RefusesDamagedMeta) {
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

// --- Format 1, forever ---

// A database of format 1 in literal bytes. What is written here must never change: every later
// version has to load it.
TEST_F(StorageTest, LoadsFormatOne) {
  const auto bytes = [](std::string_view hex) {
    std::string text;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
      text.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
    }
    return text;
  };
  {
    const auto database = Database::Open({.directory = directory_.path()});
    ASSERT_TRUE(database.ok()) << database.status();
    const auto write = [&](Database::Writer& to) {
      // Of generation 2, key "user:42" under the secret below: 2 of "10/h" are used at
      // 2026-01-01 00:00:00 UTC, so it is full 12 minutes later.
      to.Put(bytes("420000000206941c0ecc9e601f6c1d0000000007"), bytes("188672f99152200000000000"));
      to.Put(bytes("4200000002ffff0000000000000000000000000a"), "no such partition");
      to.Put(bytes("4c00000007"), bytes("0000000000000000") + "10/h");
      to.Put(bytes("4c00000008"), bytes("0000000500000000") + "3/s");
      to.Put("Mclock", bytes("18867251edfa0000"));
      to.Put("Mformat", bytes("00000001"));
      to.Put("Mgeneration", bytes("00000002"));
      to.Put("Mnext-policy", bytes("00000009"));
      to.Put("Msecret", bytes("000102030405060708090a0b0c0d0e0f"));
      to.Put("Mstopped", bytes("00000001"));
      to.Put(bytes("4f00000005757365723a3432"), "20/s");
      to.Put(bytes("5000000005"), bytes("0004") + "free3/s 1000/h,fixed");
    };
    ASSERT_TRUE((*database)->Write(12, write).ok());
  }
  Start();
  EXPECT_FALSE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().clock_mark, FakeClock::kStart);
  EXPECT_EQ(server_.found().generation, 2U);
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.found().bad, 1U);
  EXPECT_EQ(server_.Remaining("user:42", "10/h"), 8);
  const auto free = server_.policies().Find("free");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->id, 5U);
  EXPECT_FALSE(free->from_file);
  ASSERT_EQ(free->limits.size(), 2U);
  EXPECT_EQ(PolicyLimitText(free->limits[1]), "1000/h,fixed");
  EXPECT_EQ(PolicyLimitText(free->overrides->Find("user:42")->front()), "20/s");
  server_.SetPolicy("next", "1/s");
  EXPECT_EQ(server_.policies().Find("next")->id, 9U);
}

}  // namespace
}  // namespace weir
