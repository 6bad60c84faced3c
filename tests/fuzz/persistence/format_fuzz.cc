// Property: any key and value are a record of at most one kind. A record that was read is written
// as it was. The texts of limits and policies may have several spellings on disk; written again,
// they still read as the same limit or policy.
//
// The input is the key's length in one byte, then the key and the value.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/policies/policy_bytes.h"
#include "core/rules/rule.h"
#include "core/words/limit_bytes.h"
#include "core/words/limit_grammar.h"
#include "persistence/format.h"
#include "persistence/hold_format.h"

namespace weir {
namespace {

struct Record {
  std::string_view key;
  std::string_view value;
};

// A bucket is full when CertainlyFullAfter says so, whatever numbers its limit has.
void CheckFull(const BucketKey& key, const Bucket& bucket) {
  static const Limit kTokenBucket = *ParseLimitWord("3/s,burst=1M")->limit;
  static const Limit kFixedWindow = *ParseLimitWord("7/h,fixed")->limit;
  const std::optional<Instant> full = CertainlyFullAfter(key, bucket);
  const bool is_damaged = key.algorithm == Algorithm::kTokenBucket && HasSpareBit(bucket);
  WEIR_CHECK(full.has_value() == (key.algorithm != Algorithm::kSlidingWindow && !is_damaged));
  if (!full || *full >= kInstantMax) return;
  const Limit& limit = key.algorithm == Algorithm::kTokenBucket ? kTokenBucket : kFixedWindow;
  WEIR_CHECK(TimeToFull(limit, bucket, *full + Nanos{1}) == Nanos{0});
}

bool TryBucket(const Record& record) {
  const std::optional<BucketKey> key = ReadBucketKey(record.key);
  const std::optional<Bucket> bucket = ReadBucketValue(record.value);
  if (bucket) {
    std::string written;
    AppendBucketValue(*bucket, written);
    WEIR_CHECK(written == record.value);
    WEIR_CHECK(written.size() == kBucketValueBytes);
  }
  if (!key) return false;
  std::string written;
  AppendBucketKey(*key, written);
  WEIR_CHECK(written == record.key);
  WEIR_CHECK(written.size() == kBucketKeyBytes);
  WEIR_CHECK(written.starts_with(PartitionPrefix(key->generation, key->partition)));
  WEIR_CHECK(written.starts_with(GenerationPrefix(key->generation)));
  if (bucket) CheckFull(*key, *bucket);
  return true;
}

bool TryLimit(const Record& record) {
  if (const std::optional<Limit> limit = ReadLimitValue(record.value)) {
    WEIR_CHECK(limit->has_bucket());
    WEIR_CHECK(ReadLimitValue(LimitValue(*limit)) == limit);
  }
  const std::optional<LimitId> id = ReadLimitKey(record.key);
  if (!id) return false;
  WEIR_CHECK(LimitKey(*id) == record.key);
  return true;
}

bool TryPolicy(const Record& record) {
  const std::optional<Policy> policy = ReadPolicy(record.key, record.value);
  if (!policy) return false;
  WEIR_CHECK(PolicyKey(policy->id) == record.key);
  WEIR_CHECK(!policy->limits.empty() && policy->limits.size() <= kPolicyLimitsMax);
  const std::string written = PolicyValue(*policy);
  const std::optional<Policy> again = ReadPolicy(record.key, written);
  WEIR_CHECK(again.has_value());
  WEIR_CHECK(again->name == policy->name);
  WEIR_CHECK(again->from_file == policy->from_file);
  WEIR_CHECK(again->limits == policy->limits);
  WEIR_CHECK(HasHeldMore(*again) == HasHeldMore(*policy));
  WEIR_CHECK(HasBannedLonger(*again) == HasBannedLonger(*policy));
  WEIR_CHECK(PolicyValue(*again) == written);
  return true;
}

bool TryOverride(const Record& record) {
  const std::optional<SavedOverride> one = ReadOverride(record.key, record.value);
  if (!one) return false;
  WEIR_CHECK(OverrideKey(one->policy, one->key) == record.key);
  const std::optional<SavedOverride> again = ReadOverride(record.key, OverrideValue(one->limits));
  WEIR_CHECK(again.has_value());
  WEIR_CHECK(again->limits == one->limits);
  return true;
}

bool TryHold(const Record& record) {
  if (const std::optional<SavedHold> hold = ReadHoldValue(record.value)) {
    std::string written;
    AppendHoldValue(*hold, written);
    WEIR_CHECK(written == record.value);
  }
  const std::optional<HoldKey> key = ReadHoldKey(record.key);
  if (!key) return false;
  std::string written;
  AppendHoldKey(*key, written);
  WEIR_CHECK(written == record.key);
  WEIR_CHECK(written.starts_with(PartitionPrefix(key->generation, key->partition, kHoldPrefix)));
  WEIR_CHECK(HoldGenerationOf(record.key) == key->generation);
  return true;
}

bool TrySums(const Record& record) {
  if (const std::optional<SettlementSums> sums = ReadSumsValue(record.value)) {
    std::string written;
    AppendSumsValue(*sums, written);
    WEIR_CHECK(written == record.value);
  }
  const std::optional<SumsKey> key = ReadSumsKey(record.key);
  if (!key) return false;
  std::string written;
  AppendSumsKey(*key, written);
  WEIR_CHECK(written == record.key);
  WEIR_CHECK(written.starts_with(PartitionPrefix(key->generation, key->partition, kSumsPrefix)));
  WEIR_CHECK(HoldGenerationOf(record.key) == key->generation);
  return true;
}

void TryMeta(std::string_view value) {
  if (const auto number = ReadNumber(value)) WEIR_CHECK(NumberValue(*number) == value);
  if (const auto secret = ReadSecret(value)) WEIR_CHECK(SecretValue(*secret) == value);
  if (const auto mark = ReadClock(value)) {
    WEIR_CHECK(*mark >= Instant{} && *mark <= kInstantMax);
    WEIR_CHECK(ClockValue(*mark) == value);
  }
}

void FuzzOne(std::string_view input) {
  if (input.empty()) return;
  const std::size_t key_bytes = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const std::string_view key = input.substr(0, std::min(key_bytes, input.size()));
  const Record record = {key, input.substr(key.size())};
  const int kinds = static_cast<int>(TryBucket(record)) + static_cast<int>(TryLimit(record)) +
                    static_cast<int>(TryPolicy(record)) + static_cast<int>(TryOverride(record)) +
                    static_cast<int>(TryHold(record)) + static_cast<int>(TrySums(record));
  WEIR_CHECK(kinds <= 1);
  TryMeta(record.value);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
