// The server as a host of the RL.* commands (core/commands/limit_host.h).
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/commands/decision_events.h"
#include "core/commands/hold_handlers.h"
#include "core/commands/limit_handlers.h"
#include "core/commands/policy_handlers.h"
#include "core/limiter/isolation.h"
#include "core/limiter/policy_trim.h"
#include "core/words/request.h"
#include "server/commands/command_table.h"
#include "server/handlers/aside_waiter.h"
#include "server/handlers/trim_waiter.h"
#include "server/health/add_event.h"
#include "server/session/call.h"
#include "server/session/verdict_reader.h"
#include "server/session/waiter.h"

namespace weir {
namespace {

// The limiter, with the limits that a request introduces counted for one user.
class UserLimiter {
 public:
  UserLimiter(Services& services, Introducer user) : services_(services), user_(user) {}

  absl::StatusOr<Verdict> Decide(const Request& request, Instant now) {
    return services_.limiter.Decide(request, now, user_);
  }
  Verdict Peek(const Request& request, Instant now) { return services_.limiter.Peek(request, now); }
  absl::StatusOr<Grant> Take(const Request& request, std::int64_t upto, Instant now) {
    return services_.limiter.Take(request, upto, now, user_);
  }
  absl::StatusOr<Charged> Charge(const Request& request, Instant now) {
    return services_.limiter.Charge(request, now, user_);
  }
  Verdict Refund(const Request& request, Instant now) {
    return services_.limiter.Refund(request, now);
  }
  absl::StatusOr<Admission> Reserve(const Request& request, Nanos patience, Instant now) {
    return services_.limiter.Reserve(request, patience, now, user_);
  }
  absl::StatusOr<Grant> DecideAndHold(const Request& request, HoldRequest hold, Instant now) {
    hold.user = user_;
    return services_.limiter.DecideAndHold(request, hold, now, user_);
  }
  absl::StatusOr<SliceGrant> Slice(const Request& request, SliceRequest slice, Instant now) {
    slice.user = user_;
    return services_.limiter.Slice(request, slice, now, user_);
  }
  absl::StatusOr<Settled> SettleHold(const SettleRequest& request, Instant now) {
    return services_.limiter.SettleHold(request, now,
                                        [&](const Limit& limit, std::string_view key) {
                                          return services_.policies.PresentLimit(limit, key);
                                        });
  }
  std::vector<LiveHold> InspectHolds(std::string_view key, Instant now) {
    return services_.limiter.InspectHolds(
        key, now, [&](const Limit& limit) { return services_.policies.PresentLimit(limit, key); });
  }
  std::size_t Reset(std::string_view key, std::span<const Limit> limits, Instant now) {
    return services_.limiter.Reset(key, limits, now);
  }
  std::vector<LiveBucket> Inspect(std::string_view key, Instant now) {
    return services_.limiter.Inspect(
        key, now, [&](const Limit& limit) { return services_.policies.PresentLimit(limit, key); });
  }
  std::size_t Trim(std::string_view key, const PolicyLimits& before, const PolicyLimits& limits,
                   Instant now) {
    return Limiter::PolicyTrim::TrimKey(services_.limiter, key, before, limits, now);
  }

 private:
  Services& services_;
  const Introducer user_;
};

}  // namespace

// public-functions: 37, what the handlers of both hosts ask for.
class LimitHost {
 public:
  static constexpr std::string_view kNoExplicitTime =
      "AT needs a server that runs with --allow-explicit-time";

  explicit LimitHost(Call& call) : call_(call) {}

  std::span<const std::string_view> arguments() const { return call_.arguments(); }
  // The keys of most requests were hashed when they were read ahead.
  KeyHashes key_hashes() const { return KeyHashes(shared().limiter.hasher(), call_.keys); }
  RespWriter& reply() { return call_.reply; }
  void Fail(const absl::Status& status) { call_.Fail(status); }
  void ReplyError(std::string_view error) { call_.ReplyError(error); }

  Worker& thread() const { return call_.session.worker(); }
  Services& shared() const { return call_.services(); }
  std::vector<RequestCounters*> AllCounters() {
    std::vector<RequestCounters*> counters = RequestCountersOf(shared());
    Charge(kWholeTableWork * counters.size());
    return counters;
  }
  std::span<const CommandSpec> commands() const { return CommandTable(); }

  Instant now() const { return call_.now; }
  UserLimiter limiter() { return {shared(), call_.client().introducer()}; }
  bool RefusedUnsaved(const Request& request, Instant at) {
    return shared().admission().refuses_changes() && shared().limiter.WouldChange(request, at) &&
           call_.RefusedChange();
  }
  bool MayLookAt(std::span<const std::string_view> keys, KeyWork work) {
    return call_.MayLookAt(keys, work);
  }
  bool has_open_holds() const { return shared().limiter.has_open_holds(); }
  absl::Status ExpireAhead(std::span<const KeyHash> keys, Instant at) {
    return shared().upkeep.ExpireAhead(keys, at);
  }
  void MarkDirty() { call_.MarkDirty(); }
  void Charge(std::size_t units) { call_.Charge(units); }

  bool TakesVerdict(const ParsedRequest& request, std::int64_t first, const Verdict& verdict) {
    VerdictReader* const reader = call_.session.verdict_reader();
    if (reader) reader->Read(request, first, verdict);
    return reader != nullptr;
  }

  bool TakesSettled(const ParsedSettlement& request, const Settled& settled,
                    std::span<const AskedLimit> limits) {
    VerdictReader* const reader = call_.session.verdict_reader();
    if (reader) reader->ReadSettled(request, settled, limits);
    return reader != nullptr;
  }

  bool has_listeners() const { return shared().channels.IsAnyHeard(); }
  EventTerms event_terms() const {
    const Channels& channels = shared().channels;
    return {.now = now(),
            .interval = shared().settings.Get(&Options::notify_interval),
            .percents = shared().settings.Get(&Options::notify_at),
            .denied = channels.IsHeard(static_cast<std::size_t>(EventKind::kDenied)),
            .used = channels.IsHeard(static_cast<std::size_t>(EventKind::kUsed))};
  }
  // EXEC publishes the events of a transaction, when its keys are free again.
  void PublishEvents() {
    if (!call_.queued) Charge(thread().PublishEvents());
  }

  void Hold(const ParsedRequest& request) { HoldHandlers<LimitHost>::Hold(*this, request); }
  void InspectHolds() { HoldHandlers<LimitHost>::InspectHolds(*this); }

  Nanos slice_life() const { return shared().settings.Get(&Options::slice_life); }
  std::uint64_t operator_changes() const {
    return shared().first_operator_change.load(std::memory_order_relaxed) +
           shared().policies.changes() + shared().upkeep.counts().resets;
  }

  bool may_wait() const {
    return !call_.queued && call_.session.may_wait() && !shared().open_waits.refuses();
  }
  void Wait(const ParsedRequest& request, Reservation reservation) {
    if (call_.RefusedChange()) return shared().limiter.ReturnTokens(reservation);
    call_.session.Wait(std::make_unique<ServerWaiter>(thread(), call_.client().record(), request,
                                                      std::move(reservation)));
  }

  // Changes a policy, after the holds that have expired were settled by the numbers of before.
  auto Isolated(auto change) {
    shared().upkeep.ExpireHolds(now());  // most of them, before all others have to wait
    const Isolation isolation(shared().limiter.table());
    shared().upkeep.ExpireHolds(now());
    return change();
  }
  auto Isolated(std::span<const std::string_view> keys, auto change) {
    shared().upkeep.ExpireHolds(keys, now());
    const Isolation isolation(shared().limiter.table(), keys);
    shared().upkeep.ExpireHolds(keys, now());
    return change();
  }
  // A client that may not wait is answered before the buckets are gone. If much else waits for the
  // side thread, the scan is done here.
  void ForgetPolicy(PolicyId policy) {
    Charge(kWholeTableWork);
    const auto forget = [&upkeep = shared().upkeep, policy] { upkeep.ForgetPolicies({{policy}}); };
    const auto aside = [forget] {
      forget();
      return absl::OkStatus();
    };
    if (may_wait()) {
      const absl::Status begun = AnswerFromAside(
          call_, {.aside = aside,
                  .changes = true,
                  .unblocked = "UNBLOCKED the policy is deleted, its buckets are being dropped"});
      if (begun.ok()) return AddCommandEvent(call_, ServerEventKind::kPolicy);
      forget();
    } else if (!shared().run_aside(forget, [] {}).ok()) {
      forget();
    }
    MarkPoliciesDirty(true);
    reply().SimpleString("OK");
  }
  void LogTrimmed(std::string_view policy, std::size_t buckets) {
    if (buckets > 0) weir::LogTrimmed(policy, buckets);
  }
  void Trim(const std::shared_ptr<const Policy>& before, std::shared_ptr<const Policy> after) {
    Limiter::PolicyTrim trim(shared().limiter, shared().policies, before->limits, std::move(after));
    call_.session.Wait(std::make_unique<TrimWaiter>(thread(), std::move(trim)));
    AddCommandEvent(call_, ServerEventKind::kPolicy);
  }
  void ReloadPolicies() {
    Charge(kWholeTableWork);
    if (!call_.session.may_wait()) return call_.Fail("RELOAD is answered later: not over HTTP");
    const auto reading = std::make_shared<Services::PolicyReading>();
    const absl::Status begun = AnswerFromAside(
        call_, {.aside = [&services = shared(), reading] { return services.Read(*reading); },
                .then =
                    [&services = shared(), reading, who = call_.client().user()] {
                      absl::Status used = services.Use(*reading);
                      if (used.ok()) {
                        const std::string_view name = who ? std::string_view(who->name()) : "";
                        AddEvent(services, ServerEventKind::kPolicy, name, "RL.POLICY RELOAD");
                      }
                      return used;
                    },
                .changes = true,
                .unblocked = "UNBLOCKED the policies are unchanged"});
    if (!begun.ok()) call_.Fail(begun);
  }
  // The reply waits for a save even if nothing changed: the present state may be due to another
  // client's change that is not saved yet.
  void MarkPoliciesDirty(bool changed) {
    call_.MarkDirty();
    if (changed) AddCommandEvent(call_, ServerEventKind::kPolicy);
  }
  void MarkPolicySet(std::size_t /*arguments*/) { MarkPoliciesDirty(true); }

 private:
  Call& call_;
};

static_assert(HostsHolds<LimitHost>);
template class LimitHandlers<LimitHost>;
template class HoldHandlers<LimitHost>;

}  // namespace weir
