// Goal: each hold and mark of a table counts once: for its limits, for its user and for the bounds.
// Method: every way in and every way out.
#include "core/limiter/hold_records.h"

#include <chrono>

#include "gtest/gtest.h"

#include "tests/random/generators.h"

namespace weir {
namespace {

using std::chrono::seconds;

class HoldRecordsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kKey = 7;
  static constexpr Introducer kUser{5};
  static constexpr Instant kEnd{seconds{60}};

  HoldRecordsTest() {
    LimitHint no_hint;
    limit_ = *registry_.Intern(LimitOf("100/s"), no_hint);
  }

  Hold& Open(std::string_view id) {
    EXPECT_TRUE(counts().TryAdd(kUser, 1));
    const HoldPart parts[] = {{.cost = 5, .limit = limit_}};
    records_.Open(holds_, {.key = kKey, .expiry = kEnd, .user = kUser}, id, parts, {});
    return *holds_.FindOpen(kKey, id);
  }
  [[nodiscard]] SavedHold Saved(bool settled) const {
    return {.settled = settled, .expiry = kEnd, .parts = {{.cost = 5, .limit = limit_}}};
  }
  void ExpectCounts(std::size_t open, std::size_t marks) {
    EXPECT_EQ(counts().open(), open);
    EXPECT_EQ(counts().marks(), marks);
    EXPECT_EQ(counts().bytes(), holds_.open().bytes() + holds_.marks().bytes());
    EXPECT_EQ(registry_.Idle(1).empty(), open + marks > 0) << "a hold keeps its limits";
  }
  HoldCounts& counts() { return records_.counts(); }

  LimitRegistry registry_;
  HoldRecords records_{registry_, 20};  // a user may have a tenth
  HoldTable holds_{true};
  LimitId limit_{};
};

TEST_F(HoldRecordsTest, OpenHoldCountsForItsUserUntilItIsAMark) {
  Hold& first = Open("first");
  Open("second");
  ExpectCounts(2, 0);
  EXPECT_FALSE(counts().TryAdd(kUser, 1)) << "the user has a tenth";
  records_.Mark(holds_, first, kEnd);
  ExpectCounts(1, 1);
  EXPECT_EQ(holds_.FindMark(kKey, "first"), &first);
  records_.ForgetMark(holds_, first);
  records_.ForgetOpen(holds_, *holds_.FindOpen(kKey, "second"));
  ExpectCounts(0, 0);
  EXPECT_TRUE(counts().TryAdd(kUser, 2));
}

TEST_F(HoldRecordsTest, RestoredHoldsCountForNoUser) {
  for (const char* const id : {"a", "b", "c"}) {
    records_.Restore(holds_, kKey, id, Saved(false));
  }
  records_.Restore(holds_, kKey + 1, "mark", Saved(true));
  ExpectCounts(3, 1);
  EXPECT_EQ(holds_.changes().size(), 0U);
  EXPECT_TRUE(counts().TryAdd(kUser, 2));
  counts().Remove(kUser, 2);
  records_.ForgetAll(holds_);
  ExpectCounts(0, 0);
  EXPECT_EQ(holds_.size(), 0U);
}

// A record of the primary replaces the hold. The sums of the bucket stay.
TEST_F(HoldRecordsTest, AppliedRecordTakesThePlaceOfTheHold) {
  const SlotKey bucket{kKey, limit_};
  records_.Apply(holds_, kKey, "a", Saved(false));
  holds_.SetSums(bucket, {.given_back = 3});
  holds_.ForgetChanges();
  records_.Apply(holds_, kKey, "a", Saved(false));
  EXPECT_EQ(holds_.SumsOf(bucket).given_back, 3U);
  EXPECT_GT(holds_.changes().size(), 0U);
  ExpectCounts(1, 0);
  records_.Apply(holds_, kKey, "a", Saved(true));
  ExpectCounts(0, 1);
  EXPECT_EQ(holds_.SumsOf(bucket), SettlementSums{}) << "no open hold names it";
  records_.Apply(holds_, kKey, "a", std::nullopt);
  ExpectCounts(0, 0);
}

}  // namespace
}  // namespace weir
