// Goal: a replica has the old partition until all parts of a copy have come, and then the new one
// (R5). Method: a copy in many small parts, of a limiter with keys in one partition.
#include "replication/limiter_target.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/change_reader.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "core/policies/policies.h"
#include "replication/policy_records.h"
#include "replication/records.h"
#include "tests/random/generators.h"
#include "tests/support/fake_clock.h"
#include "tests/support/policy_limits.h"
#include "tests/support/table_contents.h"

namespace weir {
namespace {

constexpr Instant kNow = FakeClock::kStart;
constexpr std::size_t kKeys = 50;
constexpr std::size_t kPartBytes = 200;  // some seven buckets

class LimiterTargetTest : public testing::Test {
 protected:
  // Takes tokens of keys that are all in partition_.
  void Take(Limiter& limiter, std::int64_t cost) {
    std::size_t taken = 0;
    for (int i = 0; taken < kKeys; ++i) {
      const std::string key = std::to_string(i);
      const KeyHash hash = limiter.Hash(key);
      if (hash.partition != partition_) continue;
      ++taken;
      const Limit limit = LimitOf(i % 2 == 0 ? "100/d" : "200/d");
      static_cast<void>(
          limiter.Decide({{.key = key, .limit = &limit, .cost = cost, .hash = hash}}, kNow));
    }
  }
  std::vector<std::string> Parts(Limiter& limiter) const {
    ChangeReader reader(limiter.table());
    LimiterChanges copy;
    reader.CopyPartition(partition_, kNow, copy);
    std::vector<std::string> parts;
    RecordsWriter writer;
    const auto limit_of = [&](LimitId id) { return &reader.LimitOf(id); };
    writer.WritePartition(copy, partition_, limit_of, kPartBytes,
                          [&](const RecordsWriter::Body& body) { parts.emplace_back(body.bytes); });
    return parts;
  }
  std::string Difference(Limiter& one, Limiter& other) {
    return DifferenceOf(ContentsOf(one, kNow, numbers_), ContentsOf(other, kNow, numbers_));
  }

  const std::uint16_t partition_ = Limiter{LimiterOptions{}}.Hash("0").partition;
  LimitNumbers numbers_;
  Limiter primary_{LimiterOptions{}};
  Limiter replica_{LimiterOptions{}};
  Policies policies_;
  LimiterTarget target_{replica_.table(), policies_};
};

TEST_F(LimiterTargetTest, TheLastPartReplacesAPartition) {
  Take(primary_, 3);
  Take(replica_, 2);
  Limiter old{LimiterOptions{}};
  Take(old, 2);
  const std::vector<std::string> parts = Parts(primary_);
  ASSERT_GT(parts.size(), 3U);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(Difference(replica_, old), "") << "before part " << i;
    const SinkTarget::Part part{.first = i == 0, .last = i + 1 == parts.size()};
    EXPECT_EQ(target_.ApplyPartition(parts[i], part, kNow), partition_);
  }
  EXPECT_EQ(Difference(replica_, primary_), "");
}

TEST_F(LimiterTargetTest, ACopyThatBeginsAgainForgetsTheFirst) {
  Take(primary_, 3);
  const std::vector<std::string> cut = Parts(primary_);
  EXPECT_TRUE(target_.ApplyPartition(cut[0], {.first = true, .last = false}, kNow));
  LimiterUpkeep(primary_.table()).Clear();
  const std::vector<std::string> whole = Parts(primary_);
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_TRUE(target_.ApplyPartition(whole[0], {.first = true, .last = true}, kNow));
  EXPECT_EQ(LimiterUpkeep(replica_.table()).size().buckets, 0U);
}

TEST_F(LimiterTargetTest, OverridesAreReplacedWithTheirPartition) {
  ASSERT_TRUE(policies_.Set("p", LimitsOf({"1/s"})).ok());
  const PolicyId id = policies_.Find("p")->id;
  const std::uint16_t partition = PartitionOfOverride("old");
  std::string other = "0";
  while (PartitionOfOverride(other) != partition) other += '0';
  for (const std::string& key : {std::string("old"), std::string("elsewhere")}) {
    ASSERT_TRUE(policies_.Override("p", key, LimitsOf({"2/s"})).ok());
  }
  const auto limits = std::make_shared<const PolicyLimits>(LimitsOf({"3/s"}));
  std::string overrides;
  WriteOverrides(partition, {{id, other, limits}}, kPoliciesBytes,
                 [&](std::string_view body) { overrides = body; });
  RecordsWriter writer;
  std::string copy;
  const auto no_limit = [](LimitId) -> const Limit* { return nullptr; };
  writer.WritePartition({}, partition, no_limit, kPartBytes,
                        [&](const RecordsWriter::Body& body) { copy = body.bytes; });
  EXPECT_EQ(target_.ApplyOverrides(overrides, true), partition);
  EXPECT_EQ(policies_.Find("p")->overrides->Keys(), (std::vector<std::string>{"elsewhere", "old"}));
  EXPECT_EQ(target_.ApplyPartition(copy, {.first = false, .last = true}, kNow), partition);
  EXPECT_EQ(policies_.Find("p")->overrides->Keys(), (std::vector<std::string>{other, "elsewhere"}));
  EXPECT_EQ(target_.ApplyPartition(copy, {.first = true, .last = true}, kNow), partition);
  EXPECT_EQ(policies_.Find("p")->overrides->Keys(), std::vector<std::string>{"elsewhere"});
  EXPECT_EQ(target_.dropped(), 0U);
  overrides.back() = '?';
  EXPECT_EQ(target_.ApplyOverrides(overrides, true), std::nullopt);
}

TEST_F(LimiterTargetTest, AListOfTooManyPoliciesIsRefused) {
  PolicyChanges list;
  for (std::uint32_t id = 1; id <= kAllPoliciesMax; ++id) list.kept.push_back(PolicyId{id});
  std::string body;
  WritePolicies(list, kPoliciesBytes, [&](std::string_view bytes, bool) { body = bytes; });
  EXPECT_TRUE(target_.ApplyPolicyList(body, {.first = true, .last = false}));
  list.kept.resize(1);
  WritePolicies(list, kPoliciesBytes, [&](std::string_view bytes, bool) { body = bytes; });
  EXPECT_FALSE(target_.ApplyPolicyList(body, {.first = false, .last = false}));
  EXPECT_TRUE(target_.ApplyPolicyList(body, {.first = true, .last = true}));
}

}  // namespace
}  // namespace weir
