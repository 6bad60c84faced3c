// Goal: under --max-memory a table stays within its bytes and evicts what matters least: full
// buckets first, then those that have used the smallest share of their limit. An exhausted bucket
// stays. Method: one partition filled with random buckets and checked after each insert; a flood of
// new keys over the whole table.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/limiter/limiter_restore.h"
#include "core/policies/policies.h"
#include "core/rules/rule.h"
#include "core/table/table_bound.h"
#include "tests/core/limiter/limiter_fixture.h"
#include "tests/support/take_all.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

// The keys of one partition: "<i>" for growing i.
class KeysOf {
 public:
  explicit KeysOf(std::size_t partition) : partition_(partition) {}
  std::string Next() {
    for (;;) {
      std::string key = std::to_string(next_++);
      if (hasher_(key).partition == partition_) return key;
    }
  }

 private:
  const KeyHasher hasher_{{}};
  const std::size_t partition_;
  std::size_t next_ = 0;
};

class LimiterBoundTest : public LimiterFixture {
 protected:
  explicit LimiterBoundTest(const LimiterOptions& options = {.memory_max = TableBound::kBytesMin})
      : LimiterFixture(options),
        bound_(TableBound::Within(TableBound::kBytesMin, options.logs_changes)) {}

  // True if the key has a bucket that is not full.
  bool IsThere(const std::string& key) { return !limiter_->Inspect(key, now_).empty(); }

  // The share of its limit that the key's one bucket has used, computed from what a client sees;
  // unset if there is no bucket. The share of a window is in whole tokens, and so exact.
  std::optional<double> UsedOf(const std::string& key) {
    const std::vector<LiveBucket> live = limiter_->Inspect(key, now_);
    if (live.empty()) return std::nullopt;
    const Limit& limit = live.front().limit;
    if (limit.shape().algorithm != Algorithm::kTokenBucket) {
      return 1 - static_cast<double>(live.front().remaining) /
                     static_cast<double>(limit.capacity_tokens());
    }
    return static_cast<double>(live.front().reset_after.count()) /
           static_cast<double>(limit.emission().capacity.whole);
  }
  std::vector<std::string> Fill(std::size_t keys, std::string_view limit) {
    std::vector<std::string> filled;
    for (std::size_t i = 0; i < keys; ++i) {
      filled.push_back(keys_.Next());
      Decide({{filled.back(), limit}});
    }
    return filled;
  }

  static constexpr std::size_t kPartition = kPartitionCount - 1;
  const TableBound bound_;
  const std::size_t slots_max_ = bound_.SlotsMax(kPartition);
  KeysOf keys_{kPartition};
};

TEST_F(LimiterBoundTest, EvictedBucketsHaveUsedTheSmallestShares) {
  constexpr std::array<std::string_view, 6> kLimits = {
      "10/s", "100/m", "1000/h,burst=50", "50/h,fixed", "20/m,sliding", "7/d"};
  std::mt19937_64 random(1);
  std::vector<std::string> present;
  std::map<std::string, double> before;
  std::uint64_t evicted = 0;
  for (std::int64_t i = 0; i < Scaled(3'000); ++i) {
    now_ += microseconds(random() % 20'000);
    before.clear();
    for (const std::string& key : present) {
      if (const auto used = UsedOf(key)) before.emplace(key, *used);
    }
    const std::string key = keys_.Next();
    const auto cost = static_cast<std::int64_t>(1 + random() % 7);
    ASSERT_TRUE(Decide({{key, kLimits[random() % kLimits.size()], cost}}).allowed);
    double last_gone = 0;
    double first_kept = 1;
    present.assign({key});
    for (const auto& [other, used] : before) {
      if (IsThere(other)) {
        first_kept = std::min(first_kept, used);
        present.push_back(other);
      } else {
        last_gone = std::max(last_gone, used);
        ++evicted;
      }
    }
    ASSERT_LE(last_gone, first_kept + 1e-9);
    ASSERT_TRUE(IsThere(key)) << "the new one stays";
    ASSERT_LE(buckets(), slots_max_);
    ASSERT_EQ(upkeep_.counts().evicted, evicted);
  }
  EXPECT_GE(buckets(), slots_max_ - slots_max_ / 32);
}

// A key that has used up a short limit is nearer to full than a fresh key of a long limit.
TEST_F(LimiterBoundTest, FreshKeysEvictNoExhaustedKeyOfAnotherLimit) {
  constexpr std::array<std::string_view, 4> kUsedUp = {"5/m", "10/h,fixed", "20/m,sliding", "1/2s"};
  constexpr std::array<std::string_view, 4> kFresh = {"1000/30d", "10/d", "100/30d,fixed",
                                                      "10/d,sliding"};
  std::vector<std::string> used_up;
  for (std::size_t i = 0; i < slots_max_ / 2; ++i) {
    const std::string_view limit = kUsedUp[i % kUsedUp.size()];
    used_up.push_back(keys_.Next());
    Decide({{used_up.back(), limit, LimitOf(limit).capacity_tokens()}});
  }
  for (std::size_t i = 0; i < 20 * slots_max_; ++i) {
    now_ += microseconds(1);
    Decide({{keys_.Next(), kFresh[i % kFresh.size()]}});
  }
  EXPECT_GT(upkeep_.counts().evicted, slots_max_);
  for (const std::string& key : used_up) EXPECT_TRUE(IsThere(key));
}

// Such buckets belong to no single limit, so they are evicted after buckets that have used less
// than half of their limit, and before those that have used more.
TEST_F(LimiterBoundTest, BucketsOfThrottleCountAsHalfUsed) {
  const std::vector<std::string> less = Fill(slots_max_ / 4, "10/d");
  std::vector<std::string> more;
  for (std::size_t i = 0; i < slots_max_ / 4; ++i) {
    more.push_back(keys_.Next());
    Decide({{more.back(), "10/h", 6}});
  }
  const Limit throttle = LimitOf("1/m").OwnedBy(kThrottleOwner);
  std::vector<std::string> throttled;
  for (std::size_t i = 0; i < slots_max_; ++i) {
    throttled.push_back(keys_.Next());
    const Request request = {
        {.key = throttled.back(), .limit = &throttle, .hash = limiter_->Hash(throttled.back())}};
    ASSERT_TRUE(limiter_->Decide(request, now_).ok());
  }
  for (const std::string& key : less) EXPECT_FALSE(IsThere(key));
  for (const std::string& key : more) EXPECT_TRUE(IsThere(key));
}

TEST_F(LimiterBoundTest, FullBucketsAreEvictedFirst) {
  const std::vector<std::string> live = Fill(slots_max_ / 2, "1/h");
  Fill(slots_max_ - live.size(), "10/s");
  now_ += seconds(1);
  Fill(slots_max_ - live.size(), "10/s");
  EXPECT_EQ(upkeep_.counts().evicted, 0U);
  EXPECT_EQ(upkeep_.counts().evicted_full, slots_max_ - live.size());
  EXPECT_EQ(buckets(), slots_max_);
  for (const std::string& key : live) EXPECT_TRUE(IsThere(key));
}

TEST_F(LimiterBoundTest, AFloodOfNewKeysStaysWithinTheBytesAndEvictsNoExhaustedBucket) {
  if (IsShort()) GTEST_SKIP() << "fewer keys do not fill the table";
  constexpr int kExhausted = 1'000;
  for (int i = 0; i < kExhausted; ++i) Decide({{"exhausted:" + std::to_string(i), "10/h", 10}});
  const std::int64_t flood = Scaled(1'100'000);
  for (std::int64_t i = 0; i < flood; ++i) {
    now_ += microseconds(1);
    ASSERT_TRUE(Decide({{std::to_string(i), "10/h"}}).allowed);
  }
  for (int i = 0; i < kExhausted; ++i) {
    ASSERT_FALSE(Peek({{"exhausted:" + std::to_string(i), "10/h"}}).allowed) << i;
  }
  const LimiterUpkeep::Size size = upkeep_.size();
  EXPECT_LE(size.table_bytes, TableBound::kBytesMin / 4 * 3);
  EXPECT_GE(size.table_bytes, TableBound::kBytesMin / 10 * 7) << "it uses what it may";
  EXPECT_EQ(size.buckets + upkeep_.counts().evicted, static_cast<std::size_t>(flood) + kExhausted);
}

// However full the partition is, a request's own buckets are all there afterwards.
TEST_F(LimiterBoundTest, ARequestDoesNotEvictItsOwnBuckets) {
  Fill(slots_max_, "1/d");
  const std::string key = keys_.Next();
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kChecksMax; ++i) texts.push_back(std::to_string(i + 1) + "/d");
  std::vector<Asked> request;
  for (const std::string& text : texts) request.push_back({key, text});
  ASSERT_TRUE(Decide(request).allowed);
  EXPECT_EQ(limiter_->Inspect(key, now_).size(), kChecksMax);
}

TEST_F(LimiterBoundTest, SweepsBringTheTableBelowALoweredBound) {
  upkeep_.set_memory_max(0);
  const std::vector<std::string> near = Fill(2 * slots_max_, "10/h");
  const std::vector<std::string> far = Fill(slots_max_, "5/m");
  EXPECT_EQ(buckets(), 3 * slots_max_);
  upkeep_.set_memory_max(TableBound::kBytesMin);
  EXPECT_EQ(SweepAll(), 0U) << "of what is full";
  EXPECT_EQ(buckets(), slots_max_);
  EXPECT_EQ(upkeep_.counts().evicted, 2 * slots_max_);
  EXPECT_LE(upkeep_.size().table_bytes, bound_.Capacity(kPartition) * 25);
  for (const std::string& key : far) EXPECT_TRUE(IsThere(key));

  upkeep_.set_memory_max(0);
  Fill(slots_max_, "10/m");
  EXPECT_EQ(buckets(), 2 * slots_max_);
}

TEST_F(LimiterBoundTest, ARestoredPartitionKeepsTheBucketsThatHaveUsedMost) {
  const Limit limit = LimitOf("10000/h");
  LimiterRestore restore(limiter_->table());
  ASSERT_TRUE(restore.RestoreLimit(LimitId{}, limit));
  std::vector<LimiterRestore::RestoredBucket> restored;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 2 * slots_max_; ++i) {
    keys.push_back(keys_.Next());
    const Bucket bucket = DecideLimit(limit, Bucket{}, now_, i + 1, Nanos{0}).bucket;
    restored.push_back({{KeyHasher({})(keys.back()).hash, LimitId{}}, bucket});
  }
  restore.RestorePartition(kPartition, restored, now_);
  restore.EndRestore(TableGeneration{});
  EXPECT_EQ(buckets(), slots_max_);
  EXPECT_LE(upkeep_.size().table_bytes, bound_.Capacity(kPartition) * 25);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(IsThere(keys[i]), i >= slots_max_) << i;
  }
}

// The registry of limits has a quarter of the bound.
TEST_F(LimiterBoundTest, LimitsAreWithinTheBoundToo) {
  std::size_t admitted = 0;
  for (std::size_t i = 1; i <= 100'000; ++i) {
    const Limit limit = LimitOf(std::to_string(i) + "/d");
    const std::string key = std::to_string(i);
    const Request request = {{.key = key, .limit = &limit, .hash = limiter_->Hash(key)}};
    if (limiter_->Decide(request, now_).ok()) ++admitted;
  }
  EXPECT_EQ(admitted,
            TableBound::RegistryBytes(TableBound::kBytesMin) / LimitRegistry::BytesPerLimit());
  EXPECT_GT(admitted, 50'000U);
}

// The policy's present numbers decide.
class PolicyBoundTest : public ::testing::Test {
 protected:
  void Charge(const std::string& key, std::string_view policy, std::int64_t cost) {
    const Request request = {{.key = key,
                              .limit = &policies_.Find(policy)->limits.front().limit,
                              .cost = cost,
                              .hash = limiter_.Hash(key)}};
    EXPECT_TRUE(limiter_.Decide(request, FakeClock::kStart)->allowed);
  }
  void Set(std::string_view policy, std::string_view limit) {
    ASSERT_TRUE(policies_.Set(policy, *ParsePolicyLimits({{limit}})).ok());
  }
  std::size_t CountOf(const std::vector<std::string>& keys) {
    return static_cast<std::size_t>(std::ranges::count_if(keys, [this](const std::string& key) {
      return !limiter_.Inspect(key, FakeClock::kStart).empty();
    }));
  }
  std::vector<std::string> Fill(std::size_t count, std::string_view policy, std::int64_t cost) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back(keys_.Next());
      Charge(keys.back(), policy, cost);
    }
    return keys;
  }

  static constexpr std::size_t kPartition = kPartitionCount - 1;
  const std::size_t slots_max_ =
      TableBound::Within(TableBound::kBytesMin, false).SlotsMax(kPartition);
  Policies policies_;
  Limiter limiter_{{.memory_max = TableBound::kBytesMin, .present = [this](const Limit& interned) {
                      return policies_.PresentLimit(interned);
                    }}};
  KeysOf keys_{kPartition};
};

TEST_F(PolicyBoundTest, TheShareIsOfThePresentNumbers) {
  Set("raised", "10/h");
  Set("lowered", "1000/h");
  const auto raised = Fill(slots_max_ / 2, "raised", 9);
  const auto lowered = Fill(slots_max_ - raised.size(), "lowered", 10);
  Set("raised", "10/h,burst=1000");
  Set("lowered", "1000/h,burst=10");
  Set("other", "10/h");
  const auto other = Fill(slots_max_ / 4, "other", 5);
  EXPECT_LE(CountOf(raised), raised.size() - other.size());
  EXPECT_EQ(CountOf(lowered), lowered.size());
  EXPECT_EQ(CountOf(other), other.size());
}

TEST_F(PolicyBoundTest, BucketsOfDeletedPoliciesAreEvictedFirst) {
  Set("gone", "10/h");
  const auto gone = Fill(slots_max_ / 2, "gone", 10);
  Set("other", "1000/h");
  const auto other = Fill(slots_max_ - gone.size(), "other", 1);
  ASSERT_TRUE(policies_.Delete("gone").ok());
  const auto more = Fill(slots_max_ / 4, "other", 1);
  EXPECT_LE(CountOf(gone), gone.size() - more.size());
  EXPECT_EQ(CountOf(other), other.size());
  EXPECT_EQ(CountOf(more), more.size());
}

class SavedLimiterBoundTest : public LimiterBoundTest {
 protected:
  SavedLimiterBoundTest()
      : LimiterBoundTest({.logs_changes = true, .memory_max = TableBound::kBytesMin}) {}
};

// After a restart, the id of the evicted bucket's limit may belong to another limit.
TEST_F(SavedLimiterBoundTest, EvictedBucketsAreErasedFromDisk) {
  std::map<std::uint64_t, Bucket> saved;  // by the key's hash
  const auto save = [&] {
    const LimiterChanges changes = TakeAll(*limiter_, now_, false);
    ASSERT_TRUE(changes.rewritten_partitions.empty());
    for (const BucketChange& change : changes.buckets) {
      change.erased ? saved.erase(change.key.key_hash())
                    : saved.insert_or_assign(change.key.key_hash(), change.bucket).second;
    }
  };
  for (int tick = 0; tick < 20; ++tick) {
    Fill(slots_max_ / 3, "10/h");
    now_ += seconds(1);
    save();
    EXPECT_EQ(saved.size(), buckets());
  }
  EXPECT_GT(upkeep_.counts().evicted, 0U);
}

}  // namespace
}  // namespace weir
