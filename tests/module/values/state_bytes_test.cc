// Goal: the written bytes of a key's buckets are read back as the same buckets, even on a node with
// other ids; any other bytes are refused. Method: random values written and read; bytes computed by
// hand; each of those bytes changed.
#include "module/values/state_bytes.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "core/rules/rule.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

// A node whose ids of policies and limits begin at the given numbers.
struct Node {
  explicit Node(int policies_before = 0) {
    for (int i = 0; i < policies_before; ++i) {
      EXPECT_TRUE(policies.Set("before" + std::to_string(i), LimitsOf({"1/s"})).ok());
    }
    EXPECT_TRUE(policies.Set("free", LimitsOf({"5/s", "7/h,fixed"})).ok());
  }

  void Keep(const Limit& limit, const Bucket& bucket) {
    LimitHint hint;
    buckets.Keep(*registry.Intern(limit, hint), bucket);
  }
  [[nodiscard]] std::string Bytes() { return StateBytes(buckets, texts); }
  bool Read(std::string_view bytes) {
    const auto saved = ReadStateBytes(bytes, policies);
    if (!saved) return false;
    for (const SavedState::OfLimit& one : saved->limits) Keep(*one.limit, *one.bucket);
    return true;
  }
  [[nodiscard]] Limit PolicyLimitAt(std::size_t position) const {
    return policies.Find("free")->limits[position].limit;
  }

  LimitRegistry registry;
  Policies policies;
  LimitTexts texts{registry, policies};
  HoldRecords hold_records{registry, 1'000};
  const KeyBuckets::Shared shared{registry, hold_records};
  KeyBuckets buckets{shared};
};

TEST(StateBytesTest, AreReadAsTheyWereWritten) {
  CheckLaw(5'000, [] {
    Node node;
    for (int i = *Between(0, 6); i > 0; --i) {
      const Limit limit = *rc::gen::oneOf(
          NotableLimit(),
          rc::gen::map(NotableLimit(), [](const Limit& any) { return any.AsShadow(); }),
          rc::gen::map(rc::gen::elementOf(std::vector<std::string_view>{
                           "3/s,fixed", "9/2d,fixed,aligned", "5/m,sliding,shadow", "9G/month",
                           "5/month,tz=America/Argentina/ComodRivadavia,from=31,shadow"}),
                       [](std::string_view text) { return LimitOf(text); }),
          rc::gen::just(node.PolicyLimitAt(0)), rc::gen::just(node.PolicyLimitAt(1).AsShadow()),
          rc::gen::just(LimitOf("4/s,burst=9").OwnedBy(kThrottleOwner)));
      Bucket bucket = *AnyFormOf(limit);
      // The only time that is refused.
      if (bucket.high == INT32_MAX && limit.shape().algorithm != Algorithm::kSlidingWindow) {
        bucket.high = 0;
      }
      node.Keep(limit, bucket);
    }
    const std::string bytes = node.Bytes();
    Node other(3);
    RC_ASSERT(other.Read(bytes));
    RC_ASSERT(other.buckets.size() == node.buckets.size());
    RC_ASSERT(other.Bytes() == bytes);
    for (const KeyBuckets::KeyBucket& one : node.buckets) {
      const Limit& limit = node.registry.Get(one.limit);
      const bool of_policy = limit.owner() == node.PolicyLimitAt(0).owner() ||
                             limit.owner() == node.PolicyLimitAt(1).owner();
      const Limit there =
          of_policy ? limit.OwnedBy(other.PolicyLimitAt(limit.owner().position).owner()) : limit;
      LimitHint hint;
      const std::optional<LimitId> id = other.registry.Find(there, hint);
      RC_ASSERT(id.has_value());
      RC_ASSERT(*other.buckets.Find(*id) == one.bucket);
    }
  });
}

TEST(StateBytesTest, HaveExactlyTheDocumentedBytes) {
  Node node;
  node.Keep(LimitOf("10/s"), {.low = 0x01020304, .high = 0x05060708, .extra = 9});
  node.Keep(node.PolicyLimitAt(0), {.low = 1});
  node.Keep(LimitOf("4/s").OwnedBy(kThrottleOwner), {.low = 2});
  EXPECT_EQ(node.Bytes(),
            "\x04"
            "10/s\x05\x06\x07\x08\x01\x02\x03\x04\0\0\0\x09"
            "\x0b@free#0 1/s\0\0\0\0\0\0\0\x01\0\0\0\0"
            "\x0f"
            "cl.throttle 1/s\0\0\0\0\0\0\0\x02\0\0\0\0"sv);
}

TEST(StateBytesTest, BucketsOfUnknownPoliciesAreLeftOut) {
  Node node;
  node.Keep(node.PolicyLimitAt(0), {.low = 1});
  node.Keep(LimitOf("10/s"), {.low = 2});
  const std::string bytes = node.Bytes();
  ASSERT_TRUE(node.policies.Delete("free").ok());
  const auto saved = ReadStateBytes(bytes, node.policies);
  ASSERT_TRUE(saved.has_value());
  ASSERT_EQ(saved->limits.size(), 1U);
  EXPECT_EQ(saved->limits.front().limit, LimitOf("10/s"));
  EXPECT_EQ(node.Bytes().size(), 1 + 4 + 12U);
}

// This node's zone database may be older than that of the node that wrote the bytes.
TEST(StateBytesTest, BucketsOfUnknownTimeZonesAreLeftOut) {
  Node node;
  node.Keep(LimitOf("10/day,tz=Europe/Berlin"), {.low = 1});
  node.Keep(LimitOf("10/s"), {.low = 2});
  std::string bytes = node.Bytes();
  bytes.replace(bytes.find("Berlin"), 6, "Dublon");
  const auto saved = ReadStateBytes(bytes, node.policies);
  ASSERT_TRUE(saved.has_value());
  ASSERT_EQ(saved->limits.size(), 1U);
  EXPECT_EQ(saved->limits.front().limit, LimitOf("10/s"));
}

TEST(StateBytesTest, DamageIsRefusedOrReadAsAnotherValidValue) {
  Node node;
  node.Keep(LimitOf("10/s"), {.low = 7});
  node.Keep(LimitOf("3/d,fixed"), {.low = 8});
  node.Keep(node.PolicyLimitAt(1), {.low = 9});
  const std::string bytes = node.Bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(Node().Read(std::string_view(bytes).substr(0, i)),
              i == 0 || i == 17 || i == 17 + 22)
        << i;  // whole buckets
    for (int value = 0; value < 256; ++value) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(value);
      Node other;
      if (other.Read(damaged)) {
        EXPECT_TRUE(other.Bytes() == damaged || other.buckets.size() < 3) << i << " " << value;
      }
    }
  }
}

// No sum with such a time would fit, so it could not give the key an expiry time.
TEST(StateBytesTest, ATimeThatNoRuleWritesIsRefused) {
  for (const std::string_view word : {"\x03"
                                      "1/s"sv,
                                      "\x09"
                                      "1/s,fixed"sv}) {
    const std::string last = std::string(word) + "\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\1"s;
    EXPECT_FALSE(ReadStateBytes(last, Policies()).has_value()) << word;
    const std::string high = std::string(word) + "\x7f\xff\xff\xfe\xff\xff\xff\xff\0\0\0\1"s;
    const auto saved = ReadStateBytes(high, Policies());
    ASSERT_TRUE(saved.has_value()) << word;
    const Instant now{std::chrono::hours{500'000}};
    EXPECT_GT(now + TimeToFull(*saved->limits[0].limit, *saved->limits[0].bucket, now), now)
        << word;
  }
}

TEST(StateBytesTest, AreBounded) {
  std::vector<std::string> texts;
  for (std::size_t i = 1; i <= kKeyBucketsMax + 1; ++i) {
    texts.push_back(LimitText(LimitOf(std::to_string(i) + "/3285d")));
  }
  std::ranges::sort(texts);
  std::string bytes;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i == kKeyBucketsMax) {
      EXPECT_TRUE(ReadStateBytes(bytes, Policies()).has_value());
    }
    bytes.push_back(static_cast<char>(texts[i].size()));
    bytes += texts[i] + std::string(12, '\0');
  }
  EXPECT_FALSE(ReadStateBytes(bytes, Policies()).has_value());
}

}  // namespace
}  // namespace weir
