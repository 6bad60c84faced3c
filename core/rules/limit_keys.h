// The keys that each limit denies most often: a sketch (top_keys.h) for each of at most
// kSketchedLimitsMax limits, which are known by their names in statistics.
//
//     limit_keys.Add("@free#0", "user:42", hash, partition);               // a denial
//     LimitKeys::Merge(all_threads, "@free#0", 10)                         // its ten rows
//
// A limit gets a sketch at its first denial. If all are taken, a name that is given (a policy's
// limit, a label) takes that of a limit that is spelled out or of a value, and any limit that of
// one that has denied nothing for kIdleTime, or up to twice as long: in both cases of the one that
// has denied nothing for longest. Denials before that are in no row, so that the counts may be too
// low.
//
// Memory: 10 KB for each limit with a sketch, 0.6 MB at most. Cost of an addition: that of a
// TopKeys and a comparison of names, or a look-up if another limit has denied last; for a limit
// without a sketch a look at the clock, and once in kIdleTime a scan of the others. One thread owns
// the object and adds; any thread may clear it and read it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"

#include "core/base/clock.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/rules/top_keys.h"

namespace weir {

inline constexpr std::size_t kSketchedLimitsMax = 64;
// A key with more than 2 / kKeysOfLimitMax of the denials of a limit is always among its rows.
inline constexpr std::size_t kKeysOfLimitMax = 32;

class LimitKeys {
 public:
  static constexpr Nanos kIdleTime = std::chrono::minutes{1};

  // `clock` must outlive the object.
  explicit LimitKeys(const Clock& clock) : clock_(clock) {}
  LimitKeys(const LimitKeys&) = delete;
  LimitKeys& operator=(const LimitKeys&) = delete;

  // Only for the owner. `limit`: the name in statistics. `hash` and `partition`: as in TopKeys.
  void Add(std::string_view limit, std::string_view key, std::uint64_t hash,
           std::uint16_t partition);
  // Empties it for all readers. The owner frees the sketches at the next addition.
  void Clear() noexcept { cleared_.store(true, std::memory_order_relaxed); }

  // --- Any thread ---

  using Threads = std::span<const LimitKeys* const>;
  // The merged rows of one limit, as TopKeys::Merge gives them; none if no thread has its sketch.
  [[nodiscard]] static std::vector<TopKeys::Row> Merge(Threads threads, std::string_view limit,
                                                       std::size_t rows_max);
  // The rows of all sketches, of each thread apart, in no order.
  [[nodiscard]] static std::vector<TopKeys::Row> AllRows(Threads threads);
  // The names of the limits by the hashes of the keys in their sketches, sorted.
  using LimitsOfKeys = absl::flat_hash_map<std::uint64_t, std::vector<std::string>>;
  [[nodiscard]] static LimitsOfKeys ByKey(Threads threads);

 private:
  struct Sketch {
    std::shared_ptr<TopKeys> keys;
    std::uint64_t last_denial = 0;  // the number of all additions at its last one
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept;
  };
  using Sketches = absl::node_hash_map<std::string, Sketch, Hash, std::equal_to<>>;
  using Shown =
      absl::flat_hash_map<std::string, std::shared_ptr<const TopKeys>, Hash, std::equal_to<>>;

  void Forget();
  // Gives the limit a sketch. Returns null if there is none for it now.
  [[nodiscard]] Sketches::value_type* Begin(std::string_view limit);
  [[nodiscard]] bool MakeRoom(bool is_of_clients);
  [[nodiscard]] Sketches::iterator Idlest(bool among_of_clients);
  [[nodiscard]] Shown shown() const;

  const Clock& clock_;
  std::atomic<bool> cleared_{false};
  mutable Mutex mutex_;
  Shown shown_ ABSL_GUARDED_BY(mutex_);  // the same sketches, for readers

  // Only the owner reads and writes these.
  Sketches sketches_;
  Sketches::value_type* last_ = nullptr;  // that of the last addition
  std::size_t of_clients_ = 0;            // sketches of names that clients make
  std::uint64_t additions_ = 0;
  // The number of additions at a time: what has had none since, a kIdleTime later, is idle.
  struct Mark {
    Nanos time;
    std::uint64_t additions;
  };
  std::optional<Mark> mark_;
};

}  // namespace weir
