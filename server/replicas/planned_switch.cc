#include "server/replicas/planned_switch.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

bool IsAskedFor(const FailoverRequest& request, const ReplicaStatus& replica) {
  return !request.to || *request.to == HostAndPort{replica.ip, replica.port};
}

}  // namespace

std::string FailoverError(const FailoverRequest& request, std::span<const ReplicaStatus> replicas) {
  if (replicas.empty()) return "ERR FAILOVER requires connected replicas.";
  if (request.force && !(request.timeout && request.to)) {
    return "ERR FAILOVER with force option requires both a timeout and target HOST and IP.";
  }
  if (!request.to) return {};
  const auto target = std::ranges::find_if(
      replicas, [&](const ReplicaStatus& replica) { return IsAskedFor(request, replica); });
  if (target == replicas.end()) return "ERR FAILOVER target HOST and PORT is not a replica.";
  return target->online ? std::string() : "ERR FAILOVER target replica is not online.";
}

PlannedSwitch::PlannedSwitch(FailoverRequest request, HostInstant now)
    : request_(std::move(request)),
      begun_(now),
      deadline_(now + request_.timeout.value_or(kFailoverTime)) {}

// Replicas that can save come first, then those that have answered, then those with the greatest
// offset.
std::tuple<bool, bool, std::uint64_t> PlannedSwitch::Rank(const ReplicaStatus& replica,
                                                          HostInstant now) const {
  return {!replica.cannot_save, is_there(replica, now), replica.offset};
}

PlannedSwitch::Step PlannedSwitch::Next(std::span<const ReplicaStatus> replicas, std::uint64_t head,
                                        HostInstant now) const {
  const ReplicaStatus* best = nullptr;
  for (const ReplicaStatus& replica : replicas) {
    if (!replica.synced || !IsAskedFor(request_, replica)) continue;
    if (!best || Rank(replica, now) > Rank(*best, now)) best = &replica;
  }
  const bool is_close = best && !best->cannot_save && is_there(*best, now) &&
                        head - std::min(best->offset, head) <= kCloseBytes;
  const bool is_late = now >= deadline_;
  if (is_close || (best && is_late && request_.force)) {
    return {.what = What::kYield, .target = *best};
  }
  if (!is_late) return {};
  const char* const reason = !best               ? "no replica has the whole state"
                             : best->cannot_save ? "the replica cannot save to its disk"
                                                 : "the replica still lags";
  return {.what = What::kGiveUp, .reason = reason};
}

}  // namespace weir
