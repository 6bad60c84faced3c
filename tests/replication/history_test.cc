// Goal: servers agree on how much of their state is one history, and the record reads back as it
// was written. Method: examples of promotions; records cut, extended and changed.
#include "replication/history.h"

#include <string>

#include "gtest/gtest.h"

namespace weir {
namespace {

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
  history.primary_host = "h";
  history.primary_port = 1;
  history.Promote(90, kB);
  EXPECT_EQ(history, (History{.term = 5, .id = kB, .previous = kA, .until = 90, .offset = 90}));
  history.offset = 300;
  EXPECT_EQ(history.Common(kA, 80), 80U);
  EXPECT_EQ(history.Common(kA, 95), 90U);
  EXPECT_EQ(history.Common(kB, 200), 200U);

  history.Promote(300, kC);
  EXPECT_EQ(history.Common(kB, 400), 300U);
  EXPECT_EQ(history.Common(kA, 80), std::nullopt);
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
                           .id = kA,
                           .previous = kB,
                           .until = 5,
                           .offset = 9,
                           .is_replica = true,
                           .primary_host = std::string(kPrimaryHostBytesMax, 'h'),
                           .primary_port = 65535};
  for (const History& history : {replica, History(), At(kC, 1)}) {
    const std::string value = HistoryValue(history);
    EXPECT_EQ(ReadHistoryValue(value), history);
    for (std::size_t length = 0; length < value.size(); ++length) {
      EXPECT_FALSE(ReadHistoryValue(std::string_view(value).substr(0, length))) << length;
    }
    EXPECT_FALSE(ReadHistoryValue(value + 'x'));
  }
  std::string value = HistoryValue(replica);
  value[0] = 2;
  EXPECT_FALSE(ReadHistoryValue(value)) << "a version of the future";
  value = HistoryValue(replica);
  value[1] = 8;
  EXPECT_FALSE(ReadHistoryValue(value)) << "an unknown flag";
  value = HistoryValue(replica);
  value[26] = 'A';
  EXPECT_FALSE(ReadHistoryValue(value)) << "an id that is none";
}

TEST(HistoryTest, KnowsIds) {
  EXPECT_TRUE(IsHistoryId("0123456789abcdef0123456789abcdef01234567"));
  EXPECT_FALSE(IsHistoryId("0123456789abcdef0123456789abcdef0123456"));
  EXPECT_FALSE(IsHistoryId("0123456789ABCDEF0123456789abcdef01234567"));
}

}  // namespace
}  // namespace weir
