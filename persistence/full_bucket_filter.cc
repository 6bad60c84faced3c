#include "persistence/full_bucket_filter.h"

#include <optional>
#include <string_view>

#include "persistence/format.h"

namespace weir {

bool FullBucketFilter::Filter(int, const rocksdb::Slice& key, const rocksdb::Slice& value,
                              std::string*, bool*) const {
  const std::optional<BucketKey> bucket_key = ReadBucketKey({key.data(), key.size()});
  if (!bucket_key) return false;
  if (bucket_key->generation < rule_->generation.load(std::memory_order_relaxed)) return true;
  const std::optional<Bucket> bucket = ReadBucketValue({value.data(), value.size()});
  if (!bucket) return false;  // The next load counts it as bad.
  const std::optional<Instant> full = CertainlyFullAfter(*bucket_key, *bucket);
  return full && *full < rule_->mark.load(std::memory_order_relaxed);
}

}  // namespace weir
