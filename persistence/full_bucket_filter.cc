#include "persistence/full_bucket_filter.h"

#include <optional>
#include <string_view>

#include "persistence/format.h"
#include "persistence/hold_format.h"

namespace weir {

bool FullBucketFilter::Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value,
                              std::string*, bool*) const {
  const std::string_view bytes(key.data(), key.size());
  const std::optional<BucketKey> bucket_key = ReadBucketKey(bytes);
  const std::optional<TableGeneration> generation =
      bucket_key ? bucket_key->generation : HoldGenerationOf(bytes);
  if (!generation) return false;
  if (*generation < rule_->generation.load(std::memory_order_relaxed)) return true;
  if (!bucket_key) return false;  // A hold that has expired must be settled first.
  const std::optional<Bucket> bucket = ReadBucketValue({value.data(), value.size()});
  if (!bucket) return false;  // The next load counts it as bad.
  const std::optional<Instant> full = CertainlyFullAfter(*bucket_key, *bucket);
  return full && *full < rule_->mark.load(std::memory_order_relaxed);
}

}  // namespace weir
