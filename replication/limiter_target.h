// Applies what a primary sends to a limiter and its policies: the target of a replica's Sink.
//
// Memory: the records of one partition.
//
// Not thread-safe itself; the limiter and the policies may be in use by other threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/limiter/limiter.h"
#include "core/table/partition_set.h"
#include "core/table/table_generation.h"
#include "core/words/policies.h"
#include "replication/sink.h"

namespace weir {

class LimiterTarget final : public SinkTarget {
 public:
  LimiterTarget(Limiter& limiter, Policies& policies) : limiter_(limiter), policies_(policies) {}

  std::optional<PartitionSet> ApplyChanges(std::string_view body, Instant time) override;
  std::optional<std::uint16_t> ApplyPartition(std::string_view body, Part part,
                                              Instant time) override;
  bool ApplyPolicies(std::string_view body) override;
  bool ApplyWholePolicies(std::string_view body, Part part) override;
  void Flush(TableGeneration generation) override;

  // The records that were dropped because there was no room for their limit, hold or override.
  [[nodiscard]] std::size_t dropped() const noexcept { return dropped_; }

 private:
  Limiter& limiter_;
  Policies& policies_;
  std::vector<LimiterChanges> parts_;  // of the partition that is being copied
  PolicyChanges whole_;                // of the parts that have come
  std::size_t dropped_ = 0;
};

}  // namespace weir
