// Goal: a key has at most kKeyBucketsMax buckets, whatever the order of requests and sweeps, and no
// other key is refused because of it. Method: random requests on keys of one partition, beside
// counts kept by hand; limits that fill a key exactly.
#include "core/table/key_bound.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/limiter/limiter_fixture.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class KeyBoundTest : public LimiterFixture {
 protected:
  KeyBoundTest() : LimiterFixture(LimiterOptions{}) {}

  // "1/h", "2/h", ...
  static std::string Rate(std::size_t i) { return std::to_string(i + 1) + "/h"; }
  bool IsAdmitted(const std::string& key, const std::vector<std::size_t>& rates) {
    std::vector<std::string> texts;
    for (const std::size_t rate : rates) texts.push_back(Rate(rate));
    std::vector<Asked> asked;
    for (const std::string& text : texts) asked.push_back({key, text});
    const absl::StatusOr<Verdict> verdict = limiter_->Decide(Of(asked), now_);
    if (verdict.ok()) return true;
    EXPECT_EQ(verdict.status(), TooManyBucketsOfKey());
    return false;
  }
  // Keys of one partition.
  static std::vector<std::string> Neighbours(std::size_t count) {
    const KeyHasher hasher{{}};
    std::vector<std::string> keys;
    for (std::size_t i = 0; keys.size() < count; ++i) {
      const std::string key = std::to_string(i);
      if (hasher(key).partition == hasher("0").partition) keys.push_back(key);
    }
    return keys;
  }
  void Fill(const std::string& key) {
    for (std::size_t i = 0; i < kKeyBucketsMax; ++i) ASSERT_TRUE(IsAdmitted(key, {i}));
  }
};

TEST_F(KeyBoundTest, TheLastBucketIsAdmittedAndTheNextIsNot) {
  Fill("k");
  EXPECT_FALSE(IsAdmitted("k", {kKeyBucketsMax}));
  EXPECT_FALSE(IsAdmitted("k", {1, kKeyBucketsMax})) << "and nothing is charged";
  EXPECT_EQ(buckets(), kKeyBucketsMax);
  EXPECT_EQ(Remaining("k", Rate(1)), 1);
  EXPECT_TRUE(IsAdmitted("k", {1})) << "of one that it has";
  EXPECT_TRUE(IsAdmitted("l", {kKeyBucketsMax}));
}

TEST_F(KeyBoundTest, ARequestThatWouldGoOverIsRefusedAsAWhole) {
  for (std::size_t i = 0; i < kKeyBucketsMax - 2; ++i) ASSERT_TRUE(IsAdmitted("k", {i}));
  ASSERT_TRUE(IsAdmitted("other", {kKeyBucketsMax + 1}));
  EXPECT_FALSE(IsAdmitted("k", {2000, 2001, 2002}));
  EXPECT_FALSE(IsAdmitted("k", {2000, 2001, 2002, 2003, 2004}));
  EXPECT_TRUE(IsAdmitted("k", {2000, 2001}));
}

TEST_F(KeyBoundTest, FullAndForgottenBucketsMakeRoom) {
  Fill("k");
  EXPECT_FALSE(IsAdmitted("k", {3000}));
  now_ += Nanos{hours{1}} / kKeyBucketsMax;  // One token of the fastest is back.
  EXPECT_TRUE(IsAdmitted("k", {3000}));
  EXPECT_FALSE(IsAdmitted("k", {3001}));
  EXPECT_EQ(Reset("k", {Rate(0)}), 1U);
  EXPECT_TRUE(IsAdmitted("k", {3001}));
  EXPECT_FALSE(IsAdmitted("k", {3002}));
  now_ += hours{2};
  SweepAll();
  EXPECT_TRUE(IsAdmitted("k", {3002}));
}

TEST_F(KeyBoundTest, NoKeyHasMoreAndNoneWithFewerIsRefused) {
  const std::vector<std::string> keys = Neighbours(4);
  std::map<std::string, std::set<std::size_t>> has;
  for (const std::string& key : keys) {  // A short run must reach the bound, too.
    for (std::size_t i = 0; i < kKeyBucketsMax - 24; ++i) {
      ASSERT_TRUE(IsAdmitted(key, {i}));
      has[key].insert(i);
    }
  }
  std::mt19937_64 random(1);
  std::size_t refused = 0;
  for (std::int64_t i = 0; i < Scaled(20'000); ++i) {
    const std::string& key = keys[std::min<std::size_t>(random() % 8, keys.size() - 1)];
    std::set<std::size_t>& own = has[key];
    if (random() % 500 == 0) {
      EXPECT_EQ(Reset(key), own.size());
      own.clear();
      continue;
    }
    std::set<std::size_t> asked;
    for (std::size_t j = random() % 4 + 1; j > 0; --j) asked.insert(random() % 1500);
    std::set<std::size_t> after = own;
    after.insert(asked.begin(), asked.end());
    std::vector<std::size_t> rates(asked.begin(), asked.end());
    // A limit whose tokens are used up denies the request, so no bucket is created.
    std::erase_if(rates, [&](std::size_t rate) {
      return own.contains(rate) && Remaining(key, Rate(rate)) == 0;
    });
    if (rates.empty()) continue;
    after = own;
    after.insert(rates.begin(), rates.end());
    const bool fits = after.size() <= kKeyBucketsMax;
    ASSERT_EQ(IsAdmitted(key, rates), fits) << i;
    fits ? static_cast<void>(own = after) : static_cast<void>(++refused);
  }
  EXPECT_GT(refused, 0U);
}

// --- Visited slots -------------------------------------------------------------------------------

TEST_F(KeyBoundTest, ALookVisitsNoMoreThanThereAreLimits) {
  for (int i = 0; i < 100'000; ++i)
    Decide({{std::to_string(i), "1/h"}, {std::to_string(i), "2/h"}});
  const std::uint64_t before = Limiter::SlotsVisited();
  EXPECT_GT(limiter_->ResetAfter("7", now_), Nanos{0});
  EXPECT_EQ(Limiter::SlotsVisited() - before, 2U);
  EXPECT_EQ(limiter_->CountVisits("7", now_), 2U);
  EXPECT_EQ(limiter_->Inspect("7", now_).size(), 2U);
  EXPECT_EQ(Limiter::SlotsVisited() - before, 2U + 2U + 2 * 8U) << "a copied bucket counts as 8";
}

TEST_F(KeyBoundTest, ALookVisitsNoMoreThanItsPartitionHas) {
  Fill("k");
  ASSERT_TRUE(IsAdmitted("other", {0}));
  const std::uint64_t before = Limiter::SlotsVisited();
  EXPECT_GT(limiter_->ResetAfter("other", now_), Nanos{0});
  EXPECT_EQ(Limiter::SlotsVisited() - before, limiter_->CountVisits("other", now_));
  EXPECT_LE(limiter_->CountVisits("other", now_), 2U);
  EXPECT_EQ(limiter_->CountVisits("k", now_), kKeyBucketsMax);
}

// A flood of refused requests must not cost a scan each.
TEST_F(KeyBoundTest, AFullKeyIsNotCountedAgain) {
  Fill("k");
  EXPECT_FALSE(IsAdmitted("k", {3000}));
  const std::uint64_t before = Limiter::SlotsVisited();
  for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(IsAdmitted("k", {3000}));
  EXPECT_EQ(Limiter::SlotsVisited(), before);
}

// The same holds for a key that has some room, but less than the request needs. A new bucket may be
// full soon.
TEST_F(KeyBoundTest, ANearlyFullKeyIsNotCountedAgain) {
  for (std::size_t i = 1; i < kKeyBucketsMax; ++i) ASSERT_TRUE(IsAdmitted("k", {i}));
  EXPECT_FALSE(IsAdmitted("k", {3000, 3001}));
  const std::uint64_t before = Limiter::SlotsVisited();
  for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(IsAdmitted("k", {3000, 3001}));
  EXPECT_EQ(Limiter::SlotsVisited(), before);
  EXPECT_TRUE(IsAdmitted("k", {3000}));
  EXPECT_FALSE(IsAdmitted("k", {3001}));
}

}  // namespace
}  // namespace weir
