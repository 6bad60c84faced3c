// Goal: policies and overrides are read as they were written, and replace those of the reading
// node; damaged bytes are refused. Method: nodes that write and read.
#include "module/values/policy_bytes.h"

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using namespace std::string_literals;

void Fill(Policies& policies) {
  ASSERT_TRUE(policies.Set("free", LimitsOf({"5/s,name=a", "7/h,fixed,cost=3,keep=2"})).ok());
  ASSERT_TRUE(policies.Set("paid", LimitsOf({"unlimited"})).ok());
  ASSERT_TRUE(policies.Override("free", "user:1", LimitsOf({"none"})).ok());
  ASSERT_TRUE(policies.Override("free", "\0 and\nmore"s, LimitsOf({"1/s", "2/s"})).ok());
  ASSERT_TRUE(policies.Override("free", "", LimitsOf({"1/s"})).ok());
}

TEST(PolicyBytesTest, AreReadAsTheyWereWritten) {
  Policies policies;
  Fill(policies);
  const std::string bytes = PolicyBytes(policies);
  Policies other;
  ASSERT_TRUE(ReadPolicyBytes(bytes, other));
  EXPECT_EQ(PolicyBytes(other), bytes);
  EXPECT_EQ(other.Find("free")->overrides->Keys(),
            (std::vector<std::string>{"", "\0 and\nmore"s, "user:1"}));
  EXPECT_TRUE(PolicyBytes(Policies()).empty());
}

TEST(PolicyBytesTest, OldPoliciesGoAndThoseThatStayKeepTheirBuckets) {
  Policies policies;
  Fill(policies);
  const std::string bytes = PolicyBytes(policies);
  ASSERT_TRUE(policies.Set("free", LimitsOf({"9/s"})).ok());
  ASSERT_TRUE(policies.Set("new", LimitsOf({"9/s"})).ok());
  ASSERT_TRUE(policies.Override("free", "user:2", LimitsOf({"1/s"})).ok());
  ASSERT_TRUE(policies.Override("paid", "user:2", LimitsOf({"1/s,fixed"})).ok());
  const PolicyId id = policies.Find("free")->id;
  ASSERT_TRUE(ReadPolicyBytes(bytes, policies));
  EXPECT_EQ(PolicyBytes(policies), bytes);
  EXPECT_EQ(policies.Find("free")->id, id);
  ASSERT_TRUE(ReadPolicyBytes("", policies));
  EXPECT_TRUE(policies.All().empty());
}

TEST(PolicyBytesTest, GreaterCapacitiesAreKept) {
  Policies policies;
  Fill(policies);
  ASSERT_TRUE(policies.Set("free", LimitsOf({"5/d"})).ok());
  ASSERT_TRUE(policies.Set("free", LimitsOf({"5/s"})).ok());
  Policies other;
  ASSERT_TRUE(ReadPolicyBytes(PolicyBytes(policies), other));
  EXPECT_EQ(other.Find("free")->greatest, policies.Find("free")->greatest);
  EXPECT_EQ(other.Find("free")->limits.front().limit.outgrown(),
            std::chrono::days{1} - std::chrono::seconds{1});
}

// This node's zone database may be older than that of the node that wrote the bytes.
TEST(PolicyBytesTest, UnknownTimeZonesAreLeftOut) {
  Policies policies;
  Fill(policies);
  ASSERT_TRUE(policies.Set("daily", LimitsOf({"5/day,tz=Europe/Berlin"})).ok());
  ASSERT_TRUE(policies.Override("daily", "user:1", LimitsOf({"1/s"})).ok());
  ASSERT_TRUE(policies.Override("free", "user:2", LimitsOf({"9/day,tz=Europe/Berlin"})).ok());
  std::string bytes = PolicyBytes(policies);
  for (std::size_t at = 0; (at = bytes.find("Berlin", at)) != std::string::npos;) {
    bytes.replace(at, 6, "Dublon");
  }
  for (const bool had_it : {false, true}) {
    Policies other;
    if (had_it) {
      ASSERT_TRUE(other.Set("daily", LimitsOf({"7/s"})).ok());
    }
    ASSERT_TRUE(ReadPolicyBytes(bytes, other));
    EXPECT_EQ(other.Find("daily"), nullptr);
    EXPECT_EQ(other.All().size(), 2U);
    EXPECT_EQ(other.Find("free")->overrides->Find("user:2"), nullptr);
    EXPECT_EQ(other.Find("free")->overrides->size(), 3U);
  }
}

TEST(PolicyBytesTest, LongerBansAreKept) {
  Policies policies;
  Fill(policies);
  ASSERT_TRUE(policies.Set("free", LimitsOf({"5/s,ban=1h"})).ok());
  ASSERT_TRUE(policies.Set("free", LimitsOf({"5/s,ban=1m"})).ok());
  Policies other;
  ASSERT_TRUE(ReadPolicyBytes(PolicyBytes(policies), other));
  EXPECT_EQ(PolicyBytes(other), PolicyBytes(policies));
  EXPECT_EQ(other.Find("free")->limits.front().limit.greatest_ban(), std::chrono::hours{1});
}

TEST(PolicyBytesTest, CutBytesAreRefused) {
  Policies policies;
  Fill(policies);
  ASSERT_TRUE(policies.Set("free", LimitsOf({"5/s,ban=1h"})).ok());
  ASSERT_TRUE(policies.Set("free", LimitsOf({"1/s"})).ok());
  const std::string bytes = PolicyBytes(policies);
  const std::size_t first = bytes.find("paid");  // the first policy ends before it
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    Policies other;
    EXPECT_EQ(ReadPolicyBytes(std::string_view(bytes).substr(0, size), other), size == first)
        << size;
  }
}

}  // namespace
}  // namespace weir
