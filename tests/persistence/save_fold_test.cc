// Goal: changes that others take between two saves are saved, too: a restart finds what the
// last save that succeeded had to write, or what one that failed since then had. And the fold of
// changes stays small, whatever comes and goes. Method: servers that are used at random, whose
// saves fail, and that crash; each save's state is copied aside (model_disk.h) and compared.
#include "persistence/save_fold.h"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_upkeep.h"
#include "tests/core/limiter/hold_fixture.h"
#include "tests/persistence/faulty_file_system.h"
#include "tests/persistence/kept_server.h"
#include "tests/random/random_load.h"
#include "tests/support/model_disk.h"
#include "tests/support/table_contents.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::hours;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// All that a limiter and its policies have now.
ModelDisk CopyOf(Limiter& limiter, const Policies& policies) {
  ChangeReader reader(limiter.table());
  const ChangesLock changes_lock(reader);
  LimiterChanges all;
  for (std::size_t i = 0; i < kPartitionCount; ++i) reader.CopyPartition(i, std::nullopt, all);
  all.rewritten_partitions.clear();
  // The bucket of a held limit is counted from the open holds.
  std::erase_if(all.buckets,
                [](const BucketChange& change) { return change.algorithm == Algorithm::kHeld; });
  std::map<LimitId, Limit> limits;
  const auto add = [&](LimitId id) { limits.try_emplace(id, reader.LimitOf(id)); };
  for (const BucketChange& change : all.buckets) add(change.key.limit);
  for (const HoldChange& change : all.holds) {
    for (const HoldPart& part : change.hold->parts) add(part.limit);
  }
  for (const auto& [id, limit] : limits) all.limits.push_back({id, limit});
  PolicyChanges all_policies;
  for (const std::shared_ptr<const Policy>& policy : policies.All()) {
    all_policies.policies.push_back({policy->id, policy});
    all_policies.next_id = std::max(all_policies.next_id, Next(policy->id));
    policy->overrides->ForEach([&](const std::string& key, const PolicyLimits& own) {
      all_policies.overrides.push_back({policy->id, key, std::make_shared<PolicyLimits>(own)});
      return true;
    });
  }
  ModelDisk copy;
  copy.Save(all, all_policies);
  return copy;
}

std::string TextOf(const Policies& policies) {
  std::ostringstream text;
  const auto tell = [&](const PolicyLimits& limits) {
    for (const PolicyLimit& limit : limits) text << " " << PolicyLimitText(limit);
  };
  for (const std::shared_ptr<const Policy>& policy : policies.All()) {
    text << "\n" << policy->name << " " << NumberOf(policy->id);
    tell(policy->limits);
    policy->overrides->ForEach([&](const std::string& key, const PolicyLimits& own) {
      text << ", for " << key;
      tell(own);
      return true;
    });
  }
  return text.str();
}

// --- Random lives ---

class Lives {
 public:
  explicit Lives(std::uint64_t seed) : random_(seed) {
    Start();
    for (int i = 0; crowd_.size() < 40; ++i) {
      std::string key = "crowd:" + std::to_string(i);
      if (server_.limiter().Hash(key).partition % 1024 == 7) crowd_.push_back(std::move(key));
    }
    candidates_.push_back(CopyOf(server_.limiter(), server_.policies()));
  }

  void Step() {
    switch (Draw(random_, 9)) {
      case 0:
        return Save(Draw(random_, 2) == 0 ? 1 + Draw(random_, 5) : kAllCalls);
      case 1:
        return Draw(random_, 3) == 0 ? Restart() : Crowd();
      case 2:
      case 3:
        return server_.hub().TakeAll();
      default:
        for (std::int64_t i = Draw(random_, 5); i > 0; --i) {
          clock_.Advance(RandomPause(random_));
          RandomUse(server_.limiter(), server_.policies(), clock_.Now(), Draw(random_, 3) == 0)
              .Answer(RandomUse::AnyTurn(random_));
        }
    }
  }
  void Restart() {
    if (Draw(random_, 1) == 0) {
      files_.Crash();
      server_.End();
      files_.Restart();
    }
    if (Draw(random_, 1) == 0) clock_.Advance(RandomPause(random_));
    Start();
    ASSERT_EQ(server_.found().bad, 0U);
    std::string differences;
    for (ModelDisk& candidate : candidates_) {
      Policies policies;
      Limiter limiter(
          {.present = [&](const Limit& interned) { return policies.PresentLimit(interned); }});
      candidate.Load(limiter, policies, clock_.Now());
      LimitNumbers numbers;
      const TableContents want = ContentsOf(limiter, clock_.Now(), numbers);
      std::string difference =
          DifferenceOf(want, ContentsOf(server_.limiter(), clock_.Now(), numbers));
      const std::string policies_want = TextOf(policies);
      if (policies_want != TextOf(server_.policies())) difference += "\nand policies";
      if (difference.empty()) {
        buckets_ += want.buckets.size();
        holds_ += want.holds.size();
        candidates_ = {CopyOf(server_.limiter(), server_.policies())};
        return;
      }
      differences += "\n--- a save's state differs:" + difference;
    }
    FAIL() << differences;
  }

  [[nodiscard]] std::size_t failed() const { return failed_; }
  [[nodiscard]] std::size_t buckets() const { return buckets_; }
  [[nodiscard]] std::size_t holds() const { return holds_; }

 private:
  static constexpr std::int64_t kAllCalls = 1'000'000'000;

  void Start() {
    const absl::Status started = server_.Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  // All calls of the file system from the n-th on fail.
  void Save(std::int64_t n) {
    ModelDisk copy = CopyOf(server_.limiter(), server_.policies());
    files_.FailFrom(n, kAllCalls, rocksdb::IOStatus::IOError("injected"));
    const bool saved = server_.Save().ok();
    files_.StopFailing();
    clock_.Advance(Saver::kRetryMax);
    if (saved) candidates_.clear();
    failed_ += saved ? 0 : 1;
    candidates_.push_back(std::move(copy));
  }
  // Buckets of a few partitions come and go, until logs overflow.
  void Crowd() {
    const Limit limit = LimitOf(std::to_string(1 + Draw(random_, 5)) + "/h");
    for (const std::string& key : crowd_) {
      static_cast<void>(server_.limiter().Decide(
          {{.key = key, .limit = &limit, .hash = server_.limiter().Hash(key)}}, clock_.Now()));
      if (Draw(random_, 9) > 0) server_.limiter().Reset(key, {}, clock_.Now());
      if (Draw(random_, 9) == 0) server_.hub().TakeAll();
    }
  }

  TemporaryDirectory directory_;
  FaultyFileSystem files_;
  FakeClock clock_;
  std::mt19937_64 random_;
  KeptServer server_{clock_, {.directory = directory_.path(), .env = files_.env()}};
  std::vector<std::string> crowd_;
  // The last save that succeeded, and those that have failed since.
  std::vector<ModelDisk> candidates_;
  std::size_t failed_ = 0;
  std::size_t buckets_ = 0;
  std::size_t holds_ = 0;
};

TEST(SaveFoldLivesTest, ARestartFindsWhatASaveHadToWrite) {
  std::size_t failed = 0;
  std::size_t buckets = 0;
  std::size_t holds = 0;
  // A life or two may have no save that fails.
  const std::int64_t runs = std::max<std::int64_t>(4, Scaled(20));
  for (std::int64_t seed = 0; seed < runs && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Lives lives(static_cast<std::uint64_t>(seed));
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); ++i) lives.Step();
    if (!testing::Test::HasFailure()) lives.Restart();
    failed += lives.failed();
    buckets += lives.buckets();
    holds += lives.holds();
  }
  EXPECT_GT(failed, 0U);
  EXPECT_GT(buckets, 0U);
  EXPECT_GT(holds, 0U);
}

// --- What it keeps ---

class SaveFoldTest : public HoldFixture {
 protected:
  SaveFoldTest() : HoldFixture({.logs_changes = true}) { hub_.Attach(fold_); }
  ~SaveFoldTest() override { hub_.Detach(fold_); }

  LimiterChanges TakeFold(std::size_t first = 0) {
    LimiterChanges changes;
    changes.next_partition = fold_.TakeInto(changes, first, kPartitionCount, now_);
    return changes;
  }
  void TakeAll() {
    clock_.Set(now_);
    hub_.TakeAll();
  }

  FakeClock clock_;
  Policies policies_;
  ChangeHub hub_{limiter_->table(), policies_, clock_, true};
  SaveFold fold_{limiter_->table()};
};

TEST_F(SaveFoldTest, KeepsTheLastChangeOfABucket) {
  for (int i = 0; i < 7; ++i) {
    Decide({{"a", "10/h"}});
    TakeAll();
  }
  Decide({{"b", "10/h"}});
  TakeAll();
  Reset("b");
  TakeAll();
  EXPECT_LE(fold_.size(), 9U);
  const LimiterChanges changes = TakeFold();
  EXPECT_EQ(fold_.size(), 0U);
  ASSERT_EQ(changes.buckets.size(), 2U);
  for (const BucketChange& change : changes.buckets) {
    EXPECT_EQ(change.erased, change.key.key_hash() == limiter_->Hash("b").hash);
  }
  EXPECT_TRUE(TakeFold().empty());
}

TEST_F(SaveFoldTest, APartitionWithMuchChurnIsCopied) {
  const std::uint16_t partition = limiter_->Hash("stays").partition;
  Decide({{"stays", "10/h"}});
  for (int i = 0; i < 200; ++i) {
    Decide({{"stays", std::to_string(i + 1) + "/d"}});
    TakeAll();
    Reset("stays", {std::to_string(i + 1) + "/d"});
    TakeAll();
    ASSERT_LE(fold_.size(), ChangeLog::kChangesMin + 2);
  }
  const LimiterChanges changes = TakeFold();
  EXPECT_THAT(changes.rewritten_partitions, ElementsAre(partition));
  EXPECT_EQ(changes.buckets.size(), 1U);
  EXPECT_TRUE(TakeFold().empty());
}

TEST_F(SaveFoldTest, HoldsThatComeAndGoAreNotKept) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(Reserve({{"k", "10/h"}}, std::to_string(i), hours{1}));
    if (i % 10 == 0) TakeAll();
    Reset("k");
  }
  EXPECT_TRUE(Reserve({{"k", "10/h"}}, "last", hours{1}));
  TakeAll();
  const LimiterChanges changes = TakeFold();
  EXPECT_THAT(changes.rewritten_partitions, ElementsAre(limiter_->Hash("k").partition));
  ASSERT_EQ(changes.holds.size(), 1U);
  EXPECT_EQ(changes.holds[0].id, "last");
}

TEST_F(SaveFoldTest, SumsThatComeAndGoAreNotKept) {
  for (int i = 1; i <= 1000; ++i) {
    EXPECT_TRUE(Reserve({{"k", "10/h"}}, "id", hours{1}));
    EXPECT_TRUE(limiter_->Charge(Of({{"k", std::to_string(i) + "/d", 1}}), now_).ok());
    TakeAll();
    Reset("k");
    TakeAll();
  }
  const LimiterChanges changes = TakeFold();
  EXPECT_THAT(changes.rewritten_partitions, Contains(limiter_->Hash("k").partition));
  EXPECT_THAT(changes.sums, IsEmpty());
}

TEST_F(SaveFoldTest, AFlushEmptiesIt) {
  EXPECT_TRUE(Reserve({{"k", "10/h"}}, "id", hours{1}));
  TakeAll();
  EXPECT_GT(fold_.size(), 0U);
  LimiterUpkeep(limiter_->table()).Clear();
  TakeAll();
  EXPECT_EQ(fold_.size(), 0U);
  const LimiterChanges changes = TakeFold();
  EXPECT_TRUE(changes.empty());
  EXPECT_EQ(changes.generation, TableGeneration{1});
}

TEST_F(SaveFoldTest, PartsHaveEachChangeOnce) {
  const std::size_t buckets = ChangeReader::kTakenMax + ChangeReader::kTakenMax / 2;
  for (std::size_t i = 0; i < buckets; ++i) Decide({{std::to_string(i), "10/h"}});
  TakeAll();
  EXPECT_EQ(fold_.size(), buckets);
  const LimiterChanges first = TakeFold();
  ASSERT_LT(first.next_partition, kPartitionCount);
  EXPECT_GE(first.buckets.size(), ChangeReader::kTakenMax);
  EXPECT_LT(first.buckets.size(), ChangeReader::kTakenMax + ChangeReader::kTakenMax / 8);
  EXPECT_EQ(fold_.size(), buckets - first.buckets.size());
  const LimiterChanges second = TakeFold(first.next_partition);
  EXPECT_EQ(second.next_partition, kPartitionCount);
  EXPECT_EQ(first.buckets.size() + second.buckets.size(), buckets);
  for (const BucketChange& change : first.buckets)
    ASSERT_LT(change.partition, first.next_partition);
  for (const BucketChange& change : second.buckets)
    ASSERT_GE(change.partition, first.next_partition);
}

}  // namespace
}  // namespace weir
