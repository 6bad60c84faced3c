// A load: takes the records of a data directory one after the other, and hands what they say to a
// limiter and its policies.
//
// The records come by kind, in this order, each kind in the order of its keys: policies, overrides,
// limits, sums, holds, buckets. A record that is not believed is counted in the report, and the
// load continues. For Storage::Load only; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

#include "core/base/instant.h"
#include "core/limiter/limiter_restore.h"
#include "core/policies/policies.h"
#include "core/table/table_generation.h"
#include "persistence/hold_format.h"
#include "persistence/load_report.h"

namespace weir {

// The values of the meta records that a load depends on.
struct LoadedMeta {
  TableGeneration generation{};
  std::uint32_t next_policy = 0;
  bool holds_are_stale = false;  // an older server has used the directory since
  Instant clock_mark{};          // no charge is later if clients give no time; 0: not known
};

class Loading {
 public:
  // `accept_damage`: a record that contradicts a meta record is corrected.
  Loading(const LoadedMeta& meta, bool accept_damage, LimiterTable& table, Policies& policies,
          const LoadOptions& options, LoadReport& report);

  void AddPolicy(std::string_view key, std::string_view value);
  void AddOverride(std::string_view key, std::string_view value);
  void AddLimit(std::string_view key, std::string_view value);
  void AddSums(std::string_view key, std::string_view value);
  void AddHold(std::string_view key, std::string_view value);
  // To be called after the last hold: restores the sums.
  void EndHolds();
  void AddBucket(std::string_view key, std::string_view value);
  // To be called after the last bucket: settles the holds that have expired.
  void EndBuckets();

  // The name of the meta record that another record contradicts, if damage is not accepted: then
  // the load must end. Empty: none.
  [[nodiscard]] std::string_view contradicted() const { return contradicted_; }
  // The number of the next new policy: that on disk, or one above those of all policies.
  [[nodiscard]] std::uint32_t next_policy() const { return next_policy_; }

  // Records from the last scan to erase, in key order.
  [[nodiscard]] std::size_t gone() const { return gone_.size(); }
  [[nodiscard]] std::vector<std::string> TakeGone() { return std::exchange(gone_, {}); }

 private:
  struct LoadedSums {
    SumsKey key;
    SettlementSums sums;
  };

  void FlushPartition();
  void Drop(std::string_view key, std::optional<Instant> full);
  void CountBad(std::string_view key, absl::string_view why);
  void CountBadLimits(std::string_view key, std::string_view value);
  void Contradict(std::string_view key, std::string_view meta_name);
  [[nodiscard]] bool IsPresent(std::string_view key, TableGeneration generation);
  [[nodiscard]] absl::string_view FaultOf(const HoldKey& key, const SavedHold& hold) const;
  [[nodiscard]] SettlementSums SumsOf(const HoldKey& key, LimitId limit) const;

  const LoadedMeta meta_;
  const bool accept_damage_;
  LimiterTable& table_;
  LimiterRestore restore_{table_};
  Policies& policies_;
  const LoadOptions options_;
  LoadReport& report_;
  std::string_view contradicted_;
  std::uint32_t next_policy_;
  absl::flat_hash_set<PolicyId> policy_ids_;
  absl::flat_hash_map<LimitId, Limit> limits_;
  std::vector<LoadedSums> sums_;  // in the order of their keys
  std::uint16_t partition_ = 0;
  std::vector<LimiterRestore::RestoredBucket> buckets_;  // of partition_
  std::vector<std::string> gone_;
};

}  // namespace weir
