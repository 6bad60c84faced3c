#include "replication/limiter_target.h"

#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/limiter/limiter_restore.h"
#include "core/limiter/limiter_upkeep.h"
#include "replication/policy_records.h"
#include "replication/records.h"

namespace weir {

std::optional<PartitionSet> LimiterTarget::ApplyChanges(std::string_view body, Instant time) {
  const std::optional<LimiterChanges> records = ReadRecords(body, RecordsKind::kChanges);
  if (!records) return std::nullopt;
  dropped_ += LimiterRestore(table_).Apply(*records, time);
  PartitionSet touched;
  const auto add = [&](const auto& changes) {
    for (const auto& change : changes) touched.Add(change.partition);
  };
  add(records->buckets);
  add(records->holds);
  add(records->sums);
  return touched;
}

void LimiterTarget::ForgetParts() {
  parts_.clear();
  overrides_.clear();
}

std::optional<std::uint16_t> LimiterTarget::ApplyOverrides(std::string_view body, bool is_first) {
  std::optional<OverridesBody> read = ReadOverrides(body);
  if (!read) return std::nullopt;
  if (is_first) ForgetParts();
  overrides_.insert(overrides_.end(), std::make_move_iterator(read->overrides.begin()),
                    std::make_move_iterator(read->overrides.end()));
  return read->partition;
}

std::optional<std::uint16_t> LimiterTarget::ApplyPartition(std::string_view body, Part part,
                                                           Instant time) {
  std::optional<LimiterChanges> records = ReadRecords(body, RecordsKind::kPartition);
  if (!records) return std::nullopt;
  WEIR_CHECK(records->rewritten_partitions.size() == 1);
  const std::uint16_t partition = records->rewritten_partitions.front();
  if (part.first) ForgetParts();
  if (!parts_.empty()) records->rewritten_partitions.clear();
  parts_.push_back(*std::move(records));
  if (!part.last) return partition;
  for (const LimiterChanges& all : std::exchange(parts_, {})) {
    dropped_ += LimiterRestore(table_).Apply(all, time);
  }
  dropped_ += policies_.ReplaceOverrides(partition, std::exchange(overrides_, {})).dropped;
  return partition;
}

std::optional<SinkTarget::PoliciesTouched> LimiterTarget::ApplyPolicies(std::string_view body) {
  const std::optional<PolicyChanges> changes = ReadPolicies(body);
  if (!changes || !changes->kept.empty()) return std::nullopt;
  dropped_ += policies_.Apply(*changes, false).dropped;
  PoliciesTouched touched = {.policies = !changes->policies.empty()};
  for (const OverrideChange& change : changes->overrides) {
    touched.partitions.Add(PartitionOfOverride(change.key));
  }
  return touched;
}

bool LimiterTarget::ApplyPolicyList(std::string_view body, Part part) {
  std::optional<PolicyChanges> changes = ReadPolicies(body);
  if (!changes || !changes->overrides.empty()) return false;
  if (part.first) list_ = {};
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(list_.policies, changes->policies);
  append(list_.kept, changes->kept);
  if (list_.policies.size() + list_.kept.size() > kAllPoliciesMax) return false;
  list_.next_id = changes->next_id;
  if (part.last) dropped_ += policies_.Apply(std::exchange(list_, {}), true).dropped;
  return true;
}

void LimiterTarget::Flush(TableGeneration) { LimiterUpkeep(table_).Clear(); }

}  // namespace weir
