// The filter that RocksDB asks, for each record that it merges, whether to drop it.
//
// Full buckets, and buckets and holds of an earlier generation, are dropped. "Full" is decided by
// weir's clock mark and never by the wall clock: a wrong wall clock would erase state.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <rocksdb/compaction_filter.h>

#include "core/base/check.h"
#include "persistence/database.h"

namespace weir {

class FullBucketFilter final : public rocksdb::CompactionFilter {
 public:
  explicit FullBucketFilter(std::shared_ptr<const DropRule> rule) : rule_(std::move(rule)) {
    WEIR_CHECK(rule_ != nullptr);
  }

  [[nodiscard]] const char* Name() const override { return "weir.FullBucketFilter"; }
  bool Filter(int level, const rocksdb::Slice& key, const rocksdb::Slice& value,
              std::string* new_value, bool* value_changed) const override;

 private:
  const std::shared_ptr<const DropRule> rule_;
};

}  // namespace weir
