// Goal: a replica that applies what a primary's policies tell has the same policies, overrides and
// next id, whatever it had before and however the changes are cut; its own saver learns all of it.
// Method: random histories of a primary, applied to a second Policies and, from what that one
// notes, to a third; then each rule by an example.
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policies/policies.h"
#include "core/policies/policy_bytes.h"
#include "tests/random/generators.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using testing::ElementsAre;

// Few, so that histories meet the bound.
constexpr std::size_t kFewOverrides = 4;
constexpr std::array<const char*, 4> kOverriddenKeys = {"", "k", "l", "m"};

// The limits, and what their buckets may owe.
std::string OwedText(const PolicyLimits& limits) {
  std::string text;
  for (const PolicyLimit& limit : limits) {
    text += " " + PolicyLimitText(limit) + " of " +
            std::to_string(NumberOf(limit.limit.owner().policy)) + "." +
            std::to_string(limit.limit.owner().position) + " outgrown " +
            std::to_string(limit.limit.outgrown().count()) + " banned " +
            std::to_string(limit.limit.greatest_ban().count());
  }
  return text;
}

// All that a server's policies are. An override's limits may know greater numbers than the
// primary's, which are those of the time when it was made.
std::vector<std::string> ContentOf(const Policies& policies) {
  std::vector<std::string> content;
  std::size_t overrides = 0;
  for (const auto& policy : policies.All()) {
    std::string line = std::to_string(NumberOf(policy->id)) + " " + policy->name +
                       (policy->from_file ? " file" : "") + (policy->retired ? " retired" : "") +
                       OwedText(policy->limits) + " greatest";
    std::vector<GreatestNumbers> greatest = policy->greatest;
    while (!greatest.empty() && greatest.back() == GreatestNumbers{}) greatest.pop_back();
    for (const GreatestNumbers& numbers : greatest) {
      line += " " + std::to_string(numbers.capacity.count()) + "/" +
              std::to_string(numbers.ban.count());
    }
    content.push_back(line);
    for (const auto& [key, limits] : policy->overrides->All()) {
      ++overrides;
      content.push_back(policy->name + "[" + key + "] " + OverrideValue(*limits));
      EXPECT_EQ(limits->front().limit.owner(), (LimitOwner{policy->id, 0}));
    }
  }
  EXPECT_EQ(policies.size().overrides, overrides);
  return content;
}

PolicyId NextIdOf(const Policies& policies) { return policies.List().next_id; }

// The changes as they arrive: read from the bytes of records.
PolicyChanges Sent(const PolicyChanges& changes) {
  PolicyChanges sent = changes;
  for (auto& [id, policy] : sent.policies) {
    if (!policy) continue;
    Policy read = ReadPolicyValue(id, PolicyValue(*policy)).value();
    read.retired = policy->retired;
    policy = std::make_shared<const Policy>(std::move(read));
  }
  for (OverrideChange& change : sent.overrides) {
    if (!change.limits) continue;
    change.limits = std::make_shared<const PolicyLimits>(
        ReadOverrideValue(OverrideValue(*change.limits)).value());
  }
  return sent;
}

rc::Gen<PolicyLimits> FewLimits() {
  return rc::gen::map(
      rc::gen::element<std::string_view>("10/s", "1/h,burst=5", "5/m,fixed,ban=1h", "3/s 1/d",
                                         "none", "7/s,name=x,cost=2 9/m,sliding,shadow 2/m,ban=2m"),
      [](std::string_view words) { return ReadPolicyLimits(words).value(); });
}

// Makes the replica equal to the primary by copies: of the list and of partitions. Some of the
// policies that the replica has are only named in the list.
std::size_t Copy(const Policies& primary, Policies& replica) {
  PolicyChanges list = primary.List();
  std::erase_if(list.policies, [&](const PolicyChanges::PolicyChange& change) {
    const auto present = replica.FindById(change.id);
    const bool is_same = present && present->retired == change.policy->retired &&
                         PolicyValue(*present) == PolicyValue(*change.policy);
    if (is_same) list.kept.push_back(change.id);
    return is_same;
  });
  std::size_t dropped = replica.Apply(Sent(list), true).dropped;
  for (const char* const key : kOverriddenKeys) {
    const std::uint16_t partition = PartitionOfOverride(key);
    PolicyChanges copy;
    copy.overrides = primary.OverridesIn(partition);
    dropped += replica.ReplaceOverrides(partition, Sent(copy).overrides).dropped;
  }
  return dropped;
}

// Makes one random change in each of these; some changes fail.
void ChangeSome(std::initializer_list<Policies*> servers) {
  const int kind = *Between(0, 7);
  const std::string name = *rc::gen::element<std::string>("a", "b", "c", "d");
  const std::string key = kOverriddenKeys.at(*Between<std::size_t>(0, 3));
  const PolicyLimits limits = *FewLimits();
  std::vector<std::pair<std::string, PolicyLimits>> file;
  if (*rc::gen::arbitrary<bool>()) file.emplace_back(name, limits);
  if (*rc::gen::arbitrary<bool>()) file.emplace_back(name + name, *FewLimits());
  const GreatestNumbers numbers{Nanos{*NumberUpTo(1'000'000'000'000'000)}, Nanos{7}};
  const std::vector greatest(*Between<std::size_t>(1, 3), numbers);
  for (Policies* const policies : servers) {
    if (kind <= 1) static_cast<void>(policies->Set(name, limits));
    if (kind == 2) static_cast<void>(policies->Delete(name));
    if (kind == 3 || kind == 4) static_cast<void>(policies->Override(name, key, limits));
    if (kind == 5) static_cast<void>(policies->RemoveOverride(name, key));
    if (kind == 6) static_cast<void>(policies->ReplaceFile(file));
    if (kind == 7) policies->RaiseGreatest(name, greatest);
  }
}

struct Server {
  Server() { policies.StartLogging(); }
  // Brings `saved` up to date by the changes noted.
  void Save() {
    const PolicyChanges changes = policies.TakeChanges();
    for (const auto& change : changes.policies) RC_ASSERT(change.id < changes.next_id);
    for (const auto& change : changes.overrides) RC_ASSERT(change.policy < changes.next_id);
    RC_ASSERT(saved.Apply(Sent(changes), false).dropped == 0U);
  }

  Policies policies{kFewOverrides};
  Policies saved{kFewOverrides};
};

void ExpectSame(const Policies& replica, const Policies& primary) {
  RC_ASSERT(ContentOf(replica) == ContentOf(primary));
}

TEST(PoliciesReplicaTest, ChangesInAnyBatchesMakeReplicasEqual) {
  CheckLaw(1'000, [] {
    Server primary;
    Server replica;
    const int changes = *Between(1, 40);
    for (int i = 0; i < changes; ++i) {
      ChangeSome({&primary.policies});
      if (*Between(0, 3) == 0) {
        const PolicyChanges taken = primary.policies.TakeChanges();
        const std::uint64_t version = replica.policies.version();
        RC_ASSERT(replica.policies.Apply(Sent(taken), false).dropped == 0U);
        RC_ASSERT((replica.policies.version() != version) == !taken.policies.empty());
        ExpectSame(replica.policies, primary.policies);
        RC_ASSERT(NextIdOf(replica.policies) == NextIdOf(primary.policies));
      }
      if (*Between(0, 5) == 0) replica.Save();
    }
    RC_ASSERT(replica.policies.Apply(primary.policies.TakeChanges(), false).dropped == 0U);
    ExpectSame(replica.policies, primary.policies);
    RC_ASSERT(NextIdOf(replica.policies) == NextIdOf(primary.policies));
    replica.Save();
    ExpectSame(replica.saved, primary.policies);
    RC_ASSERT(NextIdOf(replica.saved) == NextIdOf(primary.policies));
  });
}

// Goal: also, the changes that the primary noted before change nothing more, and a promoted replica
// continues as the primary would have. Method: the same random changes on both.
TEST(PoliciesReplicaTest, CopiesMakeAnyServerEqual) {
  CheckLaw(1'000, [] {
    Server primary;
    Server replica;
    for (int i = *Between(0, 30); i > 0; --i) ChangeSome({&primary.policies});
    for (int i = *Between(0, 30); i > 0; --i) {
      ChangeSome({&replica.policies});
      if (*Between(0, 5) == 0) replica.Save();
    }
    const PolicyId next = std::max(NextIdOf(primary.policies), NextIdOf(replica.policies));
    const std::uint64_t version = replica.policies.version();
    RC_ASSERT(Copy(primary.policies, replica.policies) == 0U);
    RC_ASSERT(replica.policies.version() != version);
    RC_ASSERT(NextIdOf(replica.policies) == next);
    ExpectSame(replica.policies, primary.policies);

    replica.Save();
    ExpectSame(replica.saved, primary.policies);
    RC_ASSERT(Copy(primary.policies, replica.policies) == 0U);
    RC_ASSERT(replica.policies.TakeChanges().empty());  // nothing to save again
    RC_ASSERT(replica.policies.Apply(Sent(primary.policies.TakeChanges()), false).dropped == 0U);
    ExpectSame(replica.policies, primary.policies);

    primary.policies.RestoreNextId(next);
    for (int i = *Between(1, 10); i > 0; --i) ChangeSome({&primary.policies, &replica.policies});
    ExpectSame(replica.policies, primary.policies);
  });
}

class PoliciesApplyTest : public testing::Test {
 protected:
  static std::shared_ptr<const Policy> PolicyOf(std::string name, PolicyId id) {
    return std::make_shared<const Policy>(
        Policy{std::move(name), id, false, LimitsOf({"10/s"}), nullptr});
  }
  std::size_t Apply(std::vector<PolicyChanges::PolicyChange> policies,
                    std::vector<OverrideChange> overrides) {
    return policies_.Apply({std::move(policies), {}, std::move(overrides), PolicyId{1}}, false)
        .dropped;
  }
  [[nodiscard]] std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& policy : policies_.All()) {
      names.push_back(policy->name + std::to_string(NumberOf(policy->id)));
    }
    return names;
  }

  const std::shared_ptr<const PolicyLimits> limits_ =
      std::make_shared<const PolicyLimits>(LimitsOf({"1/s"}));
  Policies policies_{2};
};

TEST_F(PoliciesApplyTest, AChangedPolicyKeepsItsOverridesObject) {
  EXPECT_EQ(Apply({{PolicyId{7}, PolicyOf("a", PolicyId{7})}}, {{PolicyId{7}, "k", limits_}}), 0U);
  const std::shared_ptr<Overrides> overrides = policies_.Find("a")->overrides;
  EXPECT_EQ(Apply({{PolicyId{7}, PolicyOf("a", PolicyId{7})}}, {{PolicyId{7}, "l", limits_}}), 0U);
  EXPECT_EQ(policies_.Find("a")->overrides, overrides);
  EXPECT_EQ(overrides->size(), 2U);
  EXPECT_EQ(NextIdOf(policies_), PolicyId{8});
  EXPECT_EQ(policies_.ReplaceOverrides(PartitionOfOverride("k"), {}).dropped, 0U);
  EXPECT_THAT(overrides->Keys(), ElementsAre("l"));
  EXPECT_EQ(Apply({{PolicyId{7}, PolicyOf("b", PolicyId{7})}}, {}), 0U);
  EXPECT_THAT(Names(), ElementsAre("b7"));
  EXPECT_NE(policies_.Find("b")->overrides, overrides) << "it is another policy";
  policies_.FreeDeleted();
  EXPECT_TRUE(overrides->empty());
}

TEST_F(PoliciesApplyTest, APolicyTakesItsNameAndItsId) {
  EXPECT_EQ(
      Apply({{PolicyId{1}, PolicyOf("a", PolicyId{1})}, {PolicyId{2}, PolicyOf("b", PolicyId{2})}},
            {{PolicyId{1}, "k", limits_}}),
      0U);
  EXPECT_EQ(Apply({{PolicyId{3}, PolicyOf("a", PolicyId{3})}}, {}), 0U);
  EXPECT_THAT(Names(), ElementsAre("a3", "b2"));
  EXPECT_EQ(policies_.size().overrides, 0U);
  EXPECT_EQ(
      Apply({{PolicyId{2}, PolicyOf("a", PolicyId{2})}, {PolicyId{3}, PolicyOf("b", PolicyId{3})}},
            {}),
      0U);
  EXPECT_THAT(Names(), ElementsAre("a2", "b3"));
  EXPECT_EQ(Apply({{PolicyId{2}, nullptr}, {PolicyId{9}, nullptr}}, {}), 0U);
  EXPECT_THAT(Names(), ElementsAre("b3"));
}

TEST_F(PoliciesApplyTest, WhatHasNoPlaceIsDroppedAndCounted) {
  EXPECT_EQ(Apply({{PolicyId{1}, PolicyOf("a", PolicyId{1})}}, {{PolicyId{1}, "k", limits_},
                                                                {PolicyId{1}, "l", limits_},
                                                                {PolicyId{1}, "m", limits_},
                                                                {PolicyId{1}, "n", limits_},
                                                                {PolicyId{1}, "o", limits_},
                                                                {PolicyId{4}, "k", limits_},
                                                                {PolicyId{4}, "l", nullptr}}),
            2U)
      << "of a replica's overrides, which may be those of two states, one, and that of no policy";
  EXPECT_THAT(policies_.Find("a")->overrides->Keys(), ElementsAre("k", "l", "m", "n"));
  EXPECT_EQ(Apply({}, {{PolicyId{1}, "o", limits_}, {PolicyId{1}, "k", nullptr}}), 0U)
      << "removals make room";
  EXPECT_THAT(policies_.Find("a")->overrides->Keys(), ElementsAre("l", "m", "n", "o"));
  EXPECT_FALSE(policies_.Override("a", "p", *limits_).ok());
  EXPECT_EQ(
      policies_.ReplaceOverrides(PartitionOfOverride("k"), {{PolicyId{4}, "k", limits_}}).dropped,
      0U)
      << "its policy is still to come";
  EXPECT_EQ(Apply({{kNoPolicy, PolicyOf("b", kNoPolicy)},
                   {kThrottleOwner.policy, PolicyOf("b", kThrottleOwner.policy)},
                   {PolicyId{2}, PolicyOf("b b", PolicyId{2})}},
                  {}),
            3U);
  EXPECT_THAT(Names(), ElementsAre("a1"));
  EXPECT_EQ(NextIdOf(policies_), PolicyId{2});
}

// An override raises the greatest numbers, as one that a client makes.
TEST_F(PoliciesApplyTest, GreatestNumbersCoverOverrides) {
  const auto large = std::make_shared<const PolicyLimits>(LimitsOf({"1/d"}));
  EXPECT_EQ(Apply({{PolicyId{1}, PolicyOf("a", PolicyId{1})}}, {{PolicyId{1}, "k", large}}), 0U);
  EXPECT_TRUE(HasHeldMore(*policies_.Find("a")));
}

}  // namespace
}  // namespace weir
