// Counts calls of Envoy's rate limit service and loads of its rules, for INFO and metrics.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

// The calls about one domain since the start, and their descriptors that no rule has matched.
struct RlsDomainCounts {
  std::atomic<std::uint64_t> ok{0};
  std::atomic<std::uint64_t> over_limit{0};
  std::atomic<std::uint64_t> no_match{0};
};

// Why calls were answered an error. One that is too long is answered that it is over the limit.
enum class RlsError : std::uint8_t {
  kInvalid,
  kPermission,
  kExhausted,
  kUnavailable,
  kUnauthenticated,
  kTooLong
};
// Where the rules that were loaded last are from: files, a control plane, or its last response to
// an earlier run.
enum class RulesFrom : std::uint8_t { kNone, kFiles, kXds, kXdsSaved };
inline constexpr auto kRulesFromNames =
    std::to_array<std::string_view>({"none", "files", "xds", "xds-saved"});

inline constexpr auto kRlsErrorNames =
    std::to_array<std::string_view>({"invalid_argument", "permission_denied", "resource_exhausted",
                                     "unavailable", "unauthenticated", "too_long"});

class RlsCounters {
 public:
  // The domains that have counts of their own, of all loads.
  static constexpr std::size_t kDomainsMax = 10'000;

  // Since the start: calls that were decided, and those of them that were over a limit.
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> over_limit{0};

  void CountError(RlsError why) noexcept {
    errors_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t errors(RlsError why) const noexcept {
    return errors_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t errors() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& errors : errors_) sum += errors.load(std::memory_order_relaxed);
    return sum;
  }

  // The counts of a domain of the rules, which stay valid. Beyond kDomainsMax those of all others.
  [[nodiscard]] RlsDomainCounts& OfDomain(std::string_view domain) {
    MutexLock lock(mutex_);
    const auto found = domains_.find(domain);
    if (found != domains_.end()) return found->second;
    return domains_.size() < kDomainsMax ? domains_[std::string(domain)] : others;
  }
  // Calls visit(domain, counts) for each domain that has counts of its own.
  template <typename Visit>
  void ForEachDomain(const Visit& visit) const {
    MutexLock lock(mutex_);
    for (const auto& [domain, counts] : domains_) visit(domain, counts);
  }
  RlsDomainCounts others;   // of the domains of rules that have none of their own
  RlsDomainCounts unknown;  // of domains that no rule has

  // The policies of the rules are made, on a primary.
  std::atomic<bool> in_force{false};
  std::atomic<RulesFrom> from{RulesFrom::kNone};
  // The rules that were loaded, and the loads since the start, the first one included.
  std::atomic<std::uint64_t> domains{0};
  std::atomic<std::uint64_t> rules{0};
  std::atomic<std::uint64_t> loads{0};
  std::atomic<std::uint64_t> load_errors{0};

  // Why the last load has failed, or else why its rules are not in force; empty if neither.
  [[nodiscard]] std::string load_error() const {
    MutexLock lock(mutex_);
    return load_error_;
  }
  void set_load_error(std::string error) {
    MutexLock lock(mutex_);
    load_error_ = std::move(error);
  }

 private:
  std::array<std::atomic<std::uint64_t>, kRlsErrorNames.size()> errors_{};
  mutable Mutex mutex_;
  std::map<std::string, RlsDomainCounts, std::less<>> domains_ ABSL_GUARDED_BY(mutex_);
  std::string load_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
