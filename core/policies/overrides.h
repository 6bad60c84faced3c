// The overrides of one policy: a map from an exact key to the limits that it has instead.
//
// All versions of a policy share one such object (policy.h), so a thread that remembers a policy
// finds its present overrides. Thread-safe. Cost of a look-up: a mutex, and a search in a tree.
//
// Servers copy overrides to each other by partitions of their keys. This partition is not that of
// the key's buckets: it is the same on every server, whatever secret hashes the keys of the
// server's table.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"

#include "core/base/mutex.h"
#include "core/policies/policy.h"

namespace weir {

// Returns the partition of an override; below kPartitionCount.
[[nodiscard]] std::uint16_t PartitionOfOverride(std::string_view key);

class Overrides {
 public:
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  // The key's limits, or null.
  [[nodiscard]] std::shared_ptr<const PolicyLimits> Find(std::string_view key) const;

  // Returns true if the key had none before.
  bool Set(std::string_view key, std::shared_ptr<const PolicyLimits> limits);
  // Returns true if the key had some.
  bool Remove(std::string_view key);

  // Sorted.
  [[nodiscard]] std::vector<std::string> Keys() const;

  // Removes all; returns their keys.
  std::vector<std::string> Clear();

  // Calls visit(key, limits) for each, sorted by key, until it returns false; holds the lock.
  void ForEach(const std::function<bool(const std::string&, const PolicyLimits&)>& visit) const;

  using Entry = std::pair<std::string, std::shared_ptr<const PolicyLimits>>;
  // Returns the first kCopiedAtOnce overrides behind the key `after` (nothing: the first of all),
  // sorted by key; if they are fewer, they are the last ones. Cost: some 100 us, so that no Find
  // waits for long.
  static constexpr std::size_t kCopiedAtOnce = 1024;
  [[nodiscard]] std::vector<Entry> Some(const std::optional<std::string>& after) const;
  // Returns the first override behind the key `after` (nothing: the first of all), or nothing.
  [[nodiscard]] std::optional<Entry> Next(const std::optional<std::string>& after) const;
  // Returns all overrides, as Some() copies them. It may have some of the changes that are made
  // meanwhile.
  [[nodiscard]] std::vector<Entry> All() const;

  // Returns the overrides of one partition, sorted by key. Cost: O(their number).
  [[nodiscard]] std::vector<Entry> In(std::uint16_t partition) const;

  // Collects the keys that Set and Remove change while it exists. Any thread may use it.
  class Watcher {
   public:
    // The overrides must outlive the watcher.
    explicit Watcher(Overrides& overrides);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    // Returns the keys that have changed since the last call, in the order of their changes.
    [[nodiscard]] std::vector<std::string> Take();

   private:
    friend class Overrides;
    Overrides& overrides_;
    std::vector<std::string> keys_ ABSL_GUARDED_BY(overrides_.mutex_);
  };

 private:
  // Requires: the mutex is locked. The mutex guards the keys of each watcher, too.
  void Tell(std::string_view key) ABSL_NO_THREAD_SAFETY_ANALYSIS;

  using Place = std::pair<std::uint16_t, std::string_view>;  // partition and key

  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<const PolicyLimits>, std::less<>> limits_
      ABSL_GUARDED_BY(mutex_);
  absl::btree_set<Place> places_ ABSL_GUARDED_BY(mutex_);  // of the keys in limits_
  std::vector<Watcher*> watchers_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::size_t> size_{0};
};

}  // namespace weir
