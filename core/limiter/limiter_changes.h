// Records of a limiter's state: those that have changed, or all of some partitions. A save writes
// them, and a replica applies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/rules/bucket.h"
#include "core/rules/limit.h"
#include "core/rules/settlement.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/table/saved_hold.h"
#include "core/table/slot_key.h"
#include "core/table/table_generation.h"

namespace weir {

struct BucketChange {
  SlotKey key;
  std::uint16_t partition;
  Algorithm algorithm;
  bool went_back;  // as in LoggedChange
  bool erased;     // there is no bucket any more: an earlier record must be deleted
  Bucket bucket;   // if not erased
};

struct HoldChange {
  std::uint16_t partition;
  std::uint64_t key;  // the key's hash
  std::string id;
  std::optional<SavedHold> hold;  // nothing: an earlier record must be deleted
};

// The sums of a bucket whose key has open holds (settlement.h).
struct SumsChange {
  std::uint16_t partition;
  SlotKey bucket;
  std::optional<SettlementSums> sums;  // nothing: as above
};

struct LimiterChanges {
  std::vector<BucketChange> buckets;  // by partition, hash, algorithm and limit; distinct
  std::vector<HoldChange> holds;      // by partition, key and id; distinct
  std::vector<SumsChange> sums;       // by partition, key and limit; distinct
  std::vector<LimitChange> limits;
  // Partitions of which every bucket, hold and sum is here, in ascending order: all other records
  // of them must be deleted.
  std::vector<std::uint16_t> rewritten_partitions;
  // Partitions that have had too many changes, in ascending order: nothing of them is here, and
  // a consumer that needs them must copy them (ChangeReader::CopyPartition).
  std::vector<std::uint16_t> overflowed_partitions;
  TableGeneration generation{};  // buckets and holds of other generations are gone
  // The secret of the key hashes, if it is not the one that the limiter was made with.
  std::optional<HashSecret> new_secret;
  // The first partition of the next call, if there were too many changes for one call;
  // kPartitionCount: these are all.
  std::size_t next_partition = kPartitionCount;

  // The number of records of buckets and their holds.
  [[nodiscard]] std::size_t size() const noexcept {
    return buckets.size() + holds.size() + sums.size();
  }
  [[nodiscard]] bool empty() const noexcept {
    return size() == 0 && limits.empty() && rewritten_partitions.empty() &&
           overflowed_partitions.empty();
  }

  // Removes everything, and keeps the memory of up to some thousand buckets: a replicator takes
  // changes 500 times a second or more.
  void Clear() {
    constexpr std::size_t kBucketsKept = 8192;
    std::vector<BucketChange> kept;
    if (buckets.capacity() <= kBucketsKept) kept = std::move(buckets);
    kept.clear();
    *this = {};
    buckets = std::move(kept);
  }
};

}  // namespace weir
