// Goal: servers agree on how much of their state is one history, and the record reads back as it
// was written. Method: examples of promotions; records cut, extended and changed.
#include "replication/history.h"

#include <string>

#include "gtest/gtest.h"

namespace weir {
namespace {

using std::string_literals::operator""s;

const std::string kA(kHistoryIdBytes, 'a');
const std::string kB(kHistoryIdBytes, 'b');
const std::string kC(kHistoryIdBytes, 'c');

History At(const std::string& id, std::uint64_t offset) { return {.id = id, .offset = offset}; }

TEST(HistoryTest, OneHistoryIsCommonUpToTheLowerOffset) {
  EXPECT_EQ(At(kA, 100).Common(kA, 60), 60U);
  EXPECT_EQ(At(kA, 100).Common(kA, 140), 100U);
  EXPECT_EQ(At(kA, 100).Common(kB, 60), std::nullopt);
  EXPECT_EQ(At(kA, 100).Common("", 60), std::nullopt);
  EXPECT_EQ(History().Common("", 0), std::nullopt);
}

TEST(HistoryTest, APromotionEndsTheOldHistoryWhereTheReplicaWas) {
  History history = At(kA, 100);
  history.term = 4;
  history.is_replica = true;
  history.primary = {"h", 1};
  history.Promote(90, kB);
  EXPECT_EQ(
      history,
      (History{.term = 5, .seen_term = 5, .id = kB, .previous = kA, .until = 90, .offset = 90}));
  history.offset = 300;
  EXPECT_EQ(history.Common(kA, 80), 80U);
  EXPECT_EQ(history.Common(kA, 95), 90U);
  EXPECT_EQ(history.Common(kB, 200), 200U);

  history.Promote(300, kC);
  EXPECT_EQ(history.Common(kB, 400), 300U);
  EXPECT_EQ(history.Common(kA, 80), std::nullopt);
}

TEST(HistoryTest, APromotedServerHasAllThatThereIs) {
  History history = At(kA, 100);
  history.lacks = true;
  history.Follow(3, kB);
  EXPECT_TRUE(history.lacks) << "until it is in sync";
  history.Promote(100, kC);
  EXPECT_FALSE(history.lacks);
}

TEST(HistoryTest, APromotionBeginsATermAboveAllThatWereHeardOf) {
  History history = At(kA, 100);
  history.term = 4;
  history.is_deposed = true;
  history.seen_term = 9;
  history.Promote(100, kB);
  EXPECT_EQ(history.term, 10U);
  EXPECT_FALSE(history.is_deposed);
  history.Promote(100, kC);
  EXPECT_EQ(history.term, 11U);
}

// Law R7, over a restart.
TEST(HistoryTest, AServerThatWasToldToFollowAnEarlierTermDoesNotForgetItsOwn) {
  History history = At(kA, 100);
  history.term = 7;
  history.Follow(3, kB);
  EXPECT_EQ(history.term, 3U);
  std::optional<History> restarted = ReadHistoryValue(HistoryValue(history));
  ASSERT_TRUE(restarted.has_value());
  restarted->Promote(100, kC);
  EXPECT_EQ(restarted->term, 8U);
}

TEST(HistoryTest, OfTwoPrimariesTheLaterTermWinsAndThenTheGreaterId) {
  History history = {.term = 4, .id = kB, .previous = kA};
  EXPECT_TRUE(history.LosesTo(5, kA));
  EXPECT_FALSE(history.LosesTo(3, kC));
  EXPECT_TRUE(history.LosesTo(4, kC));
  EXPECT_FALSE(history.LosesTo(4, kB)) << "its own";
  EXPECT_FALSE(history.LosesTo(4, "")) << "a server without a history";
  history = {.term = 4, .id = kA, .previous = kB};
  EXPECT_FALSE(history.LosesTo(4, kB)) << "the one that it has continued";
  history = {.term = 4};
  EXPECT_FALSE(history.LosesTo(4, kC)) << "it has none to lose";
}

TEST(HistoryTest, AServerWithoutHistoryHasNothingInCommon) {
  History history;
  history.Promote(0, kA);
  EXPECT_EQ(history.term, 1U);
  EXPECT_EQ(history.previous, "");
  EXPECT_EQ(history.Common("", 0), std::nullopt);
}

TEST(HistoryTest, AReplicaTakesTheHistoryOfItsPrimary) {
  History history = {.term = 1, .id = kB, .previous = kA, .until = 90, .offset = 100};
  history.Follow(3, kB);
  EXPECT_EQ(history.term, 3U);
  EXPECT_EQ(history.previous, kA);
  history.Follow(4, kC);
  EXPECT_EQ(history.id, kC);
  EXPECT_EQ(history.previous, "");
  EXPECT_EQ(history.Common(kA, 50), std::nullopt);
}

TEST(HistoryTest, RecordsAreReadOnlyWhole) {
  const History replica = {.term = 7,
                           .seen_term = 8,
                           .id = kA,
                           .previous = kB,
                           .until = 5,
                           .offset = 9,
                           .is_replica = true,
                           .primary = {std::string(kPrimaryHostBytesMax, 'h'), 65535}};
  History deposed = At(kC, 1);
  deposed.is_deposed = true;
  deposed.joins_any = true;
  deposed.had_replicas = true;
  deposed.sentinel_floor = 12;
  deposed.lacks = true;
  for (const History& history : {replica, History(), deposed}) {
    const std::string value = HistoryValue(history);
    EXPECT_EQ(ReadHistoryValue(value), history);
    // Without the last byte it is the whole record of an older server.
    for (std::size_t length = 0; length + 1 < value.size(); ++length) {
      EXPECT_FALSE(ReadHistoryValue(std::string_view(value).substr(0, length))) << length;
    }
    EXPECT_FALSE(ReadHistoryValue(value + 'x'));
  }
  std::string value = HistoryValue(replica);
  value[0] = 2;
  EXPECT_FALSE(ReadHistoryValue(value)) << "a version of the future";
  value = HistoryValue(replica);
  value[1] = static_cast<char>(value[1] | 64);
  EXPECT_FALSE(ReadHistoryValue(value)) << "a flag of a floor, and none";
  value = HistoryValue(replica);
  value[34] = 'A';
  EXPECT_FALSE(ReadHistoryValue(value)) << "an invalid id";
}

// A record of an older server is read; the fields that it lacks are unset.
TEST(HistoryTest, ARecordHasTheseBytes) {
  const std::string old =
      "\x01\x45"                                                          // version, flags
      "\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x08"  // terms
      "\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00"  // offset, until
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
      "\x01h\x1c\xd3"                       // host, port
      "\x00\x00\x00\x00\x00\x00\x00\x0c"s;  // floor
  History history = {.term = 7,
                     .seen_term = 8,
                     .id = kA,
                     .offset = 9,
                     .is_replica = true,
                     .sentinel_floor = 12,
                     .primary = {"h", 7379}};
  EXPECT_EQ(ReadHistoryValue(old), history);
  EXPECT_EQ(HistoryValue(history), old + "\x00"s);
  history.lacks = true;
  EXPECT_EQ(HistoryValue(history), old + "\x01"s);
  EXPECT_EQ(ReadHistoryValue(old + "\x01"s), history);
  EXPECT_FALSE(ReadHistoryValue(old + "\x08"s)) << "a flag of the future";
  history.yielded_in = 7;
  const std::string yielded = old + "\x03\x00\x00\x00\x00\x00\x00\x00\x07"s;
  EXPECT_EQ(HistoryValue(history), yielded);
  EXPECT_EQ(ReadHistoryValue(yielded), history);
  EXPECT_FALSE(ReadHistoryValue(yielded.substr(0, yielded.size() - 1)));
  history.clock_shift = -Nanos{2};
  const std::string shifted =
      old + "\x07\x00\x00\x00\x00\x00\x00\x00\x07\xff\xff\xff\xff\xff\xff\xff\xfe"s;
  EXPECT_EQ(HistoryValue(history), shifted);
  EXPECT_EQ(ReadHistoryValue(shifted), history);
  EXPECT_FALSE(ReadHistoryValue(shifted.substr(0, shifted.size() - 1)));
  EXPECT_FALSE(ReadHistoryValue(old + "\x04\x00\x00\x00\x00\x00\x00\x00\x00"s)) << "no shift";
}

TEST(HistoryTest, KnowsIds) {
  EXPECT_TRUE(IsHistoryId("0123456789abcdef0123456789abcdef01234567"));
  EXPECT_FALSE(IsHistoryId("0123456789abcdef0123456789abcdef0123456"));
  EXPECT_FALSE(IsHistoryId("0123456789ABCDEF0123456789abcdef01234567"));
}

}  // namespace
}  // namespace weir
