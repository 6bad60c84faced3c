// Counts calls of Envoy's rate limit service under the names that envoyproxy/ratelimit has
// (rls/reference_name.h), for rls-metrics=reference.
//
//     ReferenceCounts& counts = counters.Of("shop.user", /*is_of_value=*/false);
//     counts.total_hits.fetch_add(3, std::memory_order_relaxed);
//
// Bounded: the first names have counts of their own, and so do as many names that have values of
// clients, and as many unknown domains. All later ones are counted together. Nothing is forgotten,
// so no count ever falls.
//
// Thread-safe. Cost: a lock and a look-up; Of() gives what stays valid, so that a rule asks once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

// Sums of the hits of descriptors, those of calls that charge nothing included.
struct ReferenceCounts {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"total_hits", "over_limit", "near_limit", "within_limit", "shadow_mode"});
  using Totals = std::array<std::uint64_t, kNames.size()>;

  std::atomic<std::uint64_t> total_hits{0};
  std::atomic<std::uint64_t> over_limit{0};
  std::atomic<std::uint64_t> near_limit{0};  // beyond four fifths of the limit
  std::atomic<std::uint64_t> within_limit{0};
  std::atomic<std::uint64_t> shadow_mode{0};  // of shadows that are over their limit

  [[nodiscard]] Totals totals() const noexcept {
    return {total_hits.load(), over_limit.load(), near_limit.load(), within_limit.load(),
            shadow_mode.load()};
  }
};

class ReferenceCounters {
 public:
  static constexpr std::string_view kOthers = "(others).(others)";
  static constexpr std::string_view kOtherDomains = "_others_";

  // `names_max`: of each kind.
  explicit ReferenceCounters(std::size_t names_max) : names_max_(names_max) {}

  // The counts of a name, or of kOthers. They stay valid.
  [[nodiscard]] ReferenceCounts& Of(std::string_view name, bool is_of_value) {
    MutexLock lock(mutex_);
    if (const auto known = names_.find(name); known != names_.end()) return known->second;
    std::size_t& names = is_of_value ? value_names_ : own_names_;
    if (names >= names_max_) return names_[std::string(kOthers)];
    ++names;
    return names_[std::string(name)];
  }

  // Counts descriptors of a domain that no rule has, by the name that metrics have for it.
  void CountUnknownDomain(std::string_view domain, std::uint64_t descriptors) {
    MutexLock lock(mutex_);
    auto known = unknown_domains_.find(domain);
    if (known == unknown_domains_.end()) {
      if (unknown_domains_.size() >= names_max_) domain = kOtherDomains;
      known = unknown_domains_.try_emplace(std::string(domain), 0).first;
    }
    known->second += descriptors;
  }

  // Copies, as of now. Cost: about 100 ns a name under the lock.
  [[nodiscard]] std::map<std::string, ReferenceCounts::Totals> Names() const {
    std::map<std::string, ReferenceCounts::Totals> totals;
    MutexLock lock(mutex_);
    for (const auto& [name, counts] : names_)
      totals.emplace_hint(totals.end(), name, counts.totals());
    return totals;
  }
  [[nodiscard]] std::map<std::string, std::uint64_t, std::less<>> UnknownDomains() const {
    MutexLock lock(mutex_);
    return unknown_domains_;
  }

  // Calls that were over their limits, and that rls-shadow has answered OK.
  std::atomic<std::uint64_t> shadowed_calls{0};

 private:
  const std::size_t names_max_;
  mutable Mutex mutex_;
  std::size_t own_names_ ABSL_GUARDED_BY(mutex_) = 0;
  std::size_t value_names_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, ReferenceCounts, std::less<>> names_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t, std::less<>> unknown_domains_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
