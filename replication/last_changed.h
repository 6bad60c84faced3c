// The offsets up to which a history may have changed each partition, and each policy: the end of
// the last numbered frame about it. 0: not at all. 32 KiB, and 16 bytes for each policy that has
// changed in this history. Not thread-safe.
//
// A primary's is exact. A replica's is an upper bound, as a copy or a SKIP tells no more. So a
// replica that is promoted can bring others up to date that have less than it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"

#include "core/policies/policies.h"
#include "core/table/key_hash.h"
#include "core/table/partition_set.h"

namespace weir {

class LastChanged {
 public:
  // `offset`: of all partitions.
  explicit LastChanged(std::uint64_t offset = 0) noexcept { offsets_.fill(offset); }

  void Raise(std::size_t partition, std::uint64_t offset) noexcept {
    offsets_.at(partition) = std::max(offsets_.at(partition), offset);
  }
  void Raise(const PartitionSet& partitions, std::uint64_t offset) noexcept {
    partitions.ForEach([&](std::size_t partition) { Raise(partition, offset); });
  }
  [[nodiscard]] std::uint64_t Of(std::size_t partition) const noexcept {
    return offsets_.at(partition);
  }

  // The partitions that a table as of `offset` may lack changes of. About 2 us.
  [[nodiscard]] PartitionSet Since(std::uint64_t offset) const noexcept {
    PartitionSet changed;
    for (std::size_t word = 0; word < PartitionSet::kWords; ++word) {
      std::uint64_t bits = 0;
      for (std::size_t bit = 0; bit < 64; ++bit) {
        bits |= static_cast<std::uint64_t>(offsets_[64 * word + bit] > offset) << bit;
      }
      changed.AddWord(word, bits);
    }
    return changed;
  }

 private:
  std::array<std::uint64_t, kPartitionCount> offsets_;
};

// The offsets of policies. Overrides belong to partitions, so they do not count here.
class PoliciesChanged {
 public:
  // `offset`: of all policies, also of those that are gone.
  explicit PoliciesChanged(std::uint64_t offset = 0) noexcept : floor_(offset), newest_(offset) {}

  void Raise(PolicyId policy, std::uint64_t offset) {
    newest_ = std::max(newest_, offset);
    offsets_[policy] = offset;
    if (offsets_.size() <= kCountMax) return;
    offsets_.clear();  // Most of them are gone.
    floor_ = newest_;
  }
  // The latest change of any policy.
  [[nodiscard]] std::uint64_t newest() const noexcept { return newest_; }
  [[nodiscard]] std::uint64_t Of(PolicyId policy) const {
    const auto found = offsets_.find(policy);
    return found == offsets_.end() ? floor_ : found->second;
  }

 private:
  static constexpr std::size_t kCountMax = 2 * kAllPoliciesMax;

  std::uint64_t floor_;
  std::uint64_t newest_;
  absl::flat_hash_map<PolicyId, std::uint64_t> offsets_;
};

}  // namespace weir
