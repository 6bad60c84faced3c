// Goal: the open holds of a key know of other changes of the buckets that they name, and of no
// others. Method: a store of one key with one hold, and each function of HoldSums.
#include "core/limiter/hold_sums.h"

#include <chrono>
#include <optional>

#include "gtest/gtest.h"

#include "tests/random/generators.h"

namespace weir {
namespace {

using std::chrono::seconds;

// A store with holds and without buckets.
class HoldsOnly final : public HoldStore {
 public:
  HoldTable* holds() override { return holds_ ? &*holds_ : nullptr; }
  HoldTable& MakeHolds() override { return holds_ ? *holds_ : holds_.emplace(); }
  void HoldsChanged() override { ++changes_; }
  std::optional<Bucket> FindBucket(const SlotKey&) override { return std::nullopt; }
  void StoreBucket(const SlotKey&, const Limit&, Bucket, Instant) override { FAIL(); }
  bool HasRoomFor(std::uint64_t, std::size_t, Instant) override { return false; }

  [[nodiscard]] int changes() const { return changes_; }

 private:
  std::optional<HoldTable> holds_;
  int changes_ = 0;
};

class HoldSumsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kKey = 7;
  static constexpr Instant kNow{seconds{1'000}};
  static constexpr Instant kEnd = kNow + seconds{60};
  static constexpr LimitId kNamed{1};
  static constexpr LimitId kHeld{2};
  static constexpr LimitId kOther{3};

  HoldSumsTest() {
    HoldPart held = {.cost = 3, .limit = kHeld};
    held.SetHeld();
    const HoldPart parts[] = {{.cost = 5, .limit = kNamed}, held};
    store_.MakeHolds().Open({.key = kKey, .expiry = kEnd}, "hold", parts, {});
  }

  [[nodiscard]] SettlementSums SumsOf(LimitId limit) {
    return store_.holds()->SumsOf({kKey, limit});
  }
  [[nodiscard]] Bucket Charged(std::uint64_t cost) const {
    return ChargeLimit(limit_, {}, kNow, cost, Nanos{0});
  }

  const Limit limit_ = LimitOf("100/s");
  HoldsOnly store_;
  HoldSums sums_{store_, Nanos{0}};
};

TEST_F(HoldSumsTest, RefundsCountAsGivenBackAndTrimsAsCutOff) {
  sums_.CountRefunded({kKey, kNamed}, limit_, Charged(50), Charged(30), kNow);
  const auto in_nanos = [](std::uint64_t sum) { return Nanos{static_cast<std::int64_t>(sum)}; };
  EXPECT_EQ(in_nanos(SumsOf(kNamed).given_back), std::chrono::milliseconds{200});
  EXPECT_EQ(SumsOf(kNamed).cut_off, 0U);
  sums_.CountTrimmed({kKey, kNamed}, limit_, Charged(50), Charged(40), kNow);
  EXPECT_EQ(in_nanos(SumsOf(kNamed).given_back), std::chrono::milliseconds{200});
  EXPECT_EQ(in_nanos(SumsOf(kNamed).cut_off), std::chrono::milliseconds{100});
  EXPECT_EQ(store_.changes(), 2);
}

TEST_F(HoldSumsTest, ChargeThatIsCutCountsAsCutOff) {
  BucketStep step;
  step.cost = 20;
  step.present = Charged(100);
  step.step.bucket = step.present;  // It owes as much as it may.
  sums_.CountCharged({kKey, kNamed}, limit_, step, kNow);
  EXPECT_GT(SumsOf(kNamed).cut_off, 0U);
}

TEST_F(HoldSumsTest, NothingIsGivenBackAfterForbid) {
  const Bucket left = Charged(5);
  const Estimate estimate = EstimateOf(limit_, left, 5, SumsOf(kNamed));
  sums_.Forbid({kKey, kNamed}, limit_);
  SettlementSums sums = SumsOf(kNamed);
  EXPECT_EQ(SettleLimit(limit_, left, kNow, estimate, 0, Nanos{0}, sums), left);
}

TEST_F(HoldSumsTest, BucketThatNoOpenHoldNamesHasNoSums) {
  for (const SlotKey& slot : {SlotKey{kKey, kOther}, SlotKey{kKey + 1, kNamed}}) {
    sums_.Forbid(slot, limit_);
    sums_.CountRefunded(slot, limit_, Charged(50), Charged(30), kNow);
    EXPECT_EQ(store_.holds()->SumsOf(slot), SettlementSums{});
  }
  HoldsOnly empty;
  HoldSums(empty, Nanos{0}).Forbid({kKey, kNamed}, limit_);
  EXPECT_EQ(store_.changes() + empty.changes(), 0);
}

TEST_F(HoldSumsTest, HeldBucketHasTheTokensOfOpenHoldsUntilTheLastEnds) {
  EXPECT_EQ(sums_.HeldBucket({kKey, kHeld}), AddHeld({}, 3, kEnd));
  EXPECT_EQ(sums_.HeldBucket({kKey, kNamed}), Bucket{});
  EXPECT_EQ(sums_.HeldBucket({kKey + 1, kHeld}), Bucket{});
  HoldsOnly empty;
  EXPECT_EQ(HoldSums(empty, Nanos{0}).HeldBucket({kKey, kHeld}), Bucket{});
}

}  // namespace
}  // namespace weir
