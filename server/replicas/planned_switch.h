// A planned switch that waits for its replica: which one takes over, and when. A decision about
// values; pure, not thread-safe.
//
// The replica must be able to save, lack at most the last kCloseBytes, and have said so since the
// switch began. So clients are paused only for the few milliseconds in which it gets the rest.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>

#include "core/base/instant.h"
#include "server/state/replication.h"

namespace weir {

// The timeout of a FAILOVER that names none.
inline constexpr Nanos kFailoverTime = std::chrono::seconds{10};

inline constexpr std::uint64_t kCloseBytes = std::uint64_t{256} << 10;

// The error if these replicas do not let the switch begin, in the words of Redis; or an empty text.
[[nodiscard]] std::string FailoverError(const FailoverRequest& request,
                                        std::span<const ReplicaStatus> replicas);

class PlannedSwitch {
 public:
  PlannedSwitch(FailoverRequest request, HostInstant now);

  enum class What { kWait, kYield, kGiveUp };
  struct Step {
    What what = What::kWait;
    ReplicaStatus target{};  // of kYield
    std::string reason{};    // of kGiveUp: a phrase
  };
  // The next step. `head`: the primary's offset. A replica that lacks partitions is never chosen,
  // not even with `force`: it would forget them. A replica that lags, or cannot save, is chosen
  // only with `force`: with `--durability always` one that cannot save would refuse changes.
  [[nodiscard]] Step Next(std::span<const ReplicaStatus> replicas, std::uint64_t head,
                          HostInstant now) const;

 private:
  // True if the replica has answered since the switch began.
  [[nodiscard]] bool is_there(const ReplicaStatus& replica, HostInstant now) const {
    return replica.lag <= now - begun_;
  }
  [[nodiscard]] std::tuple<bool, bool, std::uint64_t> Rank(const ReplicaStatus& replica,
                                                           HostInstant now) const;

  FailoverRequest request_;
  HostInstant begun_;
  HostInstant deadline_;
};

}  // namespace weir
