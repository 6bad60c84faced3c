// Applies what a primary sends to a limiter and its policies: the target of a replica's Sink.
//
// Memory: the records of one partition, and a list of policies, both until their last parts come.
//
// Not thread-safe itself; the limiter and the policies may be in use by other threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/limiter/limiter_restore.h"
#include "core/policies/policies.h"
#include "core/table/partition_set.h"
#include "core/table/table_generation.h"
#include "replication/sink.h"

namespace weir {

class LimiterTarget final : public SinkTarget {
 public:
  LimiterTarget(LimiterTable& table, Policies& policies) : table_(table), policies_(policies) {}

  void SetTime(Instant newest) override { LimiterRestore(table_).SetTold(newest); }
  std::optional<PartitionSet> ApplyChanges(std::string_view body, Instant time) override;
  std::optional<std::uint16_t> ApplyOverrides(std::string_view body, bool is_first) override;
  std::optional<std::uint16_t> ApplyPartition(std::string_view body, Part part,
                                              Instant time) override;
  std::optional<PoliciesTouched> ApplyPolicies(std::string_view body) override;
  bool ApplyPolicyList(std::string_view body, Part part) override;
  void Flush(TableGeneration generation) override;

  // The records that were dropped because there was no room for their limit, hold or override.
  [[nodiscard]] std::size_t dropped() const noexcept { return dropped_; }

 private:
  void ForgetParts();

  LimiterTable& table_;
  Policies& policies_;
  std::vector<LimiterChanges> parts_;      // of the partition that is being copied
  std::vector<OverrideChange> overrides_;  // of it
  PolicyChanges list_;                     // of the parts that have come
  std::size_t dropped_ = 0;
};

}  // namespace weir
