// Goal: a policy and an override are read back as they were written, and other bytes are refused.
// Method: random policies written and read; bytes cut, or with another flag or name; greatest
// numbers around those of the limits.
#include "core/policies/policy_bytes.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/record_bytes.h"
#include "tests/random/kept_limits.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using namespace std::string_literals;

constexpr PolicyId kFive{5};

TEST(PolicyBytesTest, RoundTrip) {
  CheckLaw(1'000, [] {
    Policy policy;
    policy.id = PolicyId{*Between<std::uint32_t>(1, UINT32_MAX - 1)};
    policy.name = *rc::gen::element<std::string>("a", "free", std::string(kLabelBytesMax, 'x'));
    policy.from_file = *rc::gen::arbitrary<bool>();
    policy.limits = *AnyPolicyLimits();
    if (*rc::gen::arbitrary<bool>()) {
      for (const PolicyLimit& limit : policy.limits) {
        policy.greatest.push_back({limit.limit.capacity(), limit.limit.shape().ban});
      }
      // Greatest numbers of a limit that the policy no longer has.
      policy.greatest.push_back({.capacity = Nanos{7}, .ban = Nanos{*Between(0, 1)}});
    }
    const std::string value = PolicyValue(policy);
    const std::optional<Policy> read = ReadPolicyValue(policy.id, value);
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->id == policy.id);
    RC_ASSERT(read->name == policy.name);
    RC_ASSERT(read->from_file == policy.from_file);
    RC_ASSERT(read->limits == policy.limits);
    RC_ASSERT(read->greatest == policy.greatest);
    RC_ASSERT(ReadOverrideValue(OverrideValue(policy.limits)).value() == policy.limits);
    RC_ASSERT(WordsInPolicyValue(value).value() == OverrideValue(policy.limits));
  });
}

TEST(PolicyBytesTest, AreReadOnlyWhole) {
  const std::string value = PolicyValue({"free", kFive, true, LimitsOf({"3/s"}), nullptr});
  EXPECT_TRUE(ReadPolicyValue(kFive, value));
  for (std::size_t length = 0; length < value.size(); ++length) {
    EXPECT_FALSE(ReadPolicyValue(kFive, value.substr(0, length))) << length;
  }
  std::string flags = value;
  flags[0] = 8;
  EXPECT_FALSE(ReadPolicyValue(kFive, flags)) << "unknown flags";
  std::string name = value;
  name[1] = static_cast<char>(0xFF);
  EXPECT_FALSE(ReadPolicyValue(kFive, name)) << "a name longer than the value";
  EXPECT_FALSE(ReadPolicyValue(kFive, "\1\4f*ee3/s"s)) << "no label";
  EXPECT_FALSE(ReadPolicyValue(kFive, "\1\0003/s"s)) << "no name";
  EXPECT_FALSE(ReadPolicyValue(kNoPolicy, value)) << "no policy has the number 0";
  EXPECT_FALSE(ReadPolicyValue(kThrottleOwner.policy, value)) << "that of CL.THROTTLE";
  for (const std::string_view words : {"", " ", "3/s ", " 3/s", "3/s  3/s", "@free"}) {
    EXPECT_FALSE(ReadPolicyValue(kFive, "\1\4free"s.append(words))) << words;
    EXPECT_FALSE(ReadOverrideValue(words)) << words;
  }
}

// Goal: the capacities of a policy cover its limits, and no capacity equals its limit's. Method: a
// policy of two limits of 5 s and 1 h, with capacities around those.
TEST(PolicyBytesTest, CapacitiesAreReadOnlyWhereTheyCoverTheLimits) {
  const auto read = [](const std::vector<Nanos>& capacities) {
    std::string value = "\2\4free"s + static_cast<char>(capacities.size());
    for (const Nanos capacity : capacities) {
      AppendNumber(static_cast<std::uint64_t>(capacity.count()), value);
    }
    return ReadPolicyValue(kFive, value + "50/10s,burst=25 10/h");
  };
  const std::chrono::seconds first{5};
  const std::chrono::hours second{1};
  EXPECT_TRUE(read({first, second + Nanos{1}}));
  EXPECT_TRUE(read({first, second, Nanos{1}})) << "there was a third limit";
  EXPECT_FALSE(read({first, second})) << "nothing that the limits do not say";
  EXPECT_FALSE(read({first + Nanos{1}})) << "none of the second limit";
  EXPECT_FALSE(read({first + Nanos{1}, second - Nanos{1}})) << "less than the second limit";
  EXPECT_FALSE(read({kCapacityMax + Nanos{1}, second})) << "more than any limit has";
  EXPECT_FALSE(read({}));
}

TEST(PolicyBytesTest, WordsAreFoundBehindNumbersThatCanBeRead) {
  EXPECT_EQ(WordsInPolicyValue("\1\4freenonsense"), "nonsense");
  EXPECT_EQ(WordsInPolicyValue(""), "");
  EXPECT_EQ(WordsInPolicyValue("\2\4free\x41"), std::nullopt) << "65 capacities";
}

TEST(PolicyBytesTest, AnyBytesMayBeRead) {
  CheckLaw(2'000, [] {
    const auto bytes = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::string>());
    static_cast<void>(ReadPolicyValue(kFive, bytes));
    static_cast<void>(ReadOverrideValue(bytes));
    static_cast<void>(WordsInPolicyValue(bytes));
  });
}

}  // namespace
}  // namespace weir
