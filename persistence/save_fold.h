// The changes since the last save, folded: of each bucket, hold and policy the last one.
//
// Changes may be taken more often than they are saved, for replicas. The fold keeps those of one
// interval between saves. Where it would keep much of a partition, it keeps nothing of it: the next
// save copies the partition as a whole.
//
// Memory: 24 bytes a changed bucket, and at most about those of the table; some 300 bytes a changed
// hold. Not thread-safe beyond what ChangeConsumer says: its user has a ChangesLock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"

#include "core/limiter/change_hub.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_changes.h"
#include "core/policies/policies.h"
#include "core/table/change_log.h"
#include "core/table/partition_set.h"

namespace weir {

class SaveFold final : public ChangeConsumer {
 public:
  explicit SaveFold(LimiterTable& table);

  void Consume(const ChangeBatch& batch) override;

  // Moves the changes of the partitions from `first` up to `end` to `changes`, and of those that
  // are to be copied everything that is not full at `now`. Stops at a partition after
  // ChangeReader::kTakenMax changes, and returns the next one. `changes` gets the generation and
  // the secret, too.
  std::size_t TakeInto(LimiterChanges& changes, std::size_t first, std::size_t end,
                       std::optional<Instant> now);
  // Moves the changes of policies.
  [[nodiscard]] PolicyChanges TakePolicies();

  // The number of buckets whose changes it holds.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Held {
    absl::btree_map<std::pair<std::uint64_t, std::string>, HoldChange> holds;
    absl::btree_map<std::pair<std::uint64_t, LimitId>, SumsChange> sums;
  };
  void StartOver(TableGeneration generation);
  void CopyLater(std::size_t partition);
  void AddBucket(const BucketChange& change);
  void AddHeld(const LimiterChanges& changes);
  void TakePartition(std::size_t partition, LimiterChanges& changes);

  ChangeReader reader_;
  TableGeneration generation_{};
  std::optional<HashSecret> new_secret_;  // of this generation
  PartitionSet changed_;
  PartitionSet copied_;  // those of them that the next save copies
  std::vector<ChangeLog> buckets_;
  std::vector<std::unique_ptr<Held>> held_;
  std::size_t size_ = 0;
  std::vector<LoggedChange> taken_;
  absl::btree_map<PolicyId, std::shared_ptr<const Policy>> policies_;
  absl::btree_map<std::pair<PolicyId, std::string>, std::shared_ptr<const PolicyLimits>> overrides_;
  PolicyId next_policy_{};
};

}  // namespace weir
