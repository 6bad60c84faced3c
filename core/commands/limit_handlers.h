// The handlers of the commands that limit, written once for both hosts: the server, and the module
// inside Redis.
//
// A handler reads its arguments, makes one call and writes one reply. None fails: errors are
// replies. The rows (limit_commands.h) name LimitHandlers<LimitHost>. Each host defines that class
// in its handlers/limit_host.cc, with the interface HostsLimits, and instantiates the handlers
// there. The two LimitHost classes hold all that the hosts do differently.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/instant.h"
#include "core/base/status.h"
#include "core/commands/command_spec.h"
#include "core/commands/decision_events.h"
#include "core/commands/explicit_time.h"
#include "core/commands/limit_totals.h"
#include "core/commands/replies.h"
#include "core/commands/request_counters.h"
#include "core/commands/request_grammar.h"
#include "core/limiter/hold_request.h"
#include "core/plans/reservation.h"
#include "core/policies/limit_memo.h"
#include "core/policies/live_bucket.h"
#include "core/policies/policies.h"
#include "core/rules/decision.h"
#include "core/rules/top_keys.h"
#include "core/table/key_hash.h"
#include "core/words/number_word.h"
#include "core/words/request.h"
#include "core/words/throttle_request.h"

namespace weir {

// Decides requests and shows the buckets of keys, for the calling user. core/limiter/limiter.h
// explains the functions. A function that cannot fail on its host may return the plain value.
template <typename Limiter>
concept DecidesRequests = requires(Limiter limiter, const Request& request, Instant now,
                                   std::string_view key, std::span<const Limit> limits) {
  { limiter.Decide(request, now) } -> std::convertible_to<absl::StatusOr<Verdict>>;
  { limiter.Peek(request, now) } -> std::convertible_to<absl::StatusOr<Verdict>>;
  { limiter.Take(request, 1, now) } -> std::convertible_to<absl::StatusOr<Grant>>;
  { limiter.Charge(request, now) } -> std::convertible_to<absl::StatusOr<Charged>>;
  { limiter.Refund(request, now) } -> std::convertible_to<absl::StatusOr<Verdict>>;
  { limiter.Reserve(request, Nanos{}, now) } -> std::convertible_to<absl::StatusOr<Admission>>;
  { limiter.Reset(key, limits, now) } -> std::convertible_to<absl::StatusOr<std::size_t>>;
  { limiter.Inspect(key, now) } -> std::convertible_to<absl::StatusOr<std::vector<LiveBucket>>>;
  // Cuts what the key's buckets owe (policy_trim.h). Returns the number of cut buckets.
  { limiter.Trim(key, PolicyLimits(), PolicyLimits(), now) } -> std::same_as<std::size_t>;
};

// A host, made from a Call for one command, on the thread of its client.
template <typename Host>
concept HostsLimits = requires(Host host, const Request& request, const ParsedRequest& parsed,
                               Reservation reservation, std::span<const std::string_view> keys,
                               std::span<const KeyHash> hashes, absl::Status (*change)()) {
  // The words after the command's name, or after its name and the subcommand's.
  { host.arguments() } -> std::convertible_to<std::span<const std::string_view>>;
  { host.key_hashes() } -> std::same_as<KeyHashes>;  // of the keys among them
  host.reply();                                      // the Reply of replies.h
  host.Fail(absl::Status());                         // answers with an error

  // The state of this thread, and the state that all threads share; in the module both are one
  // object.
  { host.thread().memo } -> std::same_as<LimitMemo&>;
  { host.thread().request_counters } -> std::same_as<RequestCounters&>;
  { host.thread().throttle_hint } -> std::same_as<LimitHint&>;  // of the one limit of CL.THROTTLE
  { host.thread().events } -> std::same_as<DecisionEvents&>;
  // The counters of all threads. Charges the command for reading them.
  { host.AllCounters() } -> std::same_as<std::vector<RequestCounters*>>;
  { host.shared().policies } -> std::same_as<Policies&>;
  { host.shared().explicit_time } -> std::same_as<ExplicitTime&>;
  { host.shared().limit_totals } -> std::same_as<LimitTotals&>;
  { host.shared().options.max_wait } -> std::convertible_to<Nanos>;
  { host.commands() } -> std::convertible_to<std::span<const CommandSpec>>;  // the host's table

  { host.now() } -> std::same_as<Instant>;
  // The error of a request with AT on a host where clients may not give the time.
  { Host::kNoExplicitTime } -> std::convertible_to<std::string_view>;
  { host.limiter() } -> DecidesRequests;
  // Returns true, after answering with an error, if the request would be admitted or start a ban,
  // and that could not be saved.
  { host.RefusedUnsaved(request, host.now()) } -> std::same_as<bool>;
  // Returns false, after answering with an error, if it would take too long to find the buckets and
  // holds of these keys.
  { host.MayLookAt(keys, KeyWork::kLook) } -> std::same_as<bool>;
  // Settles holds of several keys that are due before a call about all of them. Fails if they are
  // too many at once. Need not be called while there are no open holds.
  { host.has_open_holds() } -> std::same_as<bool>;
  { host.ExpireAhead(hashes, host.now()) } -> std::same_as<absl::Status>;
  host.MarkDirty();  // the command has changed buckets
  host.Charge(1);    // adds units of work to the one that every command is charged

  // Returns true if the client takes the verdict itself, and no reply is to be written.
  { host.TakesVerdict(parsed, 1, Verdict()) } -> std::same_as<bool>;

  // Returns true if a client may hear of decisions. Cost: a relaxed load for each decision.
  { host.has_listeners() } -> std::same_as<bool>;
  { host.event_terms() } -> std::same_as<EventTerms>;
  // Publishes the events that were collected; in a transaction, after its end.
  host.PublishEvents();

  host.Hold(parsed);    // answers RL.TAKE with HOLD
  host.InspectHolds();  // answers RL.INSPECT with HOLDS

  { host.may_wait() } -> std::same_as<bool>;
  // Answers the client when the reservation is ready; gives it back if the client disconnects
  // before.
  host.Wait(parsed, reservation);

  // Makes a change to all keys, or to `keys`, isolated from all transactions.
  { host.Isolated(change) } -> std::same_as<absl::Status>;
  { host.Isolated(keys, change) } -> std::same_as<absl::Status>;
  host.ForgetPolicy(PolicyId{});  // answers RL.POLICY DEL, when the rest of the policy is dropped
  host.LogTrimmed(std::string_view(), std::size_t{});  // how many buckets a policy has cut
  // Answers RL.POLICY SET with TRIM, after the change: cuts what all buckets of the policy owe, and
  // then answers the client. `before`: the policy before the change.
  host.Trim(std::shared_ptr<const Policy>(), std::shared_ptr<const Policy>());
  host.ReloadPolicies();         // answers RL.POLICY RELOAD
  host.MarkPoliciesDirty(true);  // after a command about policies: whether it has changed any
  host.MarkPolicySet(1);         // after an RL.POLICY SET that cuts nothing: its arguments but TRIM
};

// Each host defines its own Call and LimitHost.
struct Call;
class LimitHost;

template <typename Host>
class LimitHandlers {
 public:
  static void Allow(Call& call);
  static void Charge(Call& call);
  static void Help(Call& call);
  static void Inspect(Call& call);
  static void Peek(Call& call);
  static void PolicyDel(Call& call);
  static void PolicyGet(Call& call);
  static void PolicyList(Call& call);
  static void PolicyOverride(Call& call);
  static void PolicyOverrides(Call& call);
  static void PolicyReload(Call& call);
  static void PolicySet(Call& call);
  static void PolicyUnoverride(Call& call);
  static void Refund(Call& call);
  static void Reset(Call& call);
  static void Stats(Call& call);
  static void Take(Call& call);
  static void Throttle(Call& call);
  static void Top(Call& call);
  static void Wait(Call& call);

 protected:
  // Every command is charged one unit, which pays for a key and one limit; each further word costs
  // one more.
  static void ChargeForWords(Host& host, std::span<const std::string_view> words) {
    constexpr std::size_t kWordsOfOneLimit = 2;
    if (words.size() > kWordsOfOneLimit) host.Charge(words.size() - kWordsOfOneLimit);
  }

  // Reads the request. Fails if it has an execution time and clients may not give one.
  static absl::StatusOr<ParsedRequest> ReadRequest(Host& host,
                                                   RequestKind kind = RequestKind::kDecide) {
    const std::span<const std::string_view> words = host.arguments();
    ChargeForWords(host, words);
    absl::StatusOr<ParsedRequest> request =
        ParseRequest(words, host.thread().memo, host.key_hashes(), kind);
    if (request.ok() && request->at && !host.shared().explicit_time.allowed()) {
      request = absl::PermissionDeniedError(AbslView(Host::kNoExplicitTime));
    }
    if (!request.ok() || request->checks.size() == 1 || !host.has_open_holds()) return request;
    absl::InlinedVector<KeyHash, 4> keys;
    for (const Check& check : request->checks) {
      if (keys.empty() || keys.back() != check.hash) keys.push_back(check.hash);
    }
    if (absl::Status ahead = ExpireAhead(host, keys, TimeOf(host, *request)); !ahead.ok()) {
      request = std::move(ahead);
    }
    return request;
  }

  // One key needs no settling ahead: the number of its due holds is bounded.
  static absl::Status ExpireAhead(Host& host, std::span<const KeyHash> keys, Instant at) {
    return keys.size() == 1 ? absl::OkStatus() : host.ExpireAhead(keys, at);
  }

  template <typename Parsed>
  static Instant TimeOf(const Host& host, const Parsed& request) {
    return request.at ? *request.at : host.now();
  }

  // Counts the verdict of a request that takes tokens, and tells its events. `times`: how many
  // times RL.TAKE has taken them, else 1.
  static void Count(Host& host, const ParsedRequest& request, const Verdict& verdict,
                    std::int64_t times = 1) {
    host.thread().request_counters.Count(request, verdict);
    if (verdict.allowed || verdict.banned != 0) host.MarkDirty();
    if (host.has_listeners()) [[unlikely]]
      Tell(host, &DecisionEvents::Collect, request, verdict, times);
  }

  // Tells the events of a decision. Not inlined, so that other decisions do not pay for it.
  template <typename... Arguments>
  ABSL_ATTRIBUTE_NOINLINE static void Tell(Host& host, auto collect, const Arguments&... decision) {
    (host.thread().events.*collect)(decision..., host.event_terms());
    host.PublishEvents();
  }

  // `first`: 0 or 1, or the number of tokens that RL.TAKE has granted.
  static void Answer(Host& host, const ParsedRequest& request, std::int64_t first,
                     const Verdict& verdict) {
    if (request.at) host.shared().explicit_time.Record(*request.at);
    if (host.TakesVerdict(request, first, verdict)) return;
    WriteVerdict(host.reply(), first, verdict, request.with_limits,
                 [&](std::size_t i) { return AskedLimitAt(request, i); });
  }

 private:
  static void AcknowledgePolicy(Host& host, const absl::Status& status) {
    if (!status.ok()) return host.Fail(status);
    host.MarkPoliciesDirty(true);
    host.reply().SimpleString("OK");
  }
};

// Lets the rows name the handlers in files where the host is not defined.
extern template class LimitHandlers<LimitHost>;

template <typename Host>
void LimitHandlers<Host>::Allow(Call& call) {
  Host host(call);
  const absl::StatusOr<ParsedRequest> request = ReadRequest(host);
  if (!request.ok()) return host.Fail(request.status());
  const Instant now = TimeOf(host, *request);
  if (host.RefusedUnsaved(request->checks, now)) return;
  const absl::StatusOr<Verdict> verdict = host.limiter().Decide(request->checks, now);
  if (!verdict.ok()) return host.Fail(verdict.status());
  Count(host, *request, *verdict);
  Answer(host, *request, verdict->allowed ? 1 : 0, *verdict);
}

template <typename Host>
void LimitHandlers<Host>::Peek(Call& call) {
  Host host(call);
  const absl::StatusOr<ParsedRequest> request = ReadRequest(host, RequestKind::kLook);
  if (!request.ok()) return host.Fail(request.status());
  const absl::StatusOr<Verdict> verdict =
      host.limiter().Peek(request->checks, TimeOf(host, *request));
  if (!verdict.ok()) return host.Fail(verdict.status());
  Answer(host, *request, verdict->allowed ? 1 : 0, *verdict);
}

template <typename Host>
void LimitHandlers<Host>::Charge(Call& call) {
  Host host(call);
  const absl::StatusOr<ParsedRequest> request = ReadRequest(host, RequestKind::kChange);
  if (!request.ok()) return host.Fail(request.status());
  const absl::StatusOr<Charged> charged =
      host.limiter().Charge(request->checks, TimeOf(host, *request));
  if (!charged.ok()) return host.Fail(charged.status());
  host.thread().request_counters.CountCharge(*request, *charged);
  host.MarkDirty();
  if (host.has_listeners()) [[unlikely]]
    Tell(host, &DecisionEvents::CollectCharge, *request, *charged);
  Answer(host, *request, charged->verdict.allowed ? 1 : 0, charged->verdict);
}

template <typename Host>
void LimitHandlers<Host>::Refund(Call& call) {
  Host host(call);
  const absl::StatusOr<ParsedRequest> request = ReadRequest(host, RequestKind::kChange);
  if (!request.ok()) return host.Fail(request.status());
  const absl::StatusOr<Verdict> verdict =
      host.limiter().Refund(request->checks, TimeOf(host, *request));
  if (!verdict.ok()) return host.Fail(verdict.status());
  host.MarkDirty();
  Answer(host, *request, 1, *verdict);
}

template <typename Host>
void LimitHandlers<Host>::Take(Call& call) {
  Host host(call);
  const absl::StatusOr<ParsedRequest> request = ReadRequest(host, RequestKind::kTake);
  if (!request.ok()) return host.Fail(request.status());
  if (!request->hold.id.empty()) return host.Hold(*request);
  const Instant now = TimeOf(host, *request);
  if (host.RefusedUnsaved(request->checks, now)) return;
  const absl::StatusOr<Grant> grant = host.limiter().Take(request->checks, request->upto, now);
  if (!grant.ok()) return host.Fail(grant.status());
  Count(host, *request, grant->verdict, grant->granted);
  Answer(host, *request, grant->granted, grant->verdict);
}

// CL.THROTTLE and RL.THROTTLE.
template <typename Host>
void LimitHandlers<Host>::Throttle(Call& call) {
  Host host(call);
  const absl::StatusOr<ThrottleRequest> request = ParseThrottle(host.arguments());
  if (!request.ok()) return host.Fail(request.status());
  const Instant now = host.now();
  const Request checks = {{request->key, &request->limit, request->quantity,
                           &host.thread().throttle_hint, host.key_hashes().Next(request->key)}};
  if (host.RefusedUnsaved(checks, now)) return;
  const absl::StatusOr<Verdict> verdict = host.limiter().Decide(checks, now);
  if (!verdict.ok()) return host.Fail(verdict.status());
  host.thread().request_counters.CountThrottle(checks.front(), *verdict);
  if (verdict->allowed) host.MarkDirty();
  if (host.has_listeners()) [[unlikely]]
    Tell(host, &DecisionEvents::CollectThrottle, checks.front(), *verdict);
  WriteThrottle(host.reply(), *request, *verdict);
}

template <typename Host>
void LimitHandlers<Host>::Wait(Call& call) {
  Host host(call);
  const absl::StatusOr<ParsedRequest> request = ReadRequest(host, RequestKind::kWait);
  if (!request.ok()) return host.Fail(request.status());
  if (request->timeout > host.shared().options.max_wait) {
    return host.Fail(absl::InvalidArgumentError(absl::StrCat(
        "invalid TIMEOUT '", CeilMillis(request->timeout), "': above the server's max-wait, ",
        CeilMillis(host.shared().options.max_wait), " ms")));
  }
  const Instant now = host.now();
  if (host.RefusedUnsaved(request->checks, now)) return;
  const Nanos patience = host.may_wait() ? request->timeout : Nanos{0};
  absl::StatusOr<Admission> admission = host.limiter().Reserve(request->checks, patience, now);
  if (!admission.ok()) return host.Fail(admission.status());
  if (admission->reservation) return host.Wait(*request, *std::move(admission->reservation));
  Count(host, *request, admission->verdict);
  Answer(host, *request, admission->verdict.allowed ? 1 : 0, admission->verdict);
}

template <typename Host>
void LimitHandlers<Host>::Inspect(Call& call) {
  Host host(call);
  if (host.arguments().size() > 1) {
    const bool wants_holds = absl::EqualsIgnoreCase(AbslView(host.arguments()[1]), "HOLDS");
    if (!wants_holds) return host.Fail(absl::InvalidArgumentError("syntax error"));
    return host.InspectHolds();
  }
  if (!host.MayLookAt(host.arguments(), KeyWork::kLook)) return;
  const absl::StatusOr<std::vector<LiveBucket>> buckets =
      host.limiter().Inspect(host.arguments()[0], host.shared().explicit_time.View(host.now()));
  if (!buckets.ok()) return host.Fail(buckets.status());
  WriteLiveBuckets(host.reply(), *buckets, host.shared().policies);
}

template <typename Host>
void LimitHandlers<Host>::Reset(Call& call) {
  Host host(call);
  const auto arguments = host.arguments();
  const auto limits = ParseLimits(arguments[0], arguments.subspan(1), host.thread().memo);
  if (!limits.ok()) return host.Fail(limits.status());
  host.Charge(limits->size());
  if (!host.MayLookAt(arguments.first(1), KeyWork::kForget)) return;
  const absl::StatusOr<std::size_t> live =
      host.limiter().Reset(arguments[0], *limits, host.shared().explicit_time.View(host.now()));
  if (!live.ok()) return host.Fail(live.status());
  host.MarkDirty();
  host.reply().Integer(static_cast<std::int64_t>(*live));
}

template <typename Host>
void LimitHandlers<Host>::Help(Call& call) {
  Host host(call);
  WriteHelp(host.reply(), host.commands());
}

template <typename Host>
void LimitHandlers<Host>::Stats(Call& call) {
  Host host(call);
  const auto arguments = host.arguments();
  const bool reset = !arguments.empty();
  if (reset && !absl::EqualsIgnoreCase(AbslView(arguments[0]), "RESET")) {
    return host.Fail(absl::InvalidArgumentError("syntax error"));
  }
  const std::vector<RequestCounters*> counters = host.AllCounters();
  if (reset) {
    host.shared().limit_totals.Reset(counters);
    return host.reply().SimpleString("OK");
  }
  const LimitTotals::Reading stats = host.shared().limit_totals.Read(counters);
  host.Charge(stats.rows.size());
  WriteStats(host.reply(), stats.total, stats.rows);
}

template <typename Host>
void LimitHandlers<Host>::Top(Call& call) {
  constexpr std::int64_t kRowsDefault = 10;
  Host host(call);
  auto arguments = host.arguments();
  const auto has_word = [&arguments](std::string_view word, std::size_t from_end) {
    return arguments.size() >= from_end &&
           absl::EqualsIgnoreCase(AbslView(arguments[arguments.size() - from_end]), AbslView(word));
  };
  std::optional<std::string_view> limit;
  const bool near = !has_word("LIMIT", 2) && has_word("NEAR", 1);
  if (near) {
    arguments = arguments.first(arguments.size() - 1);
  } else if (has_word("LIMIT", 2)) {
    limit = arguments.back();
    arguments = arguments.first(arguments.size() - 2);
  }
  if (arguments.size() > 1) return host.Fail(absl::InvalidArgumentError("syntax error"));
  absl::StatusOr<std::int64_t> rows_max = kRowsDefault;
  if (!arguments.empty()) {
    rows_max = ReadNumber("rows", arguments[0], 1, static_cast<std::int64_t>(kTopKeysMax));
  }
  if (!rows_max.ok()) return host.Fail(rows_max.status());
  const std::vector<RequestCounters*> counters = host.AllCounters();
  const auto rows = static_cast<std::size_t>(*rows_max);
  WriteTop(host.reply(), limit  ? KeysOfLimit(counters, NameInStatistics(*limit), rows)
                         : near ? MergedKeys(counters, &RequestCounters::near_keys, rows)
                                : MergedKeys(counters, &RequestCounters::denied_keys, rows));
}

}  // namespace weir
