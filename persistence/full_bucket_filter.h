// The filter that RocksDB asks about each record while it merges files: may it be left out?
//
// Full buckets may, and those of an older generation. By weir's clock mark and never by the wall
// clock, which could be wrong and would erase state for good.
#pragma once

#include <memory>

#include <rocksdb/compaction_filter.h>

#include "persistence/database.h"

namespace weir {

class FullBucketFilter final : public rocksdb::CompactionFilter {
 public:
  explicit FullBucketFilter(std::shared_ptr<const DropRule> rule) : rule_(std::move(rule)) {}

  [[nodiscard]] const char* Name() const override { return "weir.FullBucketFilter"; }
  bool Filter(int level, const rocksdb::Slice& key, const rocksdb::Slice& value,
              std::string* new_value, bool* value_changed) const override;

 private:
  const std::shared_ptr<const DropRule> rule_;
};

}  // namespace weir
