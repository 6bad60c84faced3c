// The overrides of one policy: a map from an exact key to the limits that it has instead.
//
// All versions of a policy share one such object (policy.h), so a thread that remembers a policy
// finds its present overrides. Thread-safe. Cost of a look-up: a mutex, and a search in a tree.
//
// Servers copy overrides to each other by partitions of their keys. Such a partition is not that of
// the key's buckets: it is the same on every server, whatever secret hashes the keys of its table.
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
#include "core/words/policy.h"

namespace weir {

// The partition of an override; below kPartitionCount.
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
  // The first kCopiedAtOnce behind the key `after`, or of all, sorted by key: some 100 us, so that
  // no Find waits for long. The last ones are fewer.
  static constexpr std::size_t kCopiedAtOnce = 1024;
  [[nodiscard]] std::vector<Entry> Some(const std::optional<std::string>& after) const;
  // All, as Some() copies them: of changes that are made meanwhile it has some.
  [[nodiscard]] std::vector<Entry> All() const;

  // Those of one partition, sorted by key. Cost: O(their number).
  [[nodiscard]] std::vector<Entry> In(std::uint16_t partition) const;

  // Collects the keys that Set and Remove change while it exists. Any thread may use it.
  class Watcher {
   public:
    // The overrides must outlive the watcher.
    explicit Watcher(Overrides& overrides);
    ~Watcher();
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    // The keys since the last call, in the order of their changes.
    [[nodiscard]] std::vector<std::string> Take();

   private:
    friend class Overrides;
    Overrides& overrides_;
    std::vector<std::string> keys_ ABSL_GUARDED_BY(overrides_.mutex_);
  };

 private:
  // Requires: the mutex is locked. It is that of each watcher's keys, too.
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
