// The records of a data directory, byte by byte. docs/persistence-format.md describes them for
// authors of other tools, with worked examples.
//
//     "B" generation partition hash algorithm limit  ->  bucket          a bucket
//     "G", "H"                                                           see hold_format.h
//     "L" limit                                      ->  owner text      the limit of that number
//     "M" name                                       ->  value           one of kMeta*
//     "O" policy key                                 ->  limits          an override
//     "P" policy                                     ->  flags name limits
//
// The values of "B" are in core/table/hold_bytes.h, those of "L" in core/words/limit_bytes.h, and
// those of "O" and "P" in core/policies/policy_bytes.h: a replica gets the same bytes.
//
// Numbers are big-endian, so records sort as the table does: by partition, then by hash.
//
// The functions that make bytes assert that their argument is one that a server can have; those
// that read bytes take any, and return nothing for bytes that no server has written. The caller
// counts such a record as bad and continues.
//
// Pure functions on bytes, without RocksDB.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/instant.h"
#include "core/policies/policy.h"
#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/table/hold_bytes.h"
#include "core/table/key_hash.h"
#include "core/table/slot_key.h"
#include "core/table/table_generation.h"

namespace weir {

inline constexpr std::uint32_t kFormatVersion = 1;

inline constexpr char kBucketPrefix = 'B';
inline constexpr char kSumsPrefix = 'G';
inline constexpr char kHoldPrefix = 'H';
inline constexpr char kLimitPrefix = 'L';
inline constexpr char kMetaPrefix = 'M';
inline constexpr char kOverridePrefix = 'O';
inline constexpr char kPolicyPrefix = 'P';

// The names of the meta records, in the order of their keys.
inline constexpr std::string_view kMetaClock = "clock";  // u64 ns: the highest time handed out
// u64 ns: the time past `clock` at which the last start began; absent if it began at the wall clock
inline constexpr std::string_view kMetaClockAllowance = "clock-allowance";
inline constexpr std::string_view kMetaExhausted = "exhausted";    // of 0.1.0: erased, not read
inline constexpr std::string_view kMetaFormat = "format";          // u32
inline constexpr std::string_view kMetaGeneration = "generation";  // u32: of the live buckets
// The server's place in replication (replication/history.h); absent if it has none.
inline constexpr std::string_view kMetaHistory = "history";
// u64 ns: as `clock`, but written only by servers that know holds. Where the two differ, an older
// server has used the directory since, and the records of holds are out of date.
inline constexpr std::string_view kMetaHoldsClock = "holds-clock";
inline constexpr std::string_view kMetaNextPolicy = "next-policy";  // u32: above all policies' ids
inline constexpr std::string_view kMetaSecret = "secret";           // 16 bytes: of the key hashes
inline constexpr std::string_view kMetaStopped = "stopped";  // u32: 1 after a clean stop, else 0

// --- Buckets ---

struct BucketKey {
  TableGeneration generation{};
  std::uint16_t partition = 0;
  std::uint64_t hash = 0;
  Algorithm algorithm = Algorithm::kTokenBucket;
  LimitId limit{};

  friend bool operator==(const BucketKey&, const BucketKey&) = default;
};

inline constexpr std::size_t kBucketKeyBytes = 20;

// Appends the bytes to a buffer, which a writer of millions of records clears and reuses.
void AppendBucketKey(const BucketKey& key, std::string& out);
[[nodiscard]] std::optional<BucketKey> ReadBucketKey(std::string_view bytes);

// The beginning of the keys of a generation's buckets, and of those in one of its partitions; or of
// holds or sums. Requires: partition <= kPartitionCount, which is the end of the last one.
[[nodiscard]] std::string GenerationPrefix(TableGeneration generation, char kind = kBucketPrefix);
[[nodiscard]] std::string PartitionPrefix(TableGeneration generation, std::uint16_t partition,
                                          char kind = kBucketPrefix);

// The time after which this bucket is full, whatever its limit is. Nothing for sliding windows,
// which do not say it, and for damaged bytes.
[[nodiscard]] std::optional<Instant> CertainlyFullAfter(const BucketKey& key, const Bucket& bucket);

// --- Limits, policies, overrides ---

[[nodiscard]] std::string LimitKey(LimitId id);
[[nodiscard]] std::optional<LimitId> ReadLimitKey(std::string_view bytes);

[[nodiscard]] std::string PolicyKey(PolicyId id);
// Returns the policy without its overrides.
[[nodiscard]] std::optional<Policy> ReadPolicy(std::string_view key, std::string_view value);

[[nodiscard]] std::string OverrideKey(PolicyId policy, std::string_view key);
struct SavedOverride {
  PolicyId policy;
  std::string_view key;  // a view into the record's key
  PolicyLimits limits;   // without an owner yet
};
[[nodiscard]] std::optional<SavedOverride> ReadOverride(std::string_view key,
                                                        std::string_view value);

// The name of a record in messages: "limit 7", "an override of policy 5". It tells no client's key.
// Requires: a key that is not empty.
[[nodiscard]] std::string RecordName(std::string_view key);

// The error of the first limit that cannot be read in the record of a limit, a policy or an
// override; empty if all of them can.
[[nodiscard]] std::string LimitErrorIn(std::string_view key, std::string_view value);

// --- Meta records ---

[[nodiscard]] std::string MetaKey(std::string_view name);
[[nodiscard]] std::string NumberValue(std::uint32_t number);
[[nodiscard]] std::optional<std::uint32_t> ReadNumber(std::string_view bytes);
[[nodiscard]] std::string ClockValue(Instant mark);
[[nodiscard]] std::optional<Instant> ReadClock(std::string_view bytes);
[[nodiscard]] std::string SecretValue(const HashSecret& secret);
[[nodiscard]] std::optional<HashSecret> ReadSecret(std::string_view bytes);

}  // namespace weir
