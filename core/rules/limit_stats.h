// How often each limit has said yes and no.
//
// One object a thread, so that counting is an addition to memory of its own: the thread that owns
// it counts, any thread may read. Limits go by the names that replies and statistics call them by.
// Bounded: what comes after kCountedLimitsMax names is counted together, under kOtherLimits.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_map.h"

#include "core/base/counter.h"
#include "core/base/mutex.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"

namespace weir {

inline constexpr std::size_t kCountedLimitsMax = 4096;
inline constexpr std::string_view kOtherLimits = "(others)";

// Of one limit. A request that another limit denied counts for none that would have admitted.
struct LimitCounts {
  Counter allowed;        // admitted, and the request passed
  Counter denied;         // said no
  Counter shadow_denied;  // would have said no
  Counter near_limit;     // of the allowed: after them at least 80 % of the limit were in use
};

// Counts what a limit said in a request that passed, or not. For the thread that owns `counts`.
void CountDecision(LimitCounts& counts, const Limit& limit, const Decision& decision,
                   bool request_passed) noexcept;

// The counts of one thread, by name.
class LimitStats {
 public:
  // The counts of a name, which live as long as this object. For the owning thread.
  [[nodiscard]] LimitCounts* Of(std::string_view name);

  // Calls visit(name, counts) for each name, in no order. For any thread.
  void ForEach(const std::function<void(const std::string&, const LimitCounts&)>& visit) const;

 private:
  mutable Mutex mutex_;  // of the map; a name's counts need none
  absl::node_hash_map<std::string, LimitCounts> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
