// Frames of the ring, and copies of partitions and policies, for the output of one replica.
#include <utility>

#include "core/limiter/change_reader.h"
#include "replication/policy_records.h"
#include "server/replicas/connected_replica.h"
#include "server/replicas/replicator.h"

namespace weir {

// Appends what the replica is to get next, until enough of it waits to be sent.
void Replicator::Fill(Replica& replica) {
  if (replica.has_yield) return;
  replica.out.erase(0, std::exchange(replica.sent, 0));
  for (;;) {
    const Instant now = hub_.clock().Now();
    Source::Step step;
    {
      MutexLock lock(mutex_);
      step = replica.source.Next(ring_, now, replica.out);
      if (step.want == Source::Want::kPartition) ++partitions_sent_;
    }
    switch (step.want) {
      case Source::Want::kNothing:
        return YieldTo(replica);
      case Source::Want::kPolicies:
        AppendPolicies(replica, step.policies_as_of);
        break;
      case Source::Want::kPartition:
        AppendPartition(replica, step.partition);
        break;
    }
  }
}

// Appends the list of all policies: whole ones only if they have changed since that offset.
void Replicator::AppendPolicies(Replica& replica, std::optional<std::uint64_t> as_of) {
  const Instant now = hub_.clock().Now();
  PolicyChanges list = hub_.policies().List();
  if (as_of) {
    MutexLock lock(mutex_);
    std::erase_if(list.policies, [&](const auto& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      const bool is_kept = ring_.policies().Of(change.id) <= *as_of;
      if (is_kept) list.kept.push_back(change.id);
      return is_kept;
    });
  }
  WritePolicies(list, kPoliciesBytes, [&](std::string_view body, bool is_last) {
    replica.source.AppendPolicies(body, is_last, now, replica.out);
  });
}

void Replicator::AppendPartition(Replica& replica, std::uint16_t partition) {
  WriteOverrides(partition, hub_.policies().OverridesIn(partition), kPoliciesBytes,
                 [&](std::string_view body) {
                   replica.source.AppendOverrides(body, hub_.clock().Now(), replica.out);
                 });
  const ChangesLock changes_lock(hub_.reader());
  const std::optional<Instant> drop_time = hub_.DropTime();
  LimiterChanges copy;
  copy.buckets = std::exchange(copy_memory_, {});
  hub_.reader().CopyPartition(partition, drop_time, copy);
  const Instant now = hub_.clock().Now();
  const auto limit_of = [this](LimitId id) { return &hub_.reader().LimitOf(id); };
  copies_.WritePartition(
      copy, partition, limit_of, kPartitionPartBytes, [&](const RecordsWriter::Body& body) {
        replica.source.AppendPartition(body.bytes, body.is_last, now, replica.out);
      });
  copy.buckets.clear();
  copy_memory_ = std::move(copy.buckets);
}

}  // namespace weir
