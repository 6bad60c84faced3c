// Goal: every later version loads data of format 1 exactly. Method: records of format 1 in literal
// bytes, and a directory that a server has left; neither may ever change.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/persistence/storage_fixture.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class FormatOneTest : public StorageTest {
 protected:
  static std::string Bytes(std::string_view hex) {
    std::string text;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
      text.push_back(static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1])));
    }
    return text;
  }
  // The key's buckets, each as "<policy>#<position> <limit>: <remaining>".
  std::vector<std::string> Buckets(std::string_view key) {
    const auto present = [&](const Limit& limit) {
      return server_.policies().PresentLimit(limit, key);
    };
    std::vector<std::string> lines;
    for (const LiveBucket& bucket : server_.limiter().Inspect(key, clock_.Now(), present)) {
      const LimitOwner owner = bucket.limit.owner();
      lines.push_back(std::to_string(NumberOf(owner.policy)) + "#" +
                      std::to_string(owner.position) + " " + LimitText(bucket.limit) + ": " +
                      std::to_string(bucket.remaining));
    }
    return lines;
  }
  static std::vector<std::string> Texts(const PolicyLimits& limits) {
    std::vector<std::string> texts;
    for (const PolicyLimit& limit : limits) texts.push_back(PolicyLimitText(limit));
    return texts;
  }
};

TEST_F(FormatOneTest, LoadsLiteralRecords) {
  {
    const auto database = Database::Open({.directory = directory_.path()});
    ASSERT_TRUE(database.ok()) << database.status();
    const auto write = [&](Database::Writer& to) {
      // The bucket of key "user:42" under the secret below, of generation 2: 2 of "10/h" are used
      // at 2026-01-01 00:00:00 UTC, so it is full 12 minutes later.
      to.Put(Bytes("420000000206941c0ecc9e601f6c1d0000000007"), Bytes("188672f99152200000000000"));
      to.Put(Bytes("4200000002ffff0000000000000000000000000a"), "no such partition");
      to.Put(Bytes("4c00000007"), Bytes("0000000000000000") + "10/h");
      to.Put(Bytes("4c00000008"), Bytes("0000000500000000") + "3/s");
      to.Put("Mclock", Bytes("18867251edfa0000"));
      to.Put("Mformat", Bytes("00000001"));
      to.Put("Mgeneration", Bytes("00000002"));
      to.Put("Mnext-policy", Bytes("00000009"));
      to.Put("Msecret", Bytes("000102030405060708090a0b0c0d0e0f"));
      to.Put("Mstopped", Bytes("00000001"));
      to.Put(Bytes("4f00000005757365723a3432"), "20/s");
      to.Put(Bytes("5000000005"), Bytes("0004") + "free3/s 1000/h,fixed");
    };
    ASSERT_TRUE((*database)->Write(12, write).ok());
  }
  Start();
  EXPECT_FALSE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().clock_mark, FakeClock::kStart);
  EXPECT_EQ(server_.found().generation, TableGeneration{2});
  EXPECT_EQ(server_.found().loaded, 1U);
  EXPECT_EQ(server_.found().bad, 1U);
  EXPECT_EQ(server_.Remaining("user:42", "10/h"), 8);
  const auto free = server_.policies().Find("free");
  ASSERT_TRUE(free);
  EXPECT_EQ(free->id, PolicyId{5});
  EXPECT_FALSE(free->from_file);
  ASSERT_EQ(free->limits.size(), 2U);
  EXPECT_EQ(PolicyLimitText(free->limits[1]), "1000/h,fixed");
  EXPECT_EQ(PolicyLimitText(free->overrides->Find("user:42")->front()), "20/s");
  server_.SetPolicy("next", "1/s");
  EXPECT_EQ(server_.policies().Find("next")->id, PolicyId{9});
}

// Holds came with 0.2, in format 1.
TEST_F(FormatOneTest, LoadsLiteralRecordsOfHolds) {
  {
    const auto database = Database::Open({.directory = directory_.path()});
    ASSERT_TRUE(database.ok()) << database.status();
    // As above, but "req-81" has the 2 tokens for a minute, one of them was refunded since, and
    // "req-82" is settled.
    const std::string place = Bytes("0000000206941c0ecc9e601f6c1d");
    const auto write = [&](Database::Writer& to) {
      to.Put("B" + place + Bytes("0000000007"), Bytes("188672f99152200000000000"));
      to.Put("G" + place + Bytes("00000007"), Bytes("00000053d1ac10000000000000000000"));
      to.Put("H" + place + "req-81",
             Bytes("001886725fe641580000000004fedcba98765432100000000000000000"
                   "01000000070000000000000002188672f9915220000000000000000000000000000000000000"
                   "000000"));
      to.Put("H" + place + "req-82",
             Bytes("011886725fe641580000000005fedcba98765432100000000000000000"
                   "01000000070000000000000002"));
      to.Put(Bytes("4c00000007"), Bytes("0000000000000000") + "10/h");
      to.Put("Mclock", Bytes("18867251edfa0000"));
      to.Put("Mformat", Bytes("00000001"));
      to.Put("Mgeneration", Bytes("00000002"));
      to.Put("Mholds-clock", Bytes("18867251edfa0000"));
      to.Put("Msecret", Bytes("000102030405060708090a0b0c0d0e0f"));
      to.Put("Mstopped", Bytes("00000001"));
    };
    ASSERT_TRUE((*database)->Write(11, write).ok());
  }
  Start();
  EXPECT_EQ(server_.found().bad, 0U);
  EXPECT_EQ(server_.found().holds, 1U);
  EXPECT_EQ(server_.found().marks, 1U);
  const std::vector<LiveHold> holds = server_.limiter().InspectHolds("user:42", clock_.Now());
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_EQ(holds[0].id, "req-81");
  EXPECT_EQ(holds[0].expires_in, std::chrono::minutes{1});
  EXPECT_EQ(server_.Remaining("user:42", "10/h"), 8);
  EXPECT_TRUE(server_.Commit("user:42", "req-82", 0)) << "by an earlier command";
  EXPECT_EQ(server_.Remaining("user:42", "10/h"), 8);
  EXPECT_TRUE(server_.Commit("user:42", "req-81", 0));
  EXPECT_EQ(server_.Remaining("user:42", "10/h"), 9) << "the other token is back already";
}

// tests/data/README.md lists the commands that the server was given.
TEST_F(FormatOneTest, LoadsADirectoryOfAServer) {
  std::filesystem::copy(WEIR_SOURCE_DIR "/tests/data/format-1", directory_.path());
  constexpr Instant kStopped{Nanos{1795563832437690236}};
  clock_.Set(kStopped);
  Start();
  EXPECT_EQ(server_.found().clock_mark, kStopped);
  EXPECT_FALSE(server_.found().unclean_restart);
  EXPECT_EQ(server_.found().generation, TableGeneration{1});
  EXPECT_EQ(server_.found().loaded, 9U);
  EXPECT_EQ(server_.found().dropped, 0U);
  EXPECT_EQ(server_.found().bad, 0U);
  EXPECT_THAT(Buckets("forgotten"), IsEmpty());
  EXPECT_THAT(Buckets("user:1"),
              UnorderedElementsAre("0#0 100/3000d: 97", "0#0 100/3000d,fixed: 96",
                                   "0#0 100/3000d,fixed,aligned: 95", "0#0 100/3000d,sliding: 94",
                                   "0#0 1/3000d,shadow: 0", "2#0 100/3000d: 98",
                                   "2#1 7/3000d,fixed: 5", "4294967295#0 100/3000d: -1"));
  const Limit throttle = LimitOf("100/3000d").OwnedBy(kThrottleOwner);
  const KeyHash hash = server_.limiter().Hash("user:1");
  EXPECT_EQ(server_.limiter()
                .Peek({{.key = "user:1", .limit = &throttle, .cost = 0, .hash = hash}}, kStopped)
                .remaining,
            70);
  EXPECT_THAT(Buckets("vip"), ElementsAre("2#0 500/3000d: 450"));

  std::vector<std::string> names;
  for (const auto& policy : server_.policies().All()) names.push_back(policy->name);
  EXPECT_THAT(names, ElementsAre("ban", "free"));
  EXPECT_THAT(Texts(server_.policies().Find("ban")->limits), ElementsAre("none"));
  const auto free = server_.policies().Find("free");
  EXPECT_EQ(free->id, PolicyId{2});
  EXPECT_FALSE(free->from_file);
  EXPECT_THAT(Texts(free->limits), ElementsAre("100/3000d", "7/3000d,fixed,name=daily"));
  EXPECT_THAT(
      free->greatest,
      ElementsAre(GreatestNumbers{.capacity = std::chrono::hours{9000 * 24}}, GreatestNumbers{}));
  EXPECT_THAT(free->overrides->Keys(), ElementsAre("vip"));
  EXPECT_THAT(Texts(*free->overrides->Find("vip")), ElementsAre("500/3000d", "unlimited"));
  server_.SetPolicy("next", "1/s");
  EXPECT_EQ(server_.policies().Find("next")->id, PolicyId{4}) << "3 was the last";
}

}  // namespace
}  // namespace weir
