// The module as a host of the commands that limit.
//
// Policies are not keys, so a cluster does not spread them: each primary needs the command
// (docs/scale-out.md). A change of a policy is replicated as the command that made it. Buckets are
// replicated by KeyLimiter. Redis runs commands one at a time, and measures and bounds them itself,
// so nothing here isolates or charges.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/commands/limit_commands.h"
#include "core/commands/limit_handlers.h"
#include "module/api/wall_time.h"
#include "module/handlers/call.h"
#include "module/handlers/key_limiter.h"
#include "module/handlers/wait.h"

namespace weir {

class LimitHost {
 public:
  static constexpr std::string_view kNoExplicitTime =
      "AT needs a module that was loaded with allow-explicit-time";

  explicit LimitHost(Call& call) : call_(call) {}

  std::span<const std::string_view> arguments() const { return call_.arguments(); }
  KeyHashes key_hashes() const { return KeyHashes(TheModule().hasher); }  // for RL.TOP
  RedisReply& reply() { return call_.reply; }
  void Fail(const absl::Status& status) { call_.Fail(status); }

  Module& thread() const { return TheModule(); }
  Module& shared() const { return TheModule(); }
  std::vector<RequestCounters*> AllCounters() { return {&TheModule().request_counters}; }
  std::span<const CommandSpec> commands() const { return rows::kLimitCommands; }

  Instant now() const { return WallTime(); }
  KeyLimiter limiter() { return {TheModule(), call_}; }
  bool RefusedUnsaved(const Request& /*request*/, Instant /*at*/) { return false; }
  bool MayLookAt(std::span<const std::string_view> /*keys*/) { return true; }
  void MarkDirty() {}
  void Charge(std::size_t /*units*/) {}

  static constexpr bool TakesVerdict(const ParsedRequest& /*request*/, std::int64_t /*first*/,
                                     const Verdict& /*verdict*/) {
    return false;
  }

  // Holds are not replicated yet, so the module has none.
  void Hold(const ParsedRequest& /*request*/) { Fail(NoHolds()); }
  void InspectHolds() { Fail(NoHolds()); }

  bool may_wait() const {
    return (redis::GetContextFlags(call_.context) & redis::kDenyBlocking) == 0;
  }
  void Wait(const ParsedRequest& request, Reservation reservation) {
    WaitFor(call_, request, std::move(reservation));
  }

  auto Isolated(auto change) { return change(); }
  auto Isolated(std::span<const std::string_view> /*keys*/, auto change) { return change(); }
  // The policy's buckets stay in the keys, where they count as full, and go with the next change.
  void ForgetPolicy(PolicyId /*policy*/) { TheModule().policies.FreeDeleted(); }
  absl::Status ReloadPolicies() {
    return absl::UnimplementedError(
        "there is no policy file: the module keeps its policies with the data");
  }
  void MarkPoliciesDirty(bool changed) {
    if (changed) redis::ReplicateVerbatim(call_.context);
  }

 private:
  static absl::Status NoHolds() {
    return absl::UnimplementedError("the module has no holds: they need weir-server");
  }

  Call& call_;
};

static_assert(HostsLimits<LimitHost>);
template class LimitHandlers<LimitHost>;

}  // namespace weir
