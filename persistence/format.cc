#include "persistence/format.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/record_bytes.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "core/words/policy_text.h"
#include "persistence/hold_format.h"

namespace weir {
namespace {

// The flags of a policy.
constexpr std::uint8_t kFromFile = 1;
constexpr std::uint8_t kHasCapacities = 2;
constexpr std::uint8_t kHasBans = 4;
constexpr std::uint8_t kAllFlags = kFromFile | kHasCapacities | kHasBans;

// Each number fits into the bytes that a record has for it.
static_assert(kBucketKeyBytes == 1 + sizeof(BucketKey::generation) + sizeof(BucketKey::partition) +
                                     sizeof(BucketKey::hash) + sizeof(std::uint8_t) +
                                     sizeof(LimitId));
static_assert(kPartitionCount <= UINT16_MAX);
static_assert(kLabelBytesMax <= UINT8_MAX);
static_assert(kPolicyLimitsMax <= UINT8_MAX);

// A write names its records in ascending order.
static_assert(std::ranges::is_sorted(std::to_array({kMetaClock, kMetaClockAllowance, kMetaExhausted,
                                                    kMetaFormat, kMetaGeneration, kMetaHoldsClock,
                                                    kMetaNextPolicy, kMetaSecret, kMetaStopped})));
// The algorithms of buckets that are saved; a held limit's is counted from its holds.
constexpr auto kSavedAlgorithms = static_cast<std::uint8_t>(Algorithm::kHeld);
static_assert(kSavedAlgorithms == 3);

std::string NumberedKey(char prefix, std::uint32_t number) {
  std::string key(1, prefix);
  AppendNumber(number, key);
  return key;
}

bool IsPolicyId(PolicyId id) { return id != kNoPolicy && id != kThrottleOwner.policy; }

// True for no owner, for CL.THROTTLE and for a position of a policy.
bool IsOwner(const LimitOwner& owner) {
  if (!IsPolicyId(owner.policy)) return owner.position == 0;
  return owner.position < kPolicyLimitsMax;
}

// True for a limit that buckets can have: CL.THROTTLE's is a token bucket.
bool HasRecord(const Limit& limit) {
  const bool is_throttles = limit.owner().policy == kThrottleOwner.policy;
  const LimitShape& shape = limit.shape();
  return limit.has_bucket() && IsOwner(limit.owner()) &&
         !(is_throttles && (shape.algorithm != Algorithm::kTokenBucket || shape.shadow));
}

// One of the numbers of each position: the capacities, or the bans.
using GreatestNumber = Nanos GreatestNumbers::*;

void AppendGreatest(const Policy& policy, GreatestNumber number, std::string& out) {
  WEIR_CHECK(policy.greatest.size() >= policy.limits.size());
  WEIR_CHECK(policy.greatest.size() <= kPolicyLimitsMax);
  AppendNumber(static_cast<std::uint8_t>(policy.greatest.size()), out);
  for (const GreatestNumbers& greatest : policy.greatest) {
    AppendNumber(static_cast<std::uint64_t>((greatest.*number).count()), out);
  }
}

bool TakeNumbers(RecordReader& reader, GreatestNumber number, Nanos most,
                 std::vector<GreatestNumbers>& greatest) {
  const auto count = reader.Take<std::uint8_t>();
  if (greatest.empty()) greatest.resize(count);
  if (count > kPolicyLimitsMax || greatest.size() != count) return false;
  for (GreatestNumbers& numbers : greatest) {
    const auto nanos = reader.Take<std::uint64_t>();
    if (nanos > static_cast<std::uint64_t>(most.count())) return false;
    numbers.*number = Nanos{static_cast<Nanos::rep>(nanos)};
  }
  return true;
}

// Takes the lists that the flags of a policy announce.
bool TakeGreatest(RecordReader& reader, unsigned flags, std::vector<GreatestNumbers>& greatest) {
  const bool has_capacities = (flags & kHasCapacities) != 0;
  const bool has_bans = (flags & kHasBans) != 0;
  return (!has_capacities ||
          TakeNumbers(reader, &GreatestNumbers::capacity, kCapacityMax, greatest)) &&
         (!has_bans || TakeNumbers(reader, &GreatestNumbers::ban, kPeriodMax, greatest));
}

// True if each limit has a position among the greatest numbers, and if those of the kinds that were
// saved are no less than its own.
bool CoversLimits(const Policy& policy, bool has_capacities, bool has_bans) {
  if (!has_capacities && !has_bans) return true;
  if (policy.greatest.size() < policy.limits.size()) return false;
  return std::ranges::equal(
      policy.limits, std::span(policy.greatest).first(policy.limits.size()),
      [=](const PolicyLimit& limit, const GreatestNumbers& greatest) {
        return (!has_capacities || limit.limit.capacity() <= greatest.capacity) &&
               (!has_bans || limit.limit.shape().ban <= greatest.ban);
      });
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
  const std::uint64_t nanos = std::uint64_t{WithoutSpareBit(bucket).high} << 32 | bucket.low;
  return Instant{Nanos{static_cast<Nanos::rep>(nanos)}};
}

std::string LimitKey(LimitId id) { return NumberedKey(kLimitPrefix, NumberOf(id)); }

std::string LimitValue(const Limit& limit) {
  WEIR_CHECK(HasRecord(limit));
  std::string value;
  AppendNumber(NumberOf(limit.owner().policy), value);
  AppendNumber(limit.owner().position, value);
  return value + LimitText(limit);
}

std::optional<LimitId> ReadLimitKey(std::string_view bytes) {
  RecordReader reader(bytes);
  reader.Expect(kLimitPrefix);
  const LimitId id{reader.Take<std::uint32_t>()};
  if (!reader.Complete()) return std::nullopt;
  return id;
}

std::optional<Limit> ReadLimitValue(std::string_view bytes) {
  RecordReader reader(bytes);
  LimitOwner owner;
  owner.policy = PolicyId{reader.Take<std::uint32_t>()};
  owner.position = reader.Take<std::uint32_t>();
  const absl::StatusOr<LimitWord> word = ParseLimitWord(reader.TakeRest());
  if (!reader.Complete() || !word.ok() || word->kind != LimitWord::Kind::kLimit) {
    return std::nullopt;
  }
  if (word->cost || word->keep || !word->label.empty()) return std::nullopt;
  const Limit limit = word->limit->OwnedBy(owner);
  if (!HasRecord(limit)) return std::nullopt;
  return limit;
}

std::string PolicyKey(PolicyId id) {
  WEIR_CHECK(IsPolicyId(id));
  return NumberedKey(kPolicyPrefix, NumberOf(id));
}

// Capacities and bans are kept only where they exceed those of the limits.
std::string PolicyValue(const Policy& policy) {
  WEIR_CHECK(IsLabel(policy.name));
  WEIR_CHECK(!policy.limits.empty());
  WEIR_CHECK(policy.limits.size() <= kPolicyLimitsMax);
  std::string value;
  const bool has_capacities = HasHeldMore(policy);
  const bool has_bans = HasBannedLonger(policy);
  WEIR_CHECK(CoversLimits(policy, has_capacities, has_bans));
  const unsigned flags = (policy.from_file ? kFromFile : 0U) |
                         (has_capacities ? kHasCapacities : 0U) | (has_bans ? kHasBans : 0U);
  AppendNumber(static_cast<std::uint8_t>(flags), value);
  AppendNumber(static_cast<std::uint8_t>(policy.name.size()), value);
  value += policy.name;
  if (has_capacities) AppendGreatest(policy, &GreatestNumbers::capacity, value);
  if (has_bans) AppendGreatest(policy, &GreatestNumbers::ban, value);
  AppendPolicyLimits(policy.limits, value);
  return value;
}

std::optional<Policy> ReadPolicy(std::string_view key, std::string_view value) {
  RecordReader key_reader(key);
  Policy policy;
  key_reader.Expect(kPolicyPrefix);
  policy.id = PolicyId{key_reader.Take<std::uint32_t>()};
  RecordReader reader(value);
  const auto flags = reader.Take<std::uint8_t>();
  policy.from_file = (flags & kFromFile) != 0;
  policy.name = reader.TakeBytes(reader.Take<std::uint8_t>());
  const bool has_capacities = (flags & kHasCapacities) != 0;
  const bool has_bans = (flags & kHasBans) != 0;
  if (!TakeGreatest(reader, flags, policy.greatest)) return std::nullopt;
  absl::StatusOr<PolicyLimits> limits = ReadPolicyLimits(reader.TakeRest());
  if (!key_reader.Complete() || !reader.Complete() || flags > kAllFlags || !limits.ok()) {
    return std::nullopt;
  }
  policy.limits = *std::move(limits);
  if (!IsPolicyId(policy.id) || !IsLabel(policy.name)) return std::nullopt;
  if (has_capacities != HasHeldMore(policy) || has_bans != HasBannedLonger(policy)) {
    return std::nullopt;
  }
  if (!CoversLimits(policy, has_capacities, has_bans)) return std::nullopt;
  return policy;
}

std::string OverrideKey(PolicyId policy, std::string_view key) {
  WEIR_CHECK(IsPolicyId(policy));
  return NumberedKey(kOverridePrefix, NumberOf(policy)).append(key);
}

std::string OverrideValue(const PolicyLimits& limits) {
  WEIR_CHECK(!limits.empty());
  std::string value;
  AppendPolicyLimits(limits, value);
  return value;
}

std::optional<SavedOverride> ReadOverride(std::string_view key, std::string_view value) {
  RecordReader reader(key);
  reader.Expect(kOverridePrefix);
  const PolicyId policy{reader.Take<std::uint32_t>()};
  const std::string_view whose = reader.TakeRest();
  absl::StatusOr<PolicyLimits> limits = ReadPolicyLimits(value);
  if (!reader.Complete() || !IsPolicyId(policy) || !limits.ok()) return std::nullopt;
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
  RecordReader reader(value);
  if (key.starts_with(kLimitPrefix)) {
    reader.TakeBytes(sizeof(PolicyId) + sizeof(LimitOwner::position));
  } else if (key.starts_with(kPolicyPrefix)) {
    const auto flags = reader.Take<std::uint8_t>();
    reader.TakeBytes(reader.Take<std::uint8_t>());
    std::vector<GreatestNumbers> greatest;
    if (!TakeGreatest(reader, flags, greatest)) return {};
  }
  const std::string_view words = reader.TakeRest();
  for (const absl::string_view word : absl::StrSplit(AbslView(words), ' ')) {
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
