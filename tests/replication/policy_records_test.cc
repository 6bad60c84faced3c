// Goal: policies and overrides are read as they were written, in bodies of any size. Method: random
// changes; bodies cut and extended.
#include "replication/policy_records.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include "core/base/id_type.h"
#include "core/policies/policy_bytes.h"
#include "core/words/limit_grammar.h"
#include "tests/random/kept_limits.h"
#include "tests/random/property.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

PolicyChanges AnyChanges() {
  PolicyChanges changes;
  changes.next_id = PolicyId{*Between<std::uint32_t>(1, 100)};
  for (int n = *Between(0, 3); n > 0; --n) {
    auto& change = changes.policies.emplace_back();
    change.id = PolicyId{*Between<std::uint32_t>(1, 99)};
    if (*rc::gen::arbitrary<bool>()) continue;
    change.policy = std::make_shared<const Policy>(Policy{.name = "p" + std::to_string(n),
                                                          .id = change.id,
                                                          .from_file = *rc::gen::arbitrary<bool>(),
                                                          .limits = *AnyPolicyLimits(),
                                                          .retired = *rc::gen::arbitrary<bool>()});
  }
  for (int n = *Between(0, 3); n > 0; --n) {
    auto& change = changes.overrides.emplace_back();
    change.policy = PolicyId{*Between<std::uint32_t>(1, 99)};
    change.key = std::string(*Between<std::size_t>(0, 200), 'k');
    if (*rc::gen::arbitrary<bool>()) continue;
    change.limits = std::make_shared<const PolicyLimits>(*AnyPolicyLimits());
  }
  return changes;
}

std::vector<std::string> TextsOf(const PolicyChanges& changes) {
  std::vector<std::string> texts;
  for (const auto& change : changes.policies) {
    texts.push_back(std::to_string(NumberOf(change.id)) + ' ' +
                    (change.policy ? PolicyValue(*change.policy) : "") +
                    (change.policy && change.policy->retired ? " retired" : ""));
  }
  for (const OverrideChange& change : changes.overrides) {
    texts.push_back(std::to_string(NumberOf(change.policy)) + change.key + ' ' +
                    (change.limits ? OverrideValue(*change.limits) : ""));
  }
  return texts;
}

TEST(PolicyRecordsTest, RoundTrip) {
  CheckLaw(500, [] {
    const PolicyChanges changes = AnyChanges();
    std::vector<std::string> texts;
    bool ended = false;
    const std::size_t bytes = *Between<std::size_t>(1, 500);
    WritePolicies(changes, bytes, [&](std::string_view body, bool last) {
      RC_ASSERT(!ended);
      ended = last;
      const std::optional<PolicyChanges> read = ReadPolicies(body);
      RC_ASSERT(read.has_value());
      RC_ASSERT(read->next_id == changes.next_id);
      RC_ASSERT(body.size() <= bytes || read->policies.size() + read->overrides.size() <= 1);
      for (std::string& text : TextsOf(*read)) texts.push_back(std::move(text));
    });
    RC_ASSERT(ended);
    RC_ASSERT(texts == TextsOf(changes));
  });
}

// The longest words of limits, as a policy has at most.
PolicyLimits LongestLimits(std::size_t count) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < count; ++i) {
    words.push_back(absl::StrCat(2'000'000'000 + i, "/30d,fixed,aligned,ban=3000d,shadow",
                                 ",cost=9223372036854775807,keep=9223372036854775807,name=",
                                 std::string(kLabelBytesMax, 'n')));
  }
  return LimitsOf(std::vector<std::string_view>(words.begin(), words.end()));
}

TEST(PolicyRecordsTest, BodiesOfTheLargestRecordsFitIntoFrames) {
  constexpr std::size_t kKeyBytesMax = std::size_t{64} << 10;
  const auto longest = std::make_shared<const PolicyLimits>(LongestLimits(kPolicyLimitsMax));
  ASSERT_LT(kKeyBytesMax + OverrideValue(*longest).size(), kPoliciesBytes);
  CheckLaw(20, [&] {
    PolicyChanges changes;
    changes.next_id = PolicyId{2};
    for (std::size_t n = *Between<std::size_t>(1, 40); n > 0; --n) {
      OverrideChange& change = changes.overrides.emplace_back();
      change.policy = PolicyId{1};
      change.key = std::string(*Between<std::size_t>(0, kKeyBytesMax), 'k');
      if (*rc::gen::arbitrary<bool>()) change.limits = longest;
    }
    std::string frames;
    std::size_t read = 0;
    WritePolicies(changes, kPoliciesBytes, [&](std::string_view body, bool) {
      RC_ASSERT(body.size() <= kPoliciesBytes);
      frames.clear();
      AppendFrame({.kind = FrameKind::kPolicies, .body = body}, frames);
      read += ReadPolicies(body)->overrides.size();
    });
    RC_ASSERT(read == changes.overrides.size());
  });
}

TEST(PolicyRecordsTest, BodiesAreReadOnlyWhole) {
  CheckLaw(100, [] {
    PolicyChanges changes = AnyChanges();
    changes.overrides.push_back({PolicyId{1}, "key", nullptr});
    std::string whole;
    WritePolicies(changes, kPoliciesBytes, [&](std::string_view body, bool) { whole = body; });
    const std::size_t records = changes.policies.size() + changes.overrides.size();
    std::size_t read = 0;
    for (std::size_t length = 0; length < whole.size(); ++length) {
      // A body may end after any record.
      read += ReadPolicies(std::string_view(whole).substr(0, length)).has_value() ? 1 : 0;
    }
    RC_ASSERT(read == records);
    RC_ASSERT(!ReadPolicies(whole + 'X'));
  });
}

TEST(PolicyRecordsTest, RefusesIdsThatNoPolicyHas) {
  using namespace std::string_literals;
  EXPECT_TRUE(ReadPolicies("\0\0\0\1P\0\0\0\1\0"s));
  EXPECT_FALSE(ReadPolicies("\0\0\0\1P\0\0\0\0\0"s));
  EXPECT_FALSE(ReadPolicies("\0\0\0\1R\0\0\0\1\0"s)) << "retired, and gone";
  EXPECT_FALSE(ReadPolicies("\0\0\0\1O\0\0\0\0\0\0"s));
  EXPECT_FALSE(ReadPolicies("\0\0\0\1X\0\0\0\1\0"s));
  EXPECT_FALSE(ReadPolicies("\0\0\0"s));
}

}  // namespace
}  // namespace weir
