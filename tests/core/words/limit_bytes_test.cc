// Goal: a limit is read back as it was written, with its owner, and other bytes are refused.
// Method: random limits written and read; bytes cut, extended, or with another owner or word.
#include "core/words/limit_bytes.h"

#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "tests/random/kept_limits.h"

namespace weir {
namespace {

std::string OwnerBytes(const LimitOwner& owner) {
  std::string bytes;
  AppendNumber(NumberOf(owner.policy), bytes);
  AppendNumber(owner.position, bytes);
  return bytes;
}

TEST(LimitBytesTest, RoundTrip) {
  CheckLaw(2'000, [] {
    const LimitOwner owner =
        *rc::gen::element(LimitOwner{}, LimitOwner{PolicyId{1}, 0}, LimitOwner{PolicyId{77}, 63},
                          LimitOwner{PolicyId{UINT32_MAX - 1}, 1});
    const bool is_throttles = *Between(0, 4) == 0;
    const Limit limit = is_throttles ? (*AnyThrottleLimit()).OwnedBy(kThrottleOwner)
                                     : (*AnyKeptLimit()).OwnedBy(owner);
    RC_ASSERT(ReadLimitValue(LimitValue(limit)).value() == limit);
    RC_ASSERT(LimitValue(limit).starts_with(OwnerBytes(limit.owner())));
    RC_ASSERT(WordInLimitValue(LimitValue(limit)) == LimitText(limit));
  });
}

TEST(LimitBytesTest, AreReadOnlyWhole) {
  const std::string owner = OwnerBytes({});
  EXPECT_TRUE(ReadLimitValue(owner + "10/s"));
  for (const std::string_view word :
       {"", "10", "10/", "@free", "unlimited", "none", "10/s 10/s", "10/s,cost=x", "1/s\n",
        "10/s,burst=0", "10/s,cost=1", "10/s,keep=1", "10/s,name=a"}) {
    EXPECT_FALSE(ReadLimitValue(owner + std::string(word))) << word;
    EXPECT_EQ(WordInLimitValue(owner + std::string(word)), word);
  }
  for (std::size_t length = 0; length < owner.size(); ++length) {
    EXPECT_FALSE(ReadLimitValue(owner.substr(0, length) + "10/s")) << length;
  }
  EXPECT_EQ(WordInLimitValue(""), "");
}

TEST(LimitBytesTest, OwnersAreThoseThatALimitCanHave) {
  const auto owned_by = [](const LimitOwner& owner, std::string_view word) {
    return ReadLimitValue(OwnerBytes(owner).append(word));
  };
  EXPECT_TRUE(owned_by({PolicyId{5}, 63}, "10/s"));
  EXPECT_FALSE(owned_by({PolicyId{5}, 64}, "10/s")) << "a policy has 64 limits";
  EXPECT_FALSE(owned_by({PolicyId{0}, 1}, "10/s")) << "no policy has the number 0";
  EXPECT_TRUE(owned_by(kThrottleOwner, "10/s"));
  EXPECT_FALSE(owned_by({kThrottleOwner.policy, 1}, "10/s"));
  EXPECT_FALSE(owned_by(kThrottleOwner, "10/s,fixed"));
  EXPECT_FALSE(owned_by(kThrottleOwner, "10/s,shadow"));
}

TEST(LimitBytesTest, AnyBytesMayBeRead) {
  CheckLaw(2'000, [] {
    const auto bytes = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::string>());
    static_cast<void>(ReadLimitValue(bytes));
    static_cast<void>(WordInLimitValue(bytes));
  });
}

}  // namespace
}  // namespace weir
