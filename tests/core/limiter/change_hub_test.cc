// Goal: every consumer of a hub gets the same batches in one order, which is the order of the
// changes; each change is in one batch, and no batch is earlier than what it tells. Method:
// consumers that write down what they get, with and without threads that decide meanwhile.
#include "core/limiter/change_hub.h"

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/limiter/change_reader.h"
#include "core/rules/rule.h"
#include "tests/core/limiter/limiter_fixture.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Recorder final : public ChangeConsumer {
 public:
  void Consume(const ChangeBatch& batch) override { batches.push_back(batch); }
  [[nodiscard]] std::size_t buckets() const {
    std::size_t count = 0;
    for (const ChangeBatch& batch : batches) count += batch.limiter.buckets.size();
    return count;
  }
  std::vector<ChangeBatch> batches;
};

using Name = std::tuple<std::uint16_t, std::uint64_t, LimitId>;
Name NameOf(const BucketChange& change) {
  return {change.partition, change.key.key_hash(), change.key.limit};
}

// A clock of which every reading is later than the last, in every thread.
class CountingClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() const override { return Instant{Nanos{nanos_.fetch_add(1)}}; }
  [[nodiscard]] Nanos Stopwatch() const override { return Nanos{0}; }

 private:
  mutable std::atomic<Nanos::rep> nanos_{FakeClock::kStart.time_since_epoch().count()};
};

class ChangeHubTest : public LimiterFixture {
 protected:
  ChangeHubTest() : LimiterFixture({.logs_changes = true}) { policies_.StartLogging(); }

  void TakeAll() {
    clock_.Set(now_);
    hub_.TakeAll();
  }
  std::string KeyIn(std::size_t partition, std::string key) {
    while (limiter_->Hash(key).partition != partition) key += ".";
    return key;
  }
  // More changes than the log of the key's partition keeps.
  void Overflow(std::string_view key) {
    for (std::size_t i = 0; i <= ChangeLog::kChangesMin + 1; ++i) {
      Decide({{key, std::to_string(i + 1) + "/h"}});
      Reset(key);
    }
  }

  FakeClock clock_;
  Policies policies_;
  ChangeHub hub_{limiter_->table(), policies_, clock_, true};
  Recorder first_;
};

// --- Who gets what ---

TEST_F(ChangeHubTest, AConsumerGetsTheBatchesBetweenAttachAndDetach) {
  Decide({{"before", "10/h"}});
  TakeAll();
  hub_.Attach(first_);
  Recorder second;
  Decide({{"a", "10/h"}});
  TakeAll();
  hub_.Attach(second);
  Decide({{"b", "10/h"}});
  TakeAll();
  hub_.Detach(first_);
  Decide({{"c", "10/h"}});
  TakeAll();
  hub_.Detach(second);
  Decide({{"after", "10/h"}});
  TakeAll();
  const auto hashes = [&](const Recorder& recorder) {
    std::vector<std::uint64_t> all;
    for (const ChangeBatch& batch : recorder.batches) {
      for (const BucketChange& change : batch.limiter.buckets) all.push_back(change.key.key_hash());
    }
    return all;
  };
  const auto hash = [&](std::string_view key) { return limiter_->Hash(key).hash; };
  EXPECT_THAT(hashes(first_), ElementsAre(hash("a"), hash("b")));
  EXPECT_THAT(hashes(second), ElementsAre(hash("b"), hash("c")));
  EXPECT_EQ(first_.batches.size(), 2U);
}

TEST_F(ChangeHubTest, ABatchWithoutChangesTellsTheGeneration) {
  hub_.Attach(first_);
  upkeep_.Clear();
  TakeAll();
  ASSERT_EQ(first_.batches.size(), 1U);
  EXPECT_TRUE(first_.batches[0].limiter.empty());
  EXPECT_EQ(first_.batches[0].limiter.generation, TableGeneration{1});
}

TEST_F(ChangeHubTest, ABatchHasThePoliciesOfItsBuckets) {
  hub_.Attach(first_);
  const std::string_view word = "10/h";
  EXPECT_TRUE(policies_.Set("free", *ParsePolicyLimits({&word, 1})).ok());
  const Limit limit = policies_.Find("free")->limits.front().limit;
  EXPECT_TRUE(
      limiter_->Decide({{.key = "a", .limit = &limit, .hash = limiter_->Hash("a")}}, now_).ok());
  TakeAll();
  ASSERT_EQ(first_.batches.size(), 1U);
  const ChangeBatch& batch = first_.batches[0];
  ASSERT_EQ(batch.limiter.buckets.size(), 1U);
  ASSERT_EQ(batch.policies.policies.size(), 1U);
  EXPECT_EQ(hub_.reader().LimitOf(batch.limiter.buckets[0].key.limit).owner().policy,
            batch.policies.policies[0].id);
  EXPECT_THAT(batch.limiter.limits, IsEmpty());
  TakeAll();
  EXPECT_TRUE(first_.batches[1].policies.empty());
}

// A record of a bucket that is gone names its limit, although its id is taken back.
TEST_F(ChangeHubTest, LimitsThatAreGoneAreKnownByTheirLastMeaning) {
  hub_.Attach(first_);
  Decide({{"a", "10/h"}});
  TakeAll();
  Reset("a");
  EXPECT_EQ(upkeep_.ReclaimLimits(1, 10), 1U);
  TakeAll();
  const std::vector<BucketChange>& buckets = first_.batches[1].limiter.buckets;
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_TRUE(buckets[0].erased);
  EXPECT_TRUE(hub_.reader().LimitOf(buckets[0].key.limit).SharesBucketsWith(LimitOf("10/h")));
}

// --- Flushes and overflows ---

TEST_F(ChangeHubTest, NothingOfBeforeComesAfterAFlush) {
  hub_.Attach(first_);
  Decide({{"old", "10/h"}});
  Overflow("crowded");
  upkeep_.Clear();
  Decide({{"new", "10/h"}});
  TakeAll();
  ASSERT_EQ(first_.batches.size(), 1U);
  const LimiterChanges& changes = first_.batches[0].limiter;
  EXPECT_EQ(changes.generation, TableGeneration{1});
  EXPECT_THAT(changes.overflowed_partitions, IsEmpty());
  ASSERT_EQ(changes.buckets.size(), 1U);
  EXPECT_EQ(changes.buckets[0].key.key_hash(), limiter_->Hash("new").hash);
}

TEST_F(ChangeHubTest, APartitionThatOverflowedIsNamedOnce) {
  hub_.Attach(first_);
  Overflow("a");
  const std::uint16_t partition = limiter_->Hash("a").partition;
  Decide({{"a", "10/h"}});
  Decide({{KeyIn(partition + 1U, "b"), "10/h"}});
  TakeAll();
  Decide({{"a", "20/h"}});
  TakeAll();
  ASSERT_EQ(first_.batches.size(), 2U);
  const LimiterChanges& first = first_.batches[0].limiter;
  EXPECT_THAT(first.overflowed_partitions, ElementsAre(partition));
  ASSERT_EQ(first.buckets.size(), 1U);
  EXPECT_EQ(first.buckets[0].partition, partition + 1) << "nothing of it is there";
  const LimiterChanges& second = first_.batches[1].limiter;
  EXPECT_THAT(second.overflowed_partitions, IsEmpty());
  ASSERT_EQ(second.buckets.size(), 1U);
  EXPECT_EQ(second.buckets[0].partition, partition);
}

// Others are asked, and the table flushed, between the parts of a batch.
TEST_F(ChangeHubTest, PartsHaveEachChangeOnce) {
  const std::size_t buckets = ChangeReader::kTakenMax + ChangeReader::kTakenMax / 8;
  const Limit limit = LimitOf("10/h");
  const auto decide_all = [&] {
    for (std::size_t i = 0; i < buckets; ++i) {
      const std::string key = std::to_string(i);
      ASSERT_TRUE(limiter_->Decide({{key, &limit, 1, nullptr, limiter_->Hash(key)}}, now_).ok());
    }
  };
  hub_.Attach(first_);
  decide_all();
  const std::size_t next = hub_.TakePart(0, true);
  ASSERT_LT(next, kPartitionCount);
  Recorder late;
  hub_.Attach(late);
  EXPECT_EQ(hub_.TakePart(next, true), kPartitionCount);
  EXPECT_EQ(first_.buckets(), buckets);
  EXPECT_EQ(first_.batches.size(), 2U);
  EXPECT_EQ(late.buckets(), first_.batches[1].limiter.buckets.size());
  for (const BucketChange& change : first_.batches[0].limiter.buckets)
    ASSERT_LT(change.partition, next);
  for (const BucketChange& change : late.batches[0].limiter.buckets)
    ASSERT_GE(change.partition, next);
  decide_all();
  ASSERT_LT(hub_.TakePart(0, false), kPartitionCount);
  upkeep_.Clear();
  Decide({{"new", "10/h"}});
  EXPECT_EQ(hub_.TakePart(next, false), kPartitionCount);
  TakeAll();
  EXPECT_EQ(first_.batches[2].limiter.generation, TableGeneration{});
  EXPECT_EQ(first_.batches[3].limiter.generation, TableGeneration{1});
  EXPECT_EQ(first_.batches[3].limiter.size() + first_.batches[4].limiter.size(), 1U);
}

// --- Threads ---

// Each key is decided once, by a window of its own: its end tells when it was decided.
TEST(ChangeHubThreadsTest, NoBatchIsEarlierThanADecisionInIt) {
  const CountingClock clock;
  Limiter limiter({.logs_changes = true});
  Policies policies;
  ChangeHub hub(limiter.table(), policies, clock, true);
  Recorder recorder;
  hub.Attach(recorder);
  const Limit limit = LimitOf("10/h,fixed");
  constexpr int kThreads = 2;
  const std::int64_t keys = Scaled(20'000);
  std::atomic<int> left{kThreads};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::int64_t i = 0; i < keys; ++i) {
        const std::string key = std::to_string(thread) + ":" + std::to_string(i);
        static_cast<void>(limiter.Decide({{.key = key, .limit = &limit, .hash = limiter.Hash(key)}},
                                         clock.Now()));
      }
      --left;
    });
  }
  while (left > 0) hub.TakeAll();
  for (std::thread& thread : threads) thread.join();
  hub.TakeAll();
  EXPECT_EQ(recorder.buckets(), static_cast<std::size_t>(kThreads * keys));
  Instant before{};
  for (const ChangeBatch& batch : recorder.batches) {
    ASSERT_GT(batch.time, before);
    before = batch.time;
    for (const BucketChange& change : batch.limiter.buckets) {
      const Nanos until_full = TimeToFull(limit, change.bucket, batch.time);
      ASSERT_LE(until_full, limit.shape().period) << "decided after the batch";
    }
  }
}

// A token bucket that is only charged grows: the batches have it in its own order, and the last one
// leaves it as it is in the table.
TEST(ChangeHubThreadsTest, AllConsumersGetAllBucketsInTheirOrder) {
  const CountingClock clock;
  Limiter limiter({.logs_changes = true});
  Policies policies;
  ChangeHub hub(limiter.table(), policies, clock, true);
  Recorder first;
  Recorder second;
  hub.Attach(first);
  hub.Attach(second);
  const Limit limit = LimitOf("1000000/d");
  std::atomic<int> left{2};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 2; ++seed) {
    threads.emplace_back([&, seed] {
      for (std::int64_t i = Scaled(20'000); i > 0; --i) {
        const std::string key = std::to_string((i * 7 + seed) % 50);
        static_cast<void>(limiter.Decide({{.key = key, .limit = &limit, .hash = limiter.Hash(key)}},
                                         clock.Now()));
      }
      --left;
    });
    threads.emplace_back([&] {
      while (left > 0) hub.TakeAll();
    });
  }
  for (std::thread& thread : threads) thread.join();
  hub.TakeAll();
  ASSERT_EQ(first.batches.size(), second.batches.size());
  std::map<Name, Bucket> last;
  for (std::size_t i = 0; i < first.batches.size(); ++i) {
    const ChangeBatch& batch = first.batches[i];
    const ChangeBatch& other = second.batches[i];
    ASSERT_EQ(batch.time, other.time);
    ASSERT_EQ(batch.limiter.buckets.size(), other.limiter.buckets.size());
    for (std::size_t j = 0; j < batch.limiter.buckets.size(); ++j) {
      const BucketChange& change = batch.limiter.buckets[j];
      ASSERT_EQ(NameOf(change), NameOf(other.limiter.buckets[j]));
      ASSERT_EQ(change.bucket, other.limiter.buckets[j].bucket);
      Bucket& bucket = last[NameOf(change)];
      ASSERT_GT(TimeToFull(limit, change.bucket, Instant{}), TimeToFull(limit, bucket, Instant{}));
      bucket = change.bucket;
    }
  }
  LimiterChanges copy;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    hub.reader().CopyPartition(i, std::nullopt, copy);
  }
  ASSERT_EQ(copy.buckets.size(), last.size());
  for (const BucketChange& bucket : copy.buckets) EXPECT_EQ(bucket.bucket, last[NameOf(bucket)]);
}

}  // namespace
}  // namespace weir
