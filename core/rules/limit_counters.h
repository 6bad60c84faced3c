// Counts how often each limit has admitted and denied.
//
// Each thread has its own table, so that counting is an addition to memory that no other thread
// writes: the owner counts, any thread may read. A limit's counts are found by its name in replies
// and statistics. Bounded: a table has at most kCountedLimitsMax names that are spelled out, as
// many given names, kCountedValuesMax names of values, and the names that already have a row in the
// statistics (LimitTotals gives rows). All further names are counted together under kOtherLimits.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"

#include "core/base/counter.h"
#include "core/base/mutex.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"

namespace weir {

inline constexpr std::size_t kCountedLimitsMax = 4096;  // without those of values
inline constexpr std::size_t kCountedValuesMax = 1024;
inline constexpr std::string_view kOtherLimits = "(others)";
// The name of CL.THROTTLE's limits, which has a row from the start.
inline constexpr std::string_view kThrottleName = "cl.throttle";

// True for the text of a limit: "10/s", "5,held". Clients can write as many of these as they like.
// False for a name that is given: "@policy#0", a label, kThrottleName; labels have neither slashes
// nor commas.
[[nodiscard]] inline bool IsSpelledOut(std::string_view name) noexcept {
  return !name.starts_with('@') && name.find_first_of("/,") != std::string_view::npos;
}

// The kinds of names, those first that get rows first. A name of a value has a value that a client
// has sent: "@rls:shop.user=7#0". Names of policies have no "=".
enum class NameKind : std::uint8_t { kGiven, kSpelledOut, kOfValue };
inline constexpr std::size_t kNameKinds = 3;
[[nodiscard]] inline NameKind KindOf(std::string_view name) noexcept {
  if (IsSpelledOut(name)) return NameKind::kSpelledOut;
  const bool has_value = name.starts_with('@') && name.find('=') != std::string_view::npos;
  return has_value ? NameKind::kOfValue : NameKind::kGiven;
}

// The names that have a row, each with its place: the number of rows that were given before.
struct LimitPlaces {
  absl::flat_hash_map<std::string, std::size_t> by_name;
  std::size_t of_values = 0;

  // The rows that names of this kind may still get. Those of values have rows of their own.
  [[nodiscard]] std::size_t Free(NameKind kind) const noexcept {
    return kind == NameKind::kOfValue ? kCountedValuesMax - of_values
                                      : kCountedLimitsMax - (by_name.size() - of_values);
  }
  void Give(const std::string& name) {
    by_name.emplace(name, by_name.size());
    if (KindOf(name) == NameKind::kOfValue) ++of_values;
  }
};
[[nodiscard]] std::shared_ptr<const LimitPlaces> FirstPlaces();

// The counts of one limit. A limit that would admit a request counts nothing if another limit
// denies it.
struct LimitCounters {
  Counter allowed;         // admitted, and the request passed
  Counter denied;          // denied the request
  Counter shadow_denied;   // would have denied it
  Counter near_limit;      // those of `allowed` that left at least 80 % of the limit in use
  Counter bans;            // denials of either kind that shut the limit
  Counter charged_beyond;  // charges of tokens that were not there

  using Totals = std::array<std::uint64_t, 6>;
  static constexpr std::array<const char*, 6> kNames = {"allowed",    "denied", "shadow_denied",
                                                        "near_limit", "bans",   "charged_beyond"};
  [[nodiscard]] Totals totals() const noexcept {
    return {allowed.value(),    denied.value(), shadow_denied.value(),
            near_limit.value(), bans.value(),   charged_beyond.value()};
  }
  void Add(const LimitCounters& other) noexcept;
};

// Counts the decision of a limit. `taken`: the request has taken its tokens, as it does if it
// passes, and in a charge. Returns whether it counts as near the limit. Only for the thread that
// owns `counts`.
inline bool CountDecision(LimitCounters& counts, const Limit& limit, const Decision& decision,
                          bool taken) noexcept {
  constexpr std::int64_t kNearFraction = 5;  // a fifth is left: 80 % is in use
  if (!decision.allowed) {
    Counter& count = limit.shape().shadow ? counts.shadow_denied : counts.denied;
    count.Add();
    return false;
  }
  if (!taken) return false;
  counts.allowed.Add();
  if (decision.remaining > limit.capacity_tokens() / kNearFraction) return false;
  counts.near_limit.Add();
  return true;
}

// Remembers the counts of a name, which saves the search until the table's names change.
struct CountersHint {
  LimitCounters* counts = nullptr;
  std::uint64_t version = 0;
};

// The counts of one thread, by name, since the last reset.
class LimitCounterTable {
 public:
  // Returns the counts of a name, which live until the next call. Only for the owning thread.
  // Cost: a comparison if `hint` has the counts, else a search under a mutex.
  [[nodiscard]] LimitCounters& Of(std::string_view name, CountersHint& hint) {
    const std::uint64_t version = version_.load(std::memory_order_relaxed);
    if (!hint.counts || hint.version != version) hint = {Find(name), version};
    return *hint.counts;
  }

  // Calls visit(name, counts, first_use) for each name, in no order. The name that was counted
  // earlier, on any thread, has the smaller `first_use`. For any thread.
  using Visit = std::function<void(const std::string&, const LimitCounters&, std::uint64_t)>;
  void ForEach(const Visit& visit) const;

  // Counts these names one by one from now on, however many others there are. Counts no other name
  // alone of a kind for which no row is free. Requires: the names include those of the last call.
  // For any thread.
  void Keep(const std::shared_ptr<const LimitPlaces>& kept);

  // Forgets all counts. ForEach visits none from now on; the owning thread, which alone may free
  // them, does so when it counts next. For any thread.
  void Reset();

 private:
  struct Entry {
    LimitCounters counts;
    std::uint64_t first_use = 0;
  };

  [[nodiscard]] LimitCounters* Find(std::string_view name);
  void DropNames() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool HasPlace(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  static std::atomic<std::uint64_t> uses_;  // the first uses of names in all tables

  std::atomic<std::uint64_t> version_{0};  // changes with what other threads set below
  mutable Mutex mutex_;                    // guards the map; a name's counts need no lock
  bool is_reset_ ABSL_GUARDED_BY(mutex_) = false;
  // Names beside those of `kept_` are to be dropped, of kinds for which no row is free.
  bool is_full_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const LimitPlaces> kept_ ABSL_GUARDED_BY(mutex_) = FirstPlaces();
  std::array<std::size_t, kNameKinds> names_ ABSL_GUARDED_BY(mutex_) = {};  // of each kind
  absl::node_hash_map<std::string, Entry> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
