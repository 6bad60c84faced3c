#include "persistence/format.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "core/base/status.h"
#include "core/policies/policy_bytes.h"
#include "core/rules/fixed_window.h"
#include "core/words/limit_bytes.h"
#include "core/words/limit_grammar.h"
#include "persistence/hold_format.h"

namespace weir {
namespace {

// Each number fits into the bytes that a record has for it.
static_assert(kBucketKeyBytes == 1 + sizeof(BucketKey::generation) + sizeof(BucketKey::partition) +
                                     sizeof(BucketKey::hash) + sizeof(std::uint8_t) +
                                     sizeof(LimitId));
static_assert(kPartitionCount <= UINT16_MAX);

// A write names its records in ascending order.
static_assert(std::ranges::is_sorted(
    std::to_array({kMetaClock, kMetaClockAllowance, kMetaExhausted, kMetaFormat, kMetaGeneration,
                   kMetaHistory, kMetaHoldsClock, kMetaNextPolicy, kMetaSecret, kMetaStopped})));
// The algorithms of buckets that are saved; a held limit's is counted from its holds.
constexpr auto kSavedAlgorithms = static_cast<std::uint8_t>(Algorithm::kHeld);
static_assert(kSavedAlgorithms == 3);

std::string NumberedKey(char prefix, std::uint32_t number) {
  std::string key(1, prefix);
  AppendNumber(number, key);
  return key;
}

}  // namespace

void AppendBucketKey(const BucketKey& key, std::string& out) {
  WEIR_CHECK(key.partition < kPartitionCount);
  WEIR_CHECK(key.algorithm < Algorithm::kHeld);
  const std::size_t begin = out.size();
  out.push_back(kBucketPrefix);
  AppendNumber(NumberOf(key.generation), out);
  AppendNumber(key.partition, out);
  AppendNumber(key.hash, out);
  AppendNumber(static_cast<std::uint8_t>(key.algorithm), out);
  AppendNumber(NumberOf(key.limit), out);
  WEIR_CHECK(out.size() - begin == kBucketKeyBytes);
}

std::optional<BucketKey> ReadBucketKey(std::string_view bytes) {
  RecordReader reader(bytes);
  BucketKey key;
  reader.Expect(kBucketPrefix);
  key.generation = TableGeneration{reader.Take<std::uint32_t>()};
  key.partition = reader.Take<std::uint16_t>();
  key.hash = reader.Take<std::uint64_t>();
  const auto algorithm = reader.Take<std::uint8_t>();
  key.limit = LimitId{reader.Take<std::uint32_t>()};
  if (!reader.Complete() || key.partition >= kPartitionCount) return std::nullopt;
  if (algorithm >= kSavedAlgorithms) return std::nullopt;
  key.algorithm = static_cast<Algorithm>(algorithm);
  return key;
}

std::string GenerationPrefix(TableGeneration generation, char kind) {
  return NumberedKey(kind, NumberOf(generation));
}

std::string PartitionPrefix(TableGeneration generation, std::uint16_t partition, char kind) {
  WEIR_CHECK(partition <= kPartitionCount);
  std::string prefix = GenerationPrefix(generation, kind);
  AppendNumber(partition, prefix);
  return prefix;
}

// The two words hold the end of a fixed window, and of a token bucket the whole nanoseconds of its
// TAT, which is less than 1 ns later.
std::optional<Instant> CertainlyFullAfter(const BucketKey& key, const Bucket& bucket) {
  if (key.algorithm == Algorithm::kSlidingWindow) return std::nullopt;
  if (HasSpareBit(bucket) && key.algorithm != Algorithm::kFixedWindow) return std::nullopt;
  return FixedWindowOf(bucket).end;
}

std::string LimitKey(LimitId id) { return NumberedKey(kLimitPrefix, NumberOf(id)); }

std::optional<LimitId> ReadLimitKey(std::string_view bytes) {
  RecordReader reader(bytes);
  reader.Expect(kLimitPrefix);
  const LimitId id{reader.Take<std::uint32_t>()};
  if (!reader.Complete()) return std::nullopt;
  return id;
}

std::string PolicyKey(PolicyId id) {
  WEIR_CHECK(IsPolicyId(id));
  return NumberedKey(kPolicyPrefix, NumberOf(id));
}

std::optional<Policy> ReadPolicy(std::string_view key, std::string_view value) {
  RecordReader reader(key);
  reader.Expect(kPolicyPrefix);
  const PolicyId id{reader.Take<std::uint32_t>()};
  if (!reader.Complete()) return std::nullopt;
  return ReadPolicyValue(id, value);
}

std::string OverrideKey(PolicyId policy, std::string_view key) {
  WEIR_CHECK(IsPolicyId(policy));
  return NumberedKey(kOverridePrefix, NumberOf(policy)).append(key);
}

std::optional<SavedOverride> ReadOverride(std::string_view key, std::string_view value) {
  RecordReader reader(key);
  reader.Expect(kOverridePrefix);
  const PolicyId policy{reader.Take<std::uint32_t>()};
  const std::string_view whose = reader.TakeRest();
  std::optional<PolicyLimits> limits = ReadOverrideValue(value);
  if (!reader.Complete() || !IsPolicyId(policy) || !limits) return std::nullopt;
  return SavedOverride{policy, whose, *std::move(limits)};
}

std::string RecordName(std::string_view key) {
  WEIR_CHECK(!key.empty());
  RecordReader reader(key.substr(1));
  const auto number = reader.Take<std::uint32_t>();
  switch (key[0]) {
    case kBucketPrefix:
      if (const auto bucket = ReadBucketKey(key)) {
        return absl::StrCat("a bucket of limit ", NumberOf(bucket->limit), " (hash ",
                            absl::Hex(bucket->hash, absl::kZeroPad16), ")");
      }
      return "a bucket";
    case kSumsPrefix:
      return "the sums of a bucket";
    case kHoldPrefix:
      if (const auto hold = ReadHoldKey(key)) {
        return absl::StrCat("a hold (hash ", absl::Hex(hold->hash, absl::kZeroPad16), ")");
      }
      return "a hold";
    case kLimitPrefix:
      return absl::StrCat("limit ", number);
    case kOverridePrefix:
      return absl::StrCat("an override of policy ", number);
    case kPolicyPrefix:
      return absl::StrCat("policy ", number);
    default:
      return "a record";
  }
}

std::string LimitErrorIn(std::string_view key, std::string_view value) {
  std::optional<std::string_view> words = value;
  if (key.starts_with(kLimitPrefix)) words = WordInLimitValue(value);
  if (key.starts_with(kPolicyPrefix)) words = WordsInPolicyValue(value);
  if (!words) return {};
  for (const absl::string_view word : absl::StrSplit(AbslView(*words), ' ')) {
    const absl::Status read = ParseLimitWord(StdView(word)).status();
    if (!read.ok()) return std::string(StdView(read.message()));
  }
  return {};
}

std::string MetaKey(std::string_view name) { return std::string(1, kMetaPrefix).append(name); }

std::string NumberValue(std::uint32_t number) {
  std::string value;
  AppendNumber(number, value);
  return value;
}

std::optional<std::uint32_t> ReadNumber(std::string_view bytes) {
  RecordReader reader(bytes);
  const auto number = reader.Take<std::uint32_t>();
  if (!reader.Complete()) return std::nullopt;
  return number;
}

std::string ClockValue(Instant mark) {
  WEIR_CHECK(mark >= Instant{});
  WEIR_CHECK(mark <= kInstantMax);
  std::string value;
  AppendNumber(static_cast<std::uint64_t>(mark.time_since_epoch().count()), value);
  return value;
}

std::optional<Instant> ReadClock(std::string_view bytes) {
  RecordReader reader(bytes);
  const auto nanos = reader.Take<std::uint64_t>();
  const auto most = static_cast<std::uint64_t>(kInstantMax.time_since_epoch().count());
  if (!reader.Complete() || nanos > most) return std::nullopt;
  return Instant{Nanos{static_cast<Nanos::rep>(nanos)}};
}

std::string SecretValue(const HashSecret& secret) { return {secret.begin(), secret.end()}; }

std::optional<HashSecret> ReadSecret(std::string_view bytes) {
  HashSecret secret;
  if (bytes.size() != secret.size()) return std::nullopt;
  std::ranges::copy(bytes, secret.begin());
  return secret;
}

}  // namespace weir
