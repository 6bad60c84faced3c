// Goal: no parse makes more objects than were counted before, and all that is read is counted.
// Method: messages of random shape, whole, cut and changed, whose objects are counted after a
// parse.
#include "rls/message_count.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "rls/xds.pb.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/rls/count_objects.h"

namespace weir {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max() - 1;

void Fill(int levels, rls::Value& value);

void Fill(int levels, rls::Struct& map) {
  for (int i = *Between(0, 3); i > 0; --i) {
    rls::Field& field = *map.add_fields();
    field.set_key("k");
    if (*Between(0, 4) > 0) Fill(levels - 1, *field.mutable_value());
  }
}

void Fill(int levels, rls::Value& value) {
  if (levels <= 0 || *Between(0, 2) == 0) return value.set_string_value("\x1a\x00\x1a");
  if (*Between(0, 1) == 0) return Fill(levels, *value.mutable_struct_value());
  for (int i = *Between(0, 3); i > 0; --i) {
    Fill(levels - 1, *value.mutable_list_value()->add_values());
  }
}

void Fill(int levels, xds::Descriptor& descriptor) {
  descriptor.set_key("\x1a\x02\x22");  // bytes that would be messages elsewhere
  if (*Between(0, 1) == 0) {
    for (int i = *Between(0, 2); i > 0; --i) {
      descriptor.mutable_rate_limit()->add_replaces();
    }
  }
  if (*Between(0, 1) == 0) Fill(3, *descriptor.mutable_metadata());
  if (levels == 0) return;
  for (int i = *Between(0, 3); i > 0; --i) {
    Fill(levels - 1, *descriptor.add_descriptors());
  }
}

xds::RateLimitConfig AnyConfig() {
  xds::RateLimitConfig config;
  config.set_name("\x1a");
  for (int i = *Between(0, 4); i > 0; --i) Fill(3, *config.add_descriptors());
  return config;
}

TEST(MessageCountTest, IsThatOfTheObjects) {
  CheckLaw(300, [] {
    const xds::RateLimitConfig config = AnyConfig();
    RC_ASSERT(CountMessages(config.SerializeAsString(), kAll) == CountObjects(config));
  });
}

TEST(MessageCountTest, IsThereForAllThatIsReadAndNeverTooSmall) {
  int read = 0;
  int failed = 0;
  CheckLaw(1000, [&] {
    std::string bytes = AnyConfig().SerializeAsString();
    const int place = *Between(0, static_cast<int>(bytes.size()) - 1);
    const int changed = *Between(-1, 255);
    if (changed < 0) {
      bytes.resize(static_cast<std::size_t>(place));
    } else {
      bytes[static_cast<std::size_t>(place)] = static_cast<char>(changed);
    }
    xds::RateLimitConfig config;
    const bool is_read = config.ParseFromString(bytes);
    ++(is_read ? read : failed);
    const std::optional<std::size_t> counted = CountMessages(bytes, kAll);
    RC_ASSERT(!is_read || counted.has_value());
    RC_ASSERT(counted.value_or(kAll) >= CountObjects(config));
  });
  EXPECT_GT(read, 0);
  EXPECT_GT(failed, 0);
}

TEST(MessageCountTest, StopsBehindTheMost) {
  xds::RateLimitConfig config;
  for (int i = 0; i < 9; ++i) config.add_descriptors();
  const std::string bytes = config.SerializeAsString();
  EXPECT_EQ(CountMessages(bytes, 10), 10U);
  EXPECT_EQ(CountMessages(bytes, 9), 10U);
  EXPECT_EQ(CountMessages(bytes, 3), 4U);
  EXPECT_EQ(CountMessages(bytes, 0), 1U);
  EXPECT_EQ(CountMessages(bytes + "\xff", 3), 4U) << "what is behind is not looked at";
}

// Each level takes stack where it is counted, as where it is parsed.
TEST(MessageCountTest, IsNotThereBelowTheLevelsOfAParse) {
  const auto bytes_of = [](int levels) {
    xds::RateLimitConfig config;
    xds::Descriptor* level = config.add_descriptors();
    for (int i = 1; i < levels; ++i) level = level->add_descriptors();
    return config.SerializeAsString();
  };
  xds::RateLimitConfig parsed;
  EXPECT_TRUE(parsed.ParseFromString(bytes_of(100)));
  EXPECT_EQ(CountMessages(bytes_of(100), kAll), 101U);
  EXPECT_FALSE(parsed.ParseFromString(bytes_of(101)));
  EXPECT_EQ(CountMessages(bytes_of(101), kAll), std::nullopt);
  EXPECT_EQ(CountMessages(bytes_of(10'000), kAll), std::nullopt);
}

// A parse of the second descriptor would read on to the end of the bytes.
TEST(MessageCountTest, IsNotThereForAMessageThatEndsBehindTheOneAroundIt) {
  const std::string inner = {'\x22', '\x04'};  // a descriptor of 4 bytes, in one of 2
  const std::string bytes = std::string("\x1a\x02") + inner + std::string(4, '\x22');
  EXPECT_EQ(CountMessages(bytes, kAll), std::nullopt);
}

}  // namespace
}  // namespace weir
