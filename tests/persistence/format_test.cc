// Goal: a record is read back as it was written, other bytes are refused, and
// docs/persistence-format.md is true. Method: random values written and read; records cut, extended
// or with another first byte; the page's examples, byte by byte.
#include "persistence/format.h"

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

#include "core/base/status.h"
#include "core/policies/policy_bytes.h"
#include "core/rules/rule.h"
#include "core/words/limit_bytes.h"
#include "persistence/hold_format.h"
#include "tests/random/generators.h"
#include "tests/support/bytes_of_hex.h"
#include "tests/support/fake_clock.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using namespace std::string_literals;

std::string KeyOf(const BucketKey& key) {
  std::string bytes;
  AppendBucketKey(key, bytes);
  return bytes;
}

std::string ValueOf(const Bucket& bucket) {
  std::string bytes;
  AppendBucketValue(bucket, bytes);
  return bytes;
}

// Expects `read` to accept these bytes, and to refuse shorter, longer or differently beginning
// ones.
template <typename Read>
void ExpectOnlyWhole(const std::string& bytes, bool has_prefix, Read read) {
  EXPECT_TRUE(read(bytes));
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(read(std::string_view(bytes).substr(0, length))) << length;
  }
  EXPECT_FALSE(read(bytes + '\0'));
  for (int first = 0; has_prefix && first < 256; ++first) {
    std::string other = bytes;
    other[0] = static_cast<char>(first);
    EXPECT_EQ(static_cast<bool>(read(other)), other == bytes) << first;
  }
}

rc::Gen<BucketKey> AnyBucketKey() {
  return rc::gen::exec([] {
    BucketKey key;
    key.generation =
        TableGeneration{*rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>())};
    key.partition = *Between<std::uint16_t>(0, kPartitionCount - 1);
    key.hash = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
    key.algorithm = *rc::gen::element(Algorithm::kTokenBucket, Algorithm::kFixedWindow,
                                      Algorithm::kSlidingWindow);
    key.limit = LimitId{*rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>())};
    return key;
  });
}

rc::Gen<std::string> AnyBytes() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::string>());
}

TEST(FormatTest, BucketsRoundTrip) {
  CheckLaw(5'000, [] {
    const BucketKey key = *AnyBucketKey();
    const std::string bytes = KeyOf(key);
    RC_ASSERT(bytes.size() == kBucketKeyBytes);
    RC_ASSERT(ReadBucketKey(bytes).value() == key);
    const Bucket bucket = *ForeignBucket();
    RC_ASSERT(ValueOf(bucket).size() == kBucketValueBytes);
    RC_ASSERT(ReadBucketValue(ValueOf(bucket)).value() == bucket);
  });
}

TEST(FormatTest, BucketsSortAsTheTableDoes) {
  CheckLaw(5'000, [] {
    const auto order = [](const BucketKey& key) {
      return std::tuple(key.generation, key.partition, key.hash, key.algorithm, key.limit);
    };
    const BucketKey a = *AnyBucketKey();
    BucketKey b = *AnyBucketKey();
    if (*rc::gen::arbitrary<bool>()) b.generation = a.generation;
    if (*rc::gen::arbitrary<bool>()) b.partition = a.partition;
    if (*rc::gen::arbitrary<bool>()) b.hash = a.hash;
    RC_ASSERT((order(a) < order(b)) == (KeyOf(a) < KeyOf(b)));
    RC_ASSERT(KeyOf(a).starts_with(GenerationPrefix(a.generation)));
  });
}

TEST(FormatTest, BucketsAreReadOnlyWhole) {
  const BucketKey key{TableGeneration{1}, 0xABC, 0x0123456789ABCDEF, Algorithm::kSlidingWindow,
                      LimitId{7}};
  ExpectOnlyWhole(KeyOf(key), true, ReadBucketKey);
  ExpectOnlyWhole(ValueOf({1, 2, 3}), false, ReadBucketValue);
  const auto key_with = [&](std::size_t at, std::uint8_t byte) {
    std::string bytes = KeyOf(key);
    bytes[at] = static_cast<char>(byte);
    return bytes;
  };
  EXPECT_FALSE(ReadBucketKey(key_with(5, kPartitionCount >> 8))) << "partition 0x10bc";
  EXPECT_FALSE(ReadBucketKey(key_with(15, static_cast<std::uint8_t>(Algorithm::kUnlimited))));
  EXPECT_FALSE(ReadBucketKey(key_with(15, 255))) << "no such algorithm";
}

// A bucket is certainly full from the returned time on; 1 ns before, a token bucket need not be
// full.
TEST(FormatTest, CertainlyFullMeansFull) {
  CheckLaw(5'000, [] {
    const Algorithm algorithm = *rc::gen::element(Algorithm::kTokenBucket, Algorithm::kFixedWindow);
    const Limit limit = *LimitAmong(algorithm == Algorithm::kTokenBucket
                                        ? std::vector<std::string_view>{"3/s"}
                                        : std::vector<std::string_view>{"3/s,fixed", "9G/s,fixed"});
    const Instant now = *AnyInstant(std::chrono::hours{1});
    const auto cost = static_cast<std::uint64_t>(*Between<std::int64_t>(1, limit.shape().count));
    const Bucket bucket = DecideLimit(limit, Bucket{}, now, cost, Nanos{0}).bucket;
    const Instant full =
        CertainlyFullAfter({TableGeneration{}, 0, 0, algorithm, LimitId{}}, bucket).value();
    RC_ASSERT(IsFull(limit, bucket, full + Nanos{1}));
    RC_ASSERT(!IsFull(limit, bucket, full - Nanos{1}));
  });
  EXPECT_FALSE(CertainlyFullAfter({TableGeneration{}, 0, 0, Algorithm::kSlidingWindow, LimitId{}},
                                  Bucket{}));
  EXPECT_FALSE(CertainlyFullAfter({TableGeneration{}, 0, 0, Algorithm::kTokenBucket, LimitId{}},
                                  {1, kBucketSpareBit, 0}))
      << "damaged";
}

TEST(FormatTest, KeysOfLimitsPoliciesAndOverridesRoundTrip) {
  CheckLaw(2'000, [] {
    const LimitId id{*rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>())};
    RC_ASSERT(ReadLimitKey(LimitKey(id)).value() == id);

    const PolicyId policy{*Between<std::uint32_t>(1, UINT32_MAX - 1)};
    const std::optional<Policy> read = ReadPolicy(PolicyKey(policy), "\1\4free3/s"s);
    RC_ASSERT(read.has_value());
    RC_ASSERT(read->id == policy);
    RC_ASSERT(read->name == "free");

    const std::string whose = *AnyBytes();
    const std::string key = OverrideKey(policy, whose);
    const std::optional<SavedOverride> saved = ReadOverride(key, "3/s 1/m");
    RC_ASSERT(saved.has_value());
    RC_ASSERT(saved->policy == policy);
    RC_ASSERT(saved->key == whose);
    RC_ASSERT(saved->limits == LimitsOf({"3/s", "1/m"}));
  });
}

TEST(FormatTest, KeysOfLimitsPoliciesAndOverridesAreReadOnlyWhole) {
  ExpectOnlyWhole(LimitKey(LimitId{7}), true, ReadLimitKey);
  const std::string value = "\1\4free3/s";
  ExpectOnlyWhole(PolicyKey(PolicyId{5}), true,
                  [&](std::string_view key) { return ReadPolicy(key, value).has_value(); });
  EXPECT_FALSE(ReadPolicy(PolicyKey(PolicyId{5}), "\4free3/s"));
  EXPECT_FALSE(ReadPolicy("P\0\0\0\0"s, value)) << "no policy has the number 0";
  EXPECT_FALSE(ReadPolicy("P\xFF\xFF\xFF\xFF", value)) << "that of CL.THROTTLE";

  const std::string key = OverrideKey(PolicyId{5}, "");
  for (std::size_t length = 0; length < key.size(); ++length) {
    EXPECT_FALSE(ReadOverride(key.substr(0, length), "3/s")) << length;
  }
  EXPECT_FALSE(ReadOverride("P" + key.substr(1), "3/s"));
  EXPECT_FALSE(ReadOverride("O\0\0\0\0a"s, "3/s")) << "no policy has the number 0";
  EXPECT_FALSE(ReadOverride(key, "@free"));
}

TEST(FormatTest, MetaValuesRoundTripAndAreReadOnlyWhole) {
  for (const std::uint32_t number : {0U, 1U, 0x01020304U, UINT32_MAX}) {
    EXPECT_EQ(ReadNumber(NumberValue(number)), number);
  }
  for (const Instant mark : {Instant{}, FakeClock::kStart, kInstantMax}) {
    EXPECT_EQ(ReadClock(ClockValue(mark)), mark);
  }
  std::string too_late = ClockValue(kInstantMax);
  ++too_late.front();
  EXPECT_FALSE(ReadClock(too_late));
  EXPECT_FALSE(ReadClock(std::string(8, '\xFF')));
  const HashSecret secret{1, 2, 3, 0, 255};
  EXPECT_EQ(ReadSecret(SecretValue(secret)), secret);
  ExpectOnlyWhole(NumberValue(1), false, ReadNumber);
  ExpectOnlyWhole(ClockValue(FakeClock::kStart), false, ReadClock);
  ExpectOnlyWhole(SecretValue(secret), false, ReadSecret);
}

TEST(FormatTest, AnyBytesMayBeRead) {
  CheckLaw(5'000, [] {
    std::string key = *AnyBytes();
    if (!key.empty()) key[0] = *rc::gen::element('B', 'L', 'M', 'O', 'P', 'X');
    const std::string value = *AnyBytes();
    static_cast<void>(ReadBucketKey(key));
    static_cast<void>(ReadBucketValue(value));
    static_cast<void>(ReadLimitKey(key));
    static_cast<void>(ReadLimitValue(value));
    static_cast<void>(ReadPolicy(key, value));
    static_cast<void>(ReadOverride(key, value));
  });
}

// --- The page ---

struct Example {
  std::string title;  // up to the colon
  std::string key;
  std::string value;
};

std::vector<Example> ExamplesOfThePage() {
  std::ifstream file(WEIR_SOURCE_DIR "/docs/persistence-format.md");
  std::string line;
  while (std::getline(file, line) && line != "## Examples") {
  }
  std::vector<Example> examples;
  while (std::getline(file, line) && !line.starts_with("## ")) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    Example example{line.substr(0, colon), "", ""};
    std::getline(file, line);
    example.key = BytesOfHex(line);
    while (std::getline(file, line) && !line.empty() && !line.starts_with("```")) {
      example.value += BytesOfHex(line);
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

TEST(FormatPageTest, ItsExamplesAreWhatIsWritten) {
  const Policy policy{"free", PolicyId{5}, false, LimitsOf({"3/s", "1000/h,fixed"}), nullptr};
  const Bucket bucket =
      DecideLimit(LimitOf("3/s"), Bucket{}, FakeClock::kStart, 1, Nanos{0}).bucket;
  const BucketKey bucket_key{TableGeneration{1}, 0xABC, 0x0123456789ABCDEF, Algorithm::kTokenBucket,
                             LimitId{7}};
  const Limit owned = LimitOf("10/s,burst=50").OwnedBy({PolicyId{5}, 1});
  const SettlementSums sums{.given_back = 333'333'333};
  std::string sums_key;
  std::string sums_value;
  AppendSumsKey({bucket_key.generation, bucket_key.partition, bucket_key.hash, LimitId{7}},
                sums_key);
  AppendSumsValue(sums, sums_value);
  const auto hold_key = [&](std::string_view id) {
    std::string bytes;
    AppendHoldKey({bucket_key.generation, bucket_key.partition, bucket_key.hash, id}, bytes);
    return bytes;
  };
  const auto hold_value = [](const SavedHold& hold) {
    std::string bytes;
    AppendHoldValue(hold, bytes);
    return bytes;
  };
  const SavedHold open = {.request = 0xFEDCBA9876543210,
                          .expiry = FakeClock::kStart + std::chrono::minutes{1},
                          .order = 4,
                          .parts = {{.cost = 1, .sums = sums, .left = bucket, .limit = LimitId{7}}},
                          .intervals = {}};
  const SavedHold settled = {.settled = true,
                             .request = 0xFEDCBA9876543210,
                             .expiry = FakeClock::kStart + std::chrono::minutes{1},
                             .order = 5,
                             .parts = {{.cost = 2, .limit = LimitId{8}}},
                             .intervals = {}};
  const std::vector<Example> written = {
      {"bucket", KeyOf(bucket_key), ValueOf(bucket)},
      {"sums", sums_key, sums_value},
      {"hold", hold_key("req-81"), hold_value(open)},
      {"hold", hold_key("req-82"), hold_value(settled)},
      {"limit", LimitKey(LimitId{7}), LimitValue(LimitOf("3/s"))},
      {"limit", LimitKey(LimitId{8}), LimitValue(owned)},
      {"meta", MetaKey(kMetaFormat), NumberValue(kFormatVersion)},
      {"meta", MetaKey(kMetaClock), ClockValue(FakeClock::kStart)},
      {"override", OverrideKey(PolicyId{5}, "user:42"), OverrideValue(LimitsOf({"20/s"}))},
      {"policy", PolicyKey(PolicyId{5}), PolicyValue(policy)},
  };
  const std::vector<Example> page = ExamplesOfThePage();
  ASSERT_EQ(page.size(), written.size()) << "docs/persistence-format.md";
  const auto hex = [](const std::string& bytes) { return absl::BytesToHexString(bytes); };
  for (std::size_t i = 0; i < page.size(); ++i) {
    EXPECT_EQ(page[i].title, written[i].title) << "example " << i;
    EXPECT_EQ(hex(page[i].key), hex(written[i].key)) << "example " << i;
    EXPECT_EQ(hex(page[i].value), hex(written[i].value)) << "example " << i;
  }
  EXPECT_EQ(ReadBucketKey(page[0].key), bucket_key);
  EXPECT_EQ(ReadBucketValue(page[0].value), bucket);
  EXPECT_EQ(ReadSumsValue(page[1].value), sums);
  EXPECT_EQ(ReadHoldKey(page[2].key)->id, "req-81");
  EXPECT_EQ(ReadHoldValue(page[2].value), open);
  EXPECT_EQ(ReadHoldValue(page[3].value), settled);
  EXPECT_EQ(ReadLimitValue(page[5].value), owned);
  EXPECT_EQ(ReadClock(page[7].value), FakeClock::kStart);
  EXPECT_EQ(ReadOverride(page[8].key, page[8].value)->key, "user:42");
  EXPECT_EQ(ReadPolicy(page[9].key, page[9].value)->limits, policy.limits);
}

TEST(FormatPageTest, NamesEveryMetaRecord) {
  std::ifstream file(WEIR_SOURCE_DIR "/docs/persistence-format.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const std::string_view name : {kMetaClock, kMetaFormat, kMetaGeneration, kMetaHoldsClock,
                                      kMetaNextPolicy, kMetaSecret, kMetaStopped}) {
    EXPECT_NE(page.find("| `" + std::string(name) + "` |"), std::string::npos) << name;
  }
  EXPECT_NE(page.find("format " + std::to_string(kFormatVersion) + "."), std::string::npos);
}

}  // namespace
}  // namespace weir
