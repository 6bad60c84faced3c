// A model of a data directory (persistence/storage.h): what a save stores there, and how a start
// loads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "core/limiter/limiter.h"
#include "core/limiter/limiter_restore.h"
#include "core/policies/policies.h"
#include "core/rules/rule.h"
#include "core/rules/token_bucket.h"

namespace weir {

class ModelDisk {
 public:
  void Save(const LimiterChanges& limiter, const PolicyChanges& policies) {
    if (limiter.generation != generation_) Clear();
    generation_ = limiter.generation;
    for (const std::uint16_t partition : limiter.rewritten_partitions) {
      const auto is_there = [=](const auto& one) { return std::get<0>(one.first) == partition; };
      std::erase_if(buckets_, is_there);
      std::erase_if(holds_, is_there);
      std::erase_if(sums_, is_there);
    }
    for (const BucketChange& change : limiter.buckets) {
      const Name name{change.partition, change.key.key_hash(), change.algorithm, change.key.limit};
      buckets_.erase(name);
      if (!change.erased) buckets_.emplace(name, change.bucket);
    }
    for (const HoldChange& change : limiter.holds) {
      const HoldName name{change.partition, change.key, change.id};
      holds_.erase(name);
      if (change.hold) holds_.emplace(name, *change.hold);
    }
    for (const SumsChange& change : limiter.sums) {
      const SumsName name{change.partition, change.bucket.key_hash(), change.bucket.limit};
      sums_.erase(name);
      if (change.sums) sums_.emplace(name, *change.sums);
    }
    for (const LimitChange& change : limiter.limits) {
      limits_.erase(change.id);
      if (change.limit) limits_.emplace(change.id, *change.limit);
    }
    for (const PolicyChanges::PolicyChange& change : policies.policies) {
      policies_[change.id] = change.policy;
    }
    for (const OverrideChange& change : policies.overrides) {
      overrides_[{change.policy, change.key}] = change.limits;
    }
    next_policy_ = policies.next_id;
  }

  // Without `now`, where clients supply the time, nothing is full and nothing has expired.
  void Load(Limiter& limiter, Policies& policies, std::optional<Instant> now) {
    LoadPolicies(policies);
    LimiterRestore restore(limiter.table());
    std::map<LimitId, Limit> live;
    for (const auto& [id, limit] : limits_) {
      const LimitOwner owner = limit.owner();
      const bool has_owner = owner.policy != kNoPolicy && owner != kThrottleOwner;
      if (has_owner && !policies.FindById(owner.policy)) continue;
      EXPECT_TRUE(restore.RestoreLimit(id, limit));
      live.emplace(id, limit);
    }
    LoadHolds(restore, live, now);
    std::map<std::uint16_t, std::vector<LimiterRestore::RestoredBucket>> partitions;
    for (auto record = buckets_.begin(); record != buckets_.end();) {
      const auto& [partition, hash, algorithm, id] = record->first;
      const auto limit = live.find(id);
      const bool known = limit != live.end() && limit->second.shape().algorithm == algorithm;
      if (known && !(now && IsFull(limit->second, record->second, *now))) {
        partitions[partition].push_back({{hash, id}, record->second});
      } else if (!now || algorithm == Algorithm::kSlidingWindow ||
                 !IsTokenBucketFull(record->second, *now)) {
        record = buckets_.erase(record);  // It must not be read as another limit's bucket.
        continue;
      }
      ++record;
    }
    for (const auto& [partition, buckets] : partitions) {
      restore.RestorePartition(partition, buckets, now.value_or(Instant{}));
    }
    restore.ExpireRestored(now);
    restore.EndRestore(generation_);
  }

 private:
  void LoadPolicies(Policies& policies) {
    for (const auto& [id, policy] : policies_) {
      EXPECT_TRUE(!policy || policies.Restore(*policy));
    }
    for (const auto& [name, limits] : overrides_) {
      EXPECT_TRUE(!limits || policies.RestoreOverride(name.first, name.second, *limits));
    }
    policies.RestoreNextId(next_policy_);
  }

  void LoadHolds(LimiterRestore& restore, const std::map<LimitId, Limit>& live,
                 std::optional<Instant> now) {
    for (auto record = holds_.begin(); record != holds_.end();) {
      const auto& [partition, hash, id] = record->first;
      const SavedHold& hold = record->second;
      const bool is_gone = std::ranges::any_of(
          hold.parts, [&](const HoldPart& part) { return !live.contains(part.limit); });
      if (is_gone || (hold.settled && now && hold.expiry <= *now)) {
        record = holds_.erase(record);
        continue;
      }
      EXPECT_TRUE(restore.RestoreHold({hash, partition}, id, hold));
      ++record;
    }
    std::erase_if(sums_, [&](const auto& one) {
      const auto& [partition, hash, id] = one.first;
      return !live.contains(id) || !restore.RestoreSums(partition, {hash, id}, one.second);
    });
  }
  void Clear() {
    buckets_.clear();
    holds_.clear();
    sums_.clear();
  }

  using Name = std::tuple<std::uint16_t, std::uint64_t, Algorithm, LimitId>;
  using HoldName = std::tuple<std::uint16_t, std::uint64_t, std::string>;
  using SumsName = std::tuple<std::uint16_t, std::uint64_t, LimitId>;
  std::map<Name, Bucket> buckets_;
  std::map<HoldName, SavedHold> holds_;
  std::map<SumsName, SettlementSums> sums_;
  std::map<LimitId, Limit> limits_;
  std::map<PolicyId, std::shared_ptr<const Policy>> policies_;
  std::map<std::pair<PolicyId, std::string>, std::shared_ptr<const PolicyLimits>> overrides_;
  TableGeneration generation_{};
  PolicyId next_policy_{};
};

}  // namespace weir
