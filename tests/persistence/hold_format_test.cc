// Goal: the record of a hold or of sums is read back as it was written, and other bytes are
// refused. Method: random values written and read; records cut, extended, or with another first
// byte; each bound. (format_test.cc reads the examples on docs/persistence-format.md.)
#include "persistence/hold_format.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "gtest/gtest.h"

#include "core/words/request.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"

namespace weir {
namespace {

std::string KeyOf(const HoldKey& key) {
  std::string bytes;
  AppendHoldKey(key, bytes);
  return bytes;
}
std::string KeyOf(const SumsKey& key) {
  std::string bytes;
  AppendSumsKey(key, bytes);
  return bytes;
}
std::string ValueOf(const SavedHold& hold) {
  std::string bytes;
  AppendHoldValue(hold, bytes);
  return bytes;
}
std::string ValueOf(const SettlementSums& sums) {
  std::string bytes;
  AppendSumsValue(sums, bytes);
  return bytes;
}

template <typename Number>
Number AnyNumber() {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<Number>());
}

SettlementSums AnySums() { return {AnyNumber<std::uint64_t>(), AnyNumber<std::uint64_t>()}; }

SavedHold AnyHold() {
  SavedHold hold = {.settled = *rc::gen::arbitrary<bool>(),
                    .request = AnyNumber<std::uint64_t>(),
                    .granted = *NumberUpTo(INT64_MAX),
                    .expiry = *AnyInstant(),
                    .order = AnyNumber<std::uint32_t>(),
                    .parts = {},
                    .intervals = {}};
  const auto parts = *Between<std::size_t>(0, 5);
  hold.lapses = !hold.settled && *rc::gen::arbitrary<bool>();
  const bool has_intervals = !hold.settled && *rc::gen::arbitrary<bool>();
  for (std::size_t i = 0; i < parts; ++i) {
    HoldPart part = {.cost = AnyNumber<std::uint64_t>(),
                     .limit = LimitId{AnyNumber<std::uint32_t>()}};
    if (!hold.settled) {
      part.sums = AnySums();
      part.left = *rc::gen::distinctFrom(ForeignBucket(), HoldPart::kHeldLeft);
    }
    hold.parts.push_back(part);
    if (has_intervals) {
      hold.intervals.push_back({*NumberUpTo(INT64_MAX), *Between<std::uint32_t>(1, UINT32_MAX)});
    }
  }
  return hold;
}

// Expects `read` to accept these bytes, and to refuse them cut anywhere or with a byte more.
template <typename Read>
void ExpectOnlyWhole(const std::string& bytes, Read read) {
  EXPECT_TRUE(read(bytes).has_value());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read(std::string_view(bytes).substr(0, length)).has_value()) << length;
  }
  EXPECT_FALSE(read(bytes + '\0').has_value());
}

TEST(HoldFormatTest, HoldsRoundTrip) {
  CheckLaw(5'000, [] {
    const SavedHold hold = AnyHold();
    const std::string bytes = ValueOf(hold);
    RC_ASSERT(ReadHoldValue(bytes) == hold);
    const auto cut = *Between<std::size_t>(0, bytes.size() - 1);
    RC_ASSERT(!ReadHoldValue(std::string_view(bytes).substr(0, cut)));
    RC_ASSERT(!ReadHoldValue(bytes + "x"));
  });
}

TEST(HoldFormatTest, KeysRoundTripAndSortAsTheTableDoes) {
  CheckLaw(5'000, [] {
    const auto any_id = [] {
      return std::string(*Between<std::size_t>(1, 3), *rc::gen::arbitrary<char>());
    };
    const std::string ids[] = {any_id(), any_id()};
    HoldKey keys[2];
    for (int i = 0; i < 2; ++i) {
      keys[i] = {TableGeneration{*Between<std::uint32_t>(0, 2)},
                 *Between<std::uint16_t>(0, kPartitionCount - 1), *Between<std::uint64_t>(0, 2),
                 ids[i]};
      RC_ASSERT(ReadHoldKey(KeyOf(keys[i])) == keys[i]);
      RC_ASSERT(HoldGenerationOf(KeyOf(keys[i])) == keys[i].generation);
    }
    const auto order = [](const HoldKey& key) {
      return std::tuple(key.generation, key.partition, key.hash, key.id);
    };
    RC_ASSERT((order(keys[0]) < order(keys[1])) == (KeyOf(keys[0]) < KeyOf(keys[1])));
    const SumsKey sums{keys[0].generation, keys[0].partition, keys[0].hash,
                       LimitId{AnyNumber<std::uint32_t>()}};
    RC_ASSERT(ReadSumsKey(KeyOf(sums)) == sums);
    RC_ASSERT(HoldGenerationOf(KeyOf(sums)) == sums.generation);
    const SettlementSums value = AnySums();
    RC_ASSERT(ReadSumsValue(ValueOf(value)) == value);
  });
}

TEST(HoldFormatTest, KeysAreReadOnlyWhole) {
  const SumsKey sums{TableGeneration{1}, 0xABC, 7, LimitId{7}};
  ExpectOnlyWhole(KeyOf(sums), ReadSumsKey);
  ExpectOnlyWhole(ValueOf(SettlementSums{1, 2}), ReadSumsValue);
  const HoldKey hold{TableGeneration{1}, 0xABC, 7, "id"};
  const std::string bytes = KeyOf(hold);
  const std::size_t id_begin = bytes.size() - 2;
  for (std::size_t length = 0; length <= id_begin; ++length) {
    EXPECT_FALSE(ReadHoldKey(std::string_view(bytes).substr(0, length))) << length;
  }
  const std::string place = bytes.substr(0, id_begin);
  EXPECT_TRUE(ReadHoldKey(place + std::string(kHoldIdBytesMax, 'x')));
  EXPECT_FALSE(ReadHoldKey(place + std::string(kHoldIdBytesMax + 1, 'x')));
  for (int first = 0; first < 256; ++first) {
    std::string other = bytes;
    other[0] = static_cast<char>(first);
    EXPECT_EQ(ReadHoldKey(other).has_value(), first == kHoldPrefix) << first;
    other = KeyOf(sums);
    other[0] = static_cast<char>(first);
    EXPECT_EQ(ReadSumsKey(other).has_value(), first == kSumsPrefix) << first;
  }
  std::string partition = bytes;
  partition[5] = static_cast<char>(kPartitionCount >> 8);
  EXPECT_FALSE(ReadHoldKey(partition)) << "partition 0x10bc";
  EXPECT_FALSE(HoldGenerationOf(partition));
}

// Goal: no bytes are read of which no server can have made a hold. Method: the bytes of a hold with
// one part, changed in one place.
TEST(HoldFormatTest, HoldsAreReadOnlyWithinTheirBounds) {
  SavedHold hold = {.expiry = kInstantMax + kHoldMax,
                    .parts = {{.cost = 5, .left = {1, 2, 3}, .limit = LimitId{7}}},
                    .intervals = {{3, 7}}};
  const std::string bytes = ValueOf(hold);
  ExpectOnlyWhole(bytes, ReadHoldValue);
  const auto with = [&](std::size_t at, std::uint8_t byte) {
    std::string other = bytes;
    other[at] = static_cast<char>(byte);
    return ReadHoldValue(other).has_value();
  };
  EXPECT_TRUE(with(0, 6)) << "a slice";
  EXPECT_FALSE(with(0, 8 + 2)) << "unknown flags";
  EXPECT_FALSE(with(0, 3)) << "a settled hold has no intervals";
  EXPECT_FALSE(with(0, 5)) << "a settled hold does not lapse";
  EXPECT_FALSE(with(1, 0x80)) << "an expiry before 1970";
  EXPECT_FALSE(with(1, 0x41)) << "an expiry later than any";
  EXPECT_FALSE(with(21, 0x80)) << "a negative grant";
  EXPECT_FALSE(with(29, 0)) << "fewer parts than there are";
  EXPECT_FALSE(with(29, 2)) << "more";
  const std::string marked = std::string(bytes).replace(42, kBucketValueBytes, 12, '\xff');
  EXPECT_FALSE(ReadHoldValue(marked)) << "the mark of a held part is never written";
  EXPECT_FALSE(with(70, 0x80)) << "a negative period";
  EXPECT_FALSE(with(bytes.size() - 1, 0)) << "a division by 0";

  hold.intervals.clear();
  hold.parts.resize(kChecksMax);
  std::string most = ValueOf(hold);
  EXPECT_EQ(ReadHoldValue(most), hold);
  most[29] = static_cast<char>(kChecksMax + 1);
  most += std::string(40, '\0');
  EXPECT_FALSE(ReadHoldValue(most)) << "more than a request has";
  hold.parts.clear();
  EXPECT_EQ(ReadHoldValue(ValueOf(hold)), hold) << "of limits without buckets";
}

}  // namespace
}  // namespace weir
