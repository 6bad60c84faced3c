// The records of a database: what a server keeps on disk, byte by byte. docs/persistence-format.md
// says the same for readers of the files, with a worked example.
//
//     "B" generation partition hash algorithm limit  ->  bucket          one bucket
//     "L" limit                                      ->  owner text      what a bucket's limit is
//     "M" name                                       ->  value           one of kMeta*
//     "O" policy key                                 ->  limits          one override
//     "P" policy                                     ->  flags name limits
//
// Numbers are big-endian, so that records sort as the table does: by partition, then by hash. A
// record that does not read as one is Bad: the reader counts it and goes on.
//
// Pure functions on bytes, no RocksDB; any bytes may be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/table/slot_key.h"
#include "core/words/policies.h"

namespace weir {

inline constexpr std::uint32_t kFormatVersion = 1;

inline constexpr char kBucketPrefix = 'B';
inline constexpr char kLimitPrefix = 'L';
inline constexpr char kMetaPrefix = 'M';
inline constexpr char kOverridePrefix = 'O';
inline constexpr char kPolicyPrefix = 'P';

// The names of what there is one of, in the order of their keys.
inline constexpr std::string_view kMetaClock = "clock";  // i64: the highest time handed out
// i64: how far past `clock` the server that runs began; absent where it began at the wall clock
inline constexpr std::string_view kMetaClockAllowance = "clock-allowance";
inline constexpr std::string_view kMetaExhausted = "exhausted";     // of 0.1.0: erased, not read
inline constexpr std::string_view kMetaFormat = "format";           // u32
inline constexpr std::string_view kMetaGeneration = "generation";   // u32: of the live buckets
inline constexpr std::string_view kMetaNextPolicy = "next-policy";  // u32: ids below are used
inline constexpr std::string_view kMetaSecret = "secret";           // 16 bytes: of the key hashes
inline constexpr std::string_view kMetaStopped = "stopped";  // u32: 1 after a clean stop, else 0

// --- Buckets ---

struct BucketKey {
  std::uint32_t generation = 0;
  std::uint16_t partition = 0;
  std::uint64_t hash = 0;
  Algorithm algorithm = Algorithm::kTokenBucket;
  LimitId limit = 0;

  friend bool operator==(const BucketKey&, const BucketKey&) = default;
};

inline constexpr std::size_t kBucketKeyBytes = 20;
inline constexpr std::size_t kBucketValueBytes = 12;

// Appends the bytes to a buffer, which a writer of millions clears and uses again.
void AppendBucketKey(const BucketKey& key, std::string& out);
void AppendBucketValue(const Bucket& bucket, std::string& out);
[[nodiscard]] std::optional<BucketKey> ReadBucketKey(std::string_view bytes);
[[nodiscard]] std::optional<Bucket> ReadBucketValue(std::string_view bytes);

// The bytes before the first bucket of a generation, and of a partition in it.
[[nodiscard]] std::string GenerationPrefix(std::uint32_t generation);
[[nodiscard]] std::string PartitionPrefix(std::uint32_t generation, std::uint16_t partition);

// When the bucket of these bytes is certainly full, as far as that can be told without its limit.
// Nothing for sliding windows.
[[nodiscard]] std::optional<Instant> CertainlyFullAfter(const BucketKey& key, const Bucket& bucket);

// --- Limits, policies, overrides ---

[[nodiscard]] std::string LimitKey(LimitId id);
[[nodiscard]] std::string LimitValue(const Limit& limit);
[[nodiscard]] std::optional<LimitId> ReadLimitKey(std::string_view bytes);
[[nodiscard]] std::optional<Limit> ReadLimitValue(std::string_view bytes);

[[nodiscard]] std::string PolicyKey(std::uint32_t id);
[[nodiscard]] std::string PolicyValue(const Policy& policy);
// Without its overrides.
[[nodiscard]] std::optional<Policy> ReadPolicy(std::string_view key, std::string_view value);

[[nodiscard]] std::string OverrideKey(std::uint32_t policy, std::string_view key);
[[nodiscard]] std::string OverrideValue(const PolicyLimits& limits);
struct SavedOverride {
  std::uint32_t policy;
  std::string_view key;  // in the bytes read
  PolicyLimits limits;   // without an owner yet
};
[[nodiscard]] std::optional<SavedOverride> ReadOverride(std::string_view key,
                                                        std::string_view value);

// --- What there is one of ---

[[nodiscard]] std::string MetaKey(std::string_view name);
[[nodiscard]] std::string NumberValue(std::uint32_t number);
[[nodiscard]] std::optional<std::uint32_t> ReadNumber(std::string_view bytes);
[[nodiscard]] std::string ClockValue(Instant mark);
[[nodiscard]] std::optional<Instant> ReadClock(std::string_view bytes);
[[nodiscard]] std::string SecretValue(const HashSecret& secret);
[[nodiscard]] std::optional<HashSecret> ReadSecret(std::string_view bytes);

}  // namespace weir
