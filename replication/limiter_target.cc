#include "replication/limiter_target.h"

#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "replication/policy_records.h"
#include "replication/records.h"

namespace weir {

std::optional<PartitionSet> LimiterTarget::ApplyChanges(std::string_view body, Instant time) {
  const std::optional<LimiterChanges> records = ReadRecords(body, RecordsKind::kChanges);
  if (!records) return std::nullopt;
  dropped_ += limiter_.Apply(*records, time);
  PartitionSet touched;
  const auto add = [&](const auto& changes) {
    for (const auto& change : changes) touched.Add(change.partition);
  };
  add(records->buckets);
  add(records->holds);
  add(records->sums);
  return touched;
}

std::optional<std::uint16_t> LimiterTarget::ApplyPartition(std::string_view body, Part part,
                                                           Instant time) {
  std::optional<LimiterChanges> records = ReadRecords(body, RecordsKind::kPartition);
  if (!records) return std::nullopt;
  WEIR_CHECK(records->rewritten_partitions.size() == 1);
  const std::uint16_t partition = records->rewritten_partitions.front();
  if (part.first) {
    parts_.clear();
  } else {
    records->rewritten_partitions.clear();
  }
  parts_.push_back(*std::move(records));
  if (!part.last) return partition;
  for (const LimiterChanges& all : std::exchange(parts_, {})) {
    dropped_ += limiter_.Apply(all, time);
  }
  return partition;
}

bool LimiterTarget::ApplyPolicies(std::string_view body) {
  const std::optional<PolicyChanges> changes = ReadPolicies(body);
  if (!changes) return false;
  dropped_ += policies_.Apply(*changes, false).dropped;
  return true;
}

bool LimiterTarget::ApplyWholePolicies(std::string_view body, Part part) {
  std::optional<PolicyChanges> changes = ReadPolicies(body);
  if (!changes) return false;
  if (part.first) whole_ = {};
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(whole_.policies, changes->policies);
  append(whole_.overrides, changes->overrides);
  whole_.next_id = changes->next_id;
  if (part.last) dropped_ += policies_.Apply(std::exchange(whole_, {}), true).dropped;
  return true;
}

void LimiterTarget::Flush(TableGeneration) { limiter_.Clear(); }

}  // namespace weir
