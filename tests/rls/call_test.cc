// Goal: what a call says is read, and what breaks its bounds is an error that says so. Method:
// messages that are made by the same protobuf, and bytes by hand.
#include "rls/call.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <malloc.h>

#include "core/base/status.h"

namespace weir {
namespace {

class RateLimitCallTest : public testing::Test {
 protected:
  RateLimitCallTest() {
    request_.set_domain("shop");
    rls::Entry& entry = *Descriptor().add_entries();
    entry.set_key("user");
    entry.set_value("7");
  }

  rls::Descriptor& Descriptor() {
    return request_.descriptors_size() > 0 ? *request_.mutable_descriptors(0)
                                           : *request_.add_descriptors();
  }
  // The error, or an empty text.
  std::string Read() {
    return std::string(StdView(call_.Read(request_.SerializeAsString()).message()));
  }

  rls::RateLimitRequest request_;
  RateLimitCall call_;
};

TEST_F(RateLimitCallTest, HasWhatTheMessageSays) {
  request_.set_hits_addend(3);
  rls::Descriptor& second = *request_.add_descriptors();
  second.mutable_hits_addend()->set_value(0);
  second.set_is_negative_hits(true);
  second.mutable_limit()->set_unit(7);
  second.mutable_limit()->set_requests_per_unit(10);
  ASSERT_EQ(Read(), "");
  EXPECT_EQ(call_.domain(), "shop");
  EXPECT_EQ(call_.hits(), 3U);
  ASSERT_EQ(call_.descriptors().size(), 2U);
  const CallDescriptor& plain = call_.descriptors()[0];
  ASSERT_EQ(plain.entries.size(), 1U);
  EXPECT_EQ(plain.entries[0].key, "user");
  EXPECT_EQ(plain.entries[0].value, "7");
  EXPECT_FALSE(plain.hits.has_value());
  EXPECT_FALSE(plain.limit.has_value());
  EXPECT_FALSE(plain.gives_back);
  const CallDescriptor& full = call_.descriptors()[1];
  EXPECT_TRUE(full.entries.empty());
  EXPECT_EQ(full.hits, 0U);
  EXPECT_TRUE(full.gives_back);
  ASSERT_TRUE(full.limit.has_value());
  EXPECT_EQ(full.limit->unit, RuleUnit::kWeek);
  EXPECT_EQ(full.limit->unit_multiplier, 1U);
  EXPECT_EQ(full.limit->requests_per_unit, 10U);
}

TEST_F(RateLimitCallTest, ForgetsTheLastCall) {
  request_.set_hits_addend(3);
  ASSERT_EQ(Read(), "");
  request_.clear_hits_addend();
  ASSERT_EQ(Read(), "");
  EXPECT_EQ(call_.hits(), 0U);
  EXPECT_EQ(call_.descriptors().size(), 1U);
}

TEST_F(RateLimitCallTest, TextsMayBeLongAndNoUtf8) {
  const std::string value = std::string(2'000, '\xff');
  Descriptor().mutable_entries(0)->set_value(value);
  ASSERT_EQ(Read(), "");
  EXPECT_EQ(call_.descriptors()[0].entries[0].value, value);
}

TEST_F(RateLimitCallTest, UnknownFieldsAreSkipped) {
  const std::string known = request_.SerializeAsString();
  ASSERT_TRUE(call_.Read(known + "\xa2\x06\x03xyz").ok());  // the field 100
  EXPECT_EQ(call_.descriptors().size(), 1U);
}

TEST_F(RateLimitCallTest, BytesThatAreNoRequestAreAnError) {
  EXPECT_EQ(call_.Read("\x0a").message(), "not a RateLimitRequest");
  EXPECT_EQ(call_.Read("").message(), "rate limit domain must not be empty");
}

TEST_F(RateLimitCallTest, ADomainAndDescriptorsAreNeeded) {
  request_.set_domain(std::string(kDomainBytesMax, 'd'));
  EXPECT_EQ(Read(), "");
  request_.set_domain(std::string(kDomainBytesMax + 1, 'd'));
  EXPECT_EQ(Read(), "at most 255 bytes in the domain");
  request_.clear_domain();
  EXPECT_EQ(Read(), "rate limit domain must not be empty");
  request_.set_domain("shop");
  request_.clear_descriptors();
  EXPECT_EQ(Read(), "rate limit descriptor list must not be empty");
}

TEST_F(RateLimitCallTest, DescriptorsAndEntriesAreBounded) {
  while (request_.descriptors_size() < kCallDescriptorsMax) request_.add_descriptors();
  while (Descriptor().entries_size() < kDescriptorEntriesMax) Descriptor().add_entries();
  EXPECT_EQ(Read(), "");
  Descriptor().add_entries();
  EXPECT_EQ(Read(), "at most 16 entries in a descriptor");
  Descriptor().clear_entries();
  request_.add_descriptors();
  EXPECT_EQ(Read(), "at most 64 descriptors");
}

// Method: an empty descriptor, and an empty entry, have two bytes each.
TEST_F(RateLimitCallTest, ElementsAboveTheBoundTakeNoMemory) {
  std::string descriptors;
  std::string entries("\x12\xe0\xd4\x03", 4);  // one descriptor of 60,000 bytes
  for (int i = 0; i < 30'000; ++i) {
    descriptors.append("\x12\0", 2);
    entries.append("\x0a\0", 2);
  }
  const std::size_t before = mallinfo2().uordblks;
  EXPECT_EQ(call_.Read(descriptors).message(), "at most 64 descriptors");
  EXPECT_EQ(call_.Read(entries).message(), "at most 16 entries in a descriptor");
  EXPECT_LT(mallinfo2().uordblks, before + 10'000);
}

TEST_F(RateLimitCallTest, MemoryOfALargeCallIsNotKept) {
  ASSERT_EQ(Read(), "");
  const std::size_t before = mallinfo2().uordblks;
  for (const std::string_view domain : {"shop", ""}) {
    {
      rls::RateLimitRequest large = request_;
      large.set_domain(std::string(domain));
      large.mutable_descriptors(0)->mutable_entries(0)->set_value(std::string(60'000, 'x'));
      EXPECT_EQ(call_.Read(large.SerializeAsString()).ok(), !domain.empty());
    }
    ASSERT_EQ(Read(), "");
  }
  EXPECT_LT(mallinfo2().uordblks, before + 10'000);
}

TEST_F(RateLimitCallTest, CutMessagesAreAnError) {
  const std::string message = request_.SerializeAsString();
  for (std::size_t size = message.size() - 1; size > 6; --size) {
    EXPECT_EQ(call_.Read(message.substr(0, size)).message(), "not a RateLimitRequest") << size;
  }
  EXPECT_FALSE(call_.Read(message + std::string("\0", 1)).ok());
  EXPECT_FALSE(call_.Read(message + "\x14").ok());  // the end of a group that has no beginning
}

TEST_F(RateLimitCallTest, UnitsArePeriods) {
  rls::Limit& limit = *Descriptor().mutable_limit();
  for (const int unit : {-1, 0, 8, 1'000}) {
    limit.set_unit(unit);
    EXPECT_EQ(Read(), "rate limit unit is unknown") << unit;
  }
  constexpr RuleUnit kUnits[] = {RuleUnit::kSecond, RuleUnit::kMinute, RuleUnit::kHour,
                                 RuleUnit::kDay,    RuleUnit::kMonth,  RuleUnit::kYear,
                                 RuleUnit::kWeek};
  for (int unit = 1; unit <= 7; ++unit) {
    limit.set_unit(unit);
    ASSERT_EQ(Read(), "");
    EXPECT_EQ(call_.descriptors()[0].limit->unit, kUnits[unit - 1]);
  }
}

TEST_F(RateLimitCallTest, TheMultiplierOfAUnitIsBounded) {
  rls::Limit& limit = *Descriptor().mutable_limit();
  limit.set_unit(6);
  for (const std::uint32_t good : {1U, 2U, 9U}) {
    limit.mutable_unit_multiplier()->set_value(good);
    ASSERT_EQ(Read(), "");
    EXPECT_EQ(call_.descriptors()[0].limit->unit_multiplier, good);
  }
  for (const std::uint32_t bad : {0U, 10U, UINT32_MAX}) {
    limit.mutable_unit_multiplier()->set_value(bad);
    EXPECT_EQ(Read(), "rate limit unit_multiplier is out of range") << bad;
  }
}

TEST_F(RateLimitCallTest, HitsAreBounded) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  Descriptor().mutable_hits_addend()->set_value(kMost);
  ASSERT_EQ(Read(), "");
  EXPECT_EQ(call_.descriptors()[0].hits, kMost);
  Descriptor().mutable_hits_addend()->set_value(kMost + 1);
  EXPECT_EQ(Read(), "hits_addend is out of range");
}

}  // namespace
}  // namespace weir
