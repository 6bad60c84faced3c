// Goal: under --max-memory a table keeps within its bytes and forgets what matters least: what is
// full, then what is nearest to it; what is exhausted stays denied. Method: one partition filled
// with random buckets and looked at after each insert; a flood of new keys over the whole table.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/rules/rule.h"
#include "core/table/table_bound.h"
#include "tests/core/limiter/limiter_fixture.h"
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
        bound_(TableBound::Within(TableBound::kBytesMin, options.notes_changes)) {}

  // Nothing if the key has no bucket that is not full.
  std::optional<Nanos> UntilFull(const std::string& key) {
    const std::vector<LiveBucket> live = limiter_->Inspect(key, now_);
    return live.empty() ? std::nullopt : std::optional(live.front().reset_after);
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

TEST_F(LimiterBoundTest, NothingGoesThatIsFartherFromFullThanWhatStays) {
  constexpr std::array<std::string_view, 6> kLimits = {
      "10/s", "100/m", "1000/h,burst=50", "50/h,fixed", "20/m,sliding", "7/d"};
  std::mt19937_64 random(1);
  std::vector<std::string> present;
  std::map<std::string, Nanos> before;
  std::uint64_t evicted = 0;
  for (std::int64_t i = 0; i < Scaled(3'000); ++i) {
    now_ += microseconds(random() % 20'000);
    before.clear();
    for (const std::string& key : present) {
      if (const auto until_full = UntilFull(key)) before.emplace(key, *until_full);
    }
    const std::string key = keys_.Next();
    const auto cost = static_cast<std::int64_t>(1 + random() % 7);
    ASSERT_TRUE(Decide({{key, kLimits[random() % kLimits.size()], cost}}).allowed);
    Nanos last_gone{0};
    Nanos first_kept = Nanos::max();
    present.assign({key});
    for (const auto& [other, until_full] : before) {
      if (UntilFull(other)) {
        first_kept = std::min(first_kept, until_full);
        present.push_back(other);
      } else {
        last_gone = std::max(last_gone, until_full);
        ++evicted;
      }
    }
    ASSERT_LE(last_gone, first_kept);
    ASSERT_TRUE(UntilFull(key)) << "the new one stays";
    ASSERT_LE(buckets(), slots_max_);
    ASSERT_EQ(limiter_->evicted(), evicted);
  }
  EXPECT_GE(buckets(), slots_max_ - slots_max_ / 32);
}

TEST_F(LimiterBoundTest, WhatIsFullGoesFirst) {
  const std::vector<std::string> live = Fill(slots_max_ / 2, "1/h");
  Fill(slots_max_ - live.size(), "10/s");
  now_ += seconds(1);
  Fill(slots_max_ - live.size(), "10/s");
  EXPECT_EQ(limiter_->evicted(), 0U);
  EXPECT_EQ(buckets(), slots_max_);
  for (const std::string& key : live) EXPECT_TRUE(UntilFull(key));
}

TEST_F(LimiterBoundTest, AFloodOfNewKeysKeepsWithinTheBytesAndForgetsNoExhaustedOne) {
  constexpr int kExhausted = 1'000;
  for (int i = 0; i < kExhausted; ++i) Decide({{"exhausted:" + std::to_string(i), "10/h", 10}});
  const std::int64_t flood = std::max<std::int64_t>(Scaled(3'000'000), 1'500'000);
  for (std::int64_t i = 0; i < flood; ++i) {
    now_ += microseconds(1);
    ASSERT_TRUE(Decide({{std::to_string(i), "10/h"}}).allowed);
  }
  for (int i = 0; i < kExhausted; ++i) {
    ASSERT_FALSE(Peek({{"exhausted:" + std::to_string(i), "10/h"}}).allowed) << i;
  }
  const Limiter::Size size = limiter_->size();
  EXPECT_LE(size.table_bytes, TableBound::kBytesMin);
  EXPECT_GE(size.table_bytes, TableBound::kBytesMin / 6 * 5) << "it uses what it may";
  EXPECT_EQ(size.buckets + limiter_->evicted(), static_cast<std::size_t>(flood) + kExhausted);
}

// However full the partition is, a request's own buckets are all there afterwards.
TEST_F(LimiterBoundTest, ARequestDoesNotDriveOutItsOwn) {
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
  limiter_->set_memory_max(0);
  const std::vector<std::string> near = Fill(2 * slots_max_, "10/m");
  const std::vector<std::string> far = Fill(slots_max_, "10/h");
  EXPECT_EQ(buckets(), 3 * slots_max_);
  limiter_->set_memory_max(TableBound::kBytesMin);
  EXPECT_EQ(SweepAll(), 0U) << "of what is full";
  EXPECT_EQ(buckets(), slots_max_);
  EXPECT_EQ(limiter_->evicted(), 2 * slots_max_);
  EXPECT_LE(limiter_->size().table_bytes, bound_.Capacity(kPartition) * 25);
  for (const std::string& key : far) EXPECT_TRUE(UntilFull(key));

  limiter_->set_memory_max(0);
  Fill(slots_max_, "10/m");
  EXPECT_EQ(buckets(), 2 * slots_max_);
}

TEST_F(LimiterBoundTest, OfARestoredPartitionThoseStayThatAreFarthestFromFull) {
  const Limit limit = LimitOf("10000/h");
  ASSERT_TRUE(limiter_->RestoreLimit(0, limit));
  std::vector<Limiter::RestoredBucket> restored;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 2 * slots_max_; ++i) {
    keys.push_back(keys_.Next());
    const Bucket bucket = DecideLimit(limit, Bucket{}, now_, i + 1, Nanos{0}).bucket;
    restored.push_back({{KeyHasher({})(keys.back()).hash, 0}, bucket});
  }
  limiter_->RestorePartition(kPartition, restored, now_);
  limiter_->EndRestore(0);
  EXPECT_EQ(buckets(), slots_max_);
  EXPECT_LE(limiter_->size().table_bytes, bound_.Capacity(kPartition) * 25);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(UntilFull(keys[i]).has_value(), i >= slots_max_) << i;
  }
}

class SavedLimiterBoundTest : public LimiterBoundTest {
 protected:
  SavedLimiterBoundTest()
      : LimiterBoundTest({.notes_changes = true, .memory_max = TableBound::kBytesMin}) {}
};

// Its limit's id may be another limit's when the server starts again.
TEST_F(SavedLimiterBoundTest, WhatGoesIsErasedFromWhatWasSaved) {
  std::map<std::uint64_t, Bucket> saved;  // by the key's hash
  const auto save = [&] {
    const LimiterChanges changes = limiter_->TakeChanges(now_, false);
    ASSERT_TRUE(changes.partitions_anew.empty());
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
  EXPECT_GT(limiter_->evicted(), 0U);
}

}  // namespace
}  // namespace weir
