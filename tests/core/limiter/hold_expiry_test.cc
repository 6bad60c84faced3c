// Goal: a hold that expires is cancelled at that instant, whenever it is found and by any call, and
// no request waits for the holds of other keys. Method: short histories in words, with the numbers
// that a client would see.
#include <chrono>
#include <string>

#include "gtest/gtest.h"

#include "core/limiter/hold_request.h"
#include "tests/core/limiter/hold_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class HoldExpiryTest : public HoldFixture {
 protected:
  using HoldFixture::HoldFixture;

  // Another key in the partition of "k".
  std::string NeighbourOfK() {
    int key = 0;
    while (limiter_->Hash(std::to_string(key)).partition != limiter_->Hash("k").partition) ++key;
    return std::to_string(key);
  }
};

TEST_F(HoldExpiryTest, ExpiryIsACancelAtItsInstant) {
  EXPECT_TRUE(Reserve({{"k", "100/h,fixed", 50}}, "a", seconds{10}));
  now_ += seconds{10} - Nanos{1};
  EXPECT_EQ(Remaining("k", "100/h,fixed"), 50);
  now_ += Nanos{1};
  EXPECT_EQ(Remaining("k", "100/h,fixed"), 100);
  EXPECT_FALSE(Commit("a", "k", 20)) << "it is too late";
  EXPECT_EQ(upkeep_.counts().expired_holds, 1U);
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
}

// The settlement is that of the due time, however late it is found.
TEST_F(HoldExpiryTest, ExpiryThatIsFoundLateIsThatOfItsInstant) {
  EXPECT_TRUE(Reserve({{"k", "100/s", 50}}, "a", milliseconds{100}));
  EXPECT_EQ(Verdicts({{"k", "100/s", 50}}).remaining, 0);
  now_ += milliseconds{500};
  // At 100 ms the hold gave back the 40 tokens that time had not; at 500 ms it would give none.
  EXPECT_EQ(Remaining("k", "100/s"), 90);
}

TEST_F(HoldExpiryTest, SweepSettlesWhatNoRequestAsksAbout) {
  EXPECT_TRUE(Reserve({{"k", "100/h", 50}}, "a", seconds{10}));
  now_ += seconds{10};
  SweepAll();
  EXPECT_EQ(upkeep_.counts().open_holds, 0U);
  EXPECT_EQ(buckets(), 0U);
  EXPECT_GT(upkeep_.ReclaimLimits(1, 10), 0U) << "no hold uses the limit";
}

// Its own holds are settled in the order of their expiries, behind few of the others.
TEST_F(HoldExpiryTest, RequestWaitsForNoHoldsOfOtherKeys) {
  constexpr int kHolds = 500;
  const Limit slots = HeldLimit(kHolds);
  const std::string crowd = NeighbourOfK();
  for (int i = 0; i < kHolds; ++i) {
    ASSERT_TRUE(Hold({CheckOf(crowd, slots, 1)}, std::to_string(i), minutes{1})->verdict.allowed);
  }
  EXPECT_TRUE(Reserve({{"k", "100/d", 50}}, "z", minutes{2}));
  EXPECT_TRUE(Reserve({{"k", "100/d", 40}}, "a", minutes{3}));  // first, it would cost "z" 40
  now_ += minutes{4};
  const std::uint64_t before = HoldWork::found_expired;
  EXPECT_EQ(Remaining("k", "100/d"), 100);
  EXPECT_LE(HoldWork::found_expired - before, 10U);
  EXPECT_EQ(limiter_->Peek({CheckOf(crowd, slots, 0)}, now_).remaining, kHolds);
  EXPECT_EQ(HoldWork::found_expired - before, kHolds + 2U);
}

class FewHoldsExpiryTest : public HoldExpiryTest {
 protected:
  FewHoldsExpiryTest() : HoldExpiryTest({.holds_max = 20}) {}
};

TEST_F(FewHoldsExpiryTest, ExpiredHoldsOfOtherKeysKeepNoPlace) {
  const Limit slots = HeldLimit(100);
  const std::string crowd = NeighbourOfK();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Hold({CheckOf(crowd, slots, 1)}, std::to_string(i), minutes{1})->verdict.allowed);
  }
  now_ += minutes{1};
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(Hold({CheckOf("k", slots, 1)}, std::to_string(i), minutes{1}).ok()) << i;
  }
  EXPECT_EQ(Hold({CheckOf("k", slots, 1)}, "more", minutes{1}).status().message(),
            "too many holds");
}

// So a partition has few of them for long, whichever of its keys are asked about.
TEST_F(HoldExpiryTest, RequestSettlesAHoldOfAnotherKey) {
  const std::string other = NeighbourOfK();
  EXPECT_TRUE(Reserve({{other, "100/d", 50}}, "a", minutes{1}));
  now_ += minutes{2};
  const std::uint64_t before = HoldWork::found_expired;
  EXPECT_EQ(Remaining("k", "100/d"), 100);
  EXPECT_EQ(HoldWork::found_expired - before, 1U);
}

}  // namespace
}  // namespace weir
