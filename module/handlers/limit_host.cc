// The module as a host of the commands that limit.
//
// Policies are not keys, so a cluster does not spread them: each primary needs the command
// (docs/scale-out.md). A change of a policy is replicated as the command that made it. Buckets are
// replicated by KeyLimiter. Redis runs commands one at a time, and measures and bounds them itself,
// so nothing here isolates or charges.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/commands/decision_events.h"
#include "core/commands/hold_handlers.h"
#include "core/commands/limit_handlers.h"
#include "core/commands/policy_handlers.h"
#include "module/api/wall_time.h"
#include "module/handlers/call.h"
#include "module/handlers/command_table.h"
#include "module/handlers/key_limiter.h"
#include "module/handlers/trim.h"
#include "module/handlers/wait.h"

namespace weir {

// public-functions: 37, what the handlers of both hosts ask for.
class LimitHost {
 public:
  static constexpr std::string_view kNoExplicitTime =
      "AT needs a module that was loaded with allow-explicit-time";

  explicit LimitHost(Call& call) : call_(call) {}

  std::span<const std::string_view> arguments() const { return call_.arguments(); }
  // The hashes of keys are for RL.TOP, and for comparisons within a request.
  KeyHashes key_hashes() const { return {TheModule().hasher, TheModule().word_hasher}; }
  RedisReply& reply() { return call_.reply; }
  void Fail(const absl::Status& status) { call_.Fail(status); }
  void ReplyError(std::string_view error) { call_.reply.Error(std::string(error)); }

  Module& thread() const { return TheModule(); }
  Module& shared() const { return TheModule(); }
  std::vector<RequestCounters*> AllCounters() { return {&TheModule().request_counters}; }
  std::span<const CommandSpec> commands() const { return ClientCommands(); }

  Instant now() const { return WallTime(); }
  KeyLimiter limiter() { return {TheModule(), call_}; }
  bool RefusedUnsaved(const Request& /*request*/, Instant /*at*/) { return false; }
  bool MayLookAt(std::span<const std::string_view> /*keys*/, KeyWork /*work*/) { return true; }
  // The limiter opens the keys of a request together, and bounds what it settles then.
  static bool has_open_holds() { return false; }
  static absl::Status ExpireAhead(std::span<const KeyHash> /*keys*/, Instant /*at*/) {
    return absl::OkStatus();
  }
  void MarkDirty() {}
  void Charge(std::size_t /*units*/) {}

  static constexpr bool TakesVerdict(const ParsedRequest& /*request*/, std::int64_t /*first*/,
                                     const Verdict& /*verdict*/) {
    return false;
  }

  static constexpr bool TakesSettled(const ParsedSettlement& /*request*/,
                                     const Settled& /*settled*/,
                                     std::span<const AskedLimit> /*limits*/) {
    return false;
  }

  // The host does not say whether a client listens, so only what is rare is found out: a denial
  // is an event once an interval, and percentages are a few comparisons.
  static constexpr bool has_listeners() { return true; }
  EventTerms event_terms() const {
    return {.now = now(),
            .interval = shared().options.notify_interval,
            .percents = shared().options.notify_at};
  }
  void PublishEvents() {
    if (!thread().events.has_any()) return;
    for (const DecisionEvent& event : thread().events.Take()) {
      const auto made = [&](std::string_view text) {
        return redis::CreateString(call_.context, text.data(), text.size());
      };
      redis::String* const channel = made(event.channel());
      redis::String* const message = made(event.message);
      redis::PublishMessage(call_.context, channel, message);
      redis::FreeString(call_.context, channel);
      redis::FreeString(call_.context, message);
    }
  }

  void Hold(const ParsedRequest& request) { HoldHandlers<LimitHost>::Hold(*this, request); }
  void InspectHolds() { HoldHandlers<LimitHost>::InspectHolds(*this); }

  Nanos slice_life() const { return shared().options.slice_life; }
  std::uint64_t operator_changes() const { return shared().operator_changes(); }

  bool may_wait() const {
    return (redis::GetContextFlags(call_.context) & redis::kDenyBlocking) == 0;
  }
  void Wait(const ParsedRequest& request, Reservation reservation) {
    WaitFor(call_, request, std::move(reservation));
  }

  auto Isolated(auto change) { return change(); }
  auto Isolated(std::span<const std::string_view> /*keys*/, auto change) { return change(); }
  // The policy's buckets stay in the keys, where they count as full, and go with the next change.
  void ForgetPolicy(PolicyId /*policy*/) {
    TheModule().policies.FreeDeleted();
    MarkPoliciesDirty(true);
    reply().SimpleString("OK");
  }
  void LogTrimmed(std::string_view policy, std::size_t buckets) {
    if (buckets > 0) weir::LogTrimmed(call_.context, policy, buckets);
  }
  void Trim(std::shared_ptr<const Policy> before, std::shared_ptr<const Policy> after) {
    MarkPolicySet(call_.arguments().size() - 1);
    TrimPolicy(call_, std::move(before), std::move(after));
  }
  void ReloadPolicies() {
    Fail(absl::UnimplementedError(
        "there is no policy file: the module keeps its policies with the data"));
  }
  void MarkPoliciesDirty(bool changed) {
    if (changed) redis::ReplicateVerbatim(call_.context);
  }
  void MarkPolicySet(std::size_t arguments) {
    const std::span<redis::String*> words = call_.names.subspan(1, 1 + arguments);  // from SET on
    redis::Replicate(call_.context, "RL.POLICY", "v", words.data(), words.size());
  }

 private:
  Call& call_;
};

static_assert(HostsHolds<LimitHost>);
template class LimitHandlers<LimitHost>;
template class HoldHandlers<LimitHost>;

}  // namespace weir
