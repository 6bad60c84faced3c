// Bucket counts of a partition's keys, which tell whether a key has room for more buckets
// (key_bound.h), nearly always without a scan of the slots.
//
// A count of all slots finds the crowded keys, which have more than kCrowded buckets. From then on
// each insert for a crowded key is counted, and erasures are not, so its number is an upper bound.
// Any other key needs at least kKeyBucketsMax - kCrowded more inserts in the partition to reach
// kKeyBucketsMax: then the next count is due. So a count of 2,400 slots serves 768 inserts.
//
// Not thread-safe: the caller holds the partition's lock. Cost: O(1), and Count O(keys). A
// partition that was never counted takes 8 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/table/key_bound.h"

namespace weir {

class CrowdedKeys {
 public:
  static constexpr std::size_t kCrowded = kKeyBucketsMax / 4;
  static_assert(kCrowded < kKeyBucketsMax);
  using Counts = absl::flat_hash_map<std::uint64_t, std::size_t>;  // buckets, by the key's hash

  void CountInsert(std::uint64_t key) {
    if (!counted_) return;
    if (counted_->room > 0) --counted_->room;
    if (const auto found = counted_->crowded.find(key); found != counted_->crowded.end()) {
      ++found->second.most;
      found->second.exact_until = Instant{};  // The new bucket may be full sooner.
    }
  }
  void CountErase() noexcept {
    if (counted_) ++counted_->erasures;
  }

  // Returns whether the key has room for `added` more buckets; nothing if only a new count can
  // tell.
  [[nodiscard]] std::optional<bool> HasRoom(std::uint64_t key, std::size_t added,
                                            Instant now) const {
    if (!counted_) return std::nullopt;
    const auto found = counted_->crowded.find(key);
    if (found == counted_->crowded.end()) {
      return added <= counted_->room ? std::optional(true) : std::nullopt;
    }
    const Key& crowded = found->second;
    WEIR_DCHECK(crowded.most > kCrowded);
    if (crowded.most + added <= kKeyBucketsMax) return true;
    const bool is_exact = now < crowded.exact_until && counted_->erasures == crowded.erasures;
    return is_exact ? std::optional(false) : std::nullopt;
  }

  // Takes the result of a count: the number of buckets of every key in the partition.
  void Count(const Counts& counts) {
    counted_ = std::make_unique<Counted>();
    for (const auto& [key, buckets] : counts) {
      if (buckets > kCrowded) counted_->crowded.emplace(key, Key{.most = buckets});
    }
  }
  // None of the key's buckets is full before `until`, so its number stays exact until then, or
  // until one is inserted or erased. Requires: Count has just found the key to be crowded.
  void SetExact(std::uint64_t key, Instant until) {
    const auto exact = counted_->crowded.find(key);
    WEIR_CHECK(exact != counted_->crowded.end());
    exact->second.exact_until = until;
    exact->second.erasures = counted_->erasures;
  }

 private:
  struct Key {
    std::size_t most = 0;        // buckets, at most
    Instant exact_until{};       // `most` is the number of buckets until then,
    std::uint64_t erasures = 0;  // while Counted::erasures is this
  };
  struct Counted {
    std::size_t room = kKeyBucketsMax - kCrowded;  // inserts before the next count
    std::uint64_t erasures = 0;
    absl::flat_hash_map<std::uint64_t, Key> crowded;
  };

  std::unique_ptr<Counted> counted_;  // null: never counted
};

}  // namespace weir
