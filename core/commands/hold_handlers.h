// The handlers of the commands about holds. The rows (hold_commands.h) name
// HoldHandlers<LimitHost>; a host that has them instantiates it beside LimitHandlers, and its
// LimitHost is then a HostsHolds.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "core/base/instant.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/commands/limit_handlers.h"
#include "core/commands/replies.h"
#include "core/commands/reply_numbers.h"
#include "core/commands/request_grammar.h"
#include "core/commands/settlement_grammar.h"
#include "core/limiter/hold_request.h"
#include "core/table/hold.h"

namespace weir {

template <typename Host>
concept HostsHolds = HostsLimits<Host> &&
    requires(Host host, const Request& request, const HoldRequest& hold, const SliceRequest& slice,
             const SettleRequest& settlement, const ParsedSettlement& parsed,
             std::string_view key) {
  // The limiter counts holds for the calling user, whatever hold.user and slice.user are.
  {
    host.limiter().DecideAndHold(request, hold, host.now())
    } -> std::convertible_to<absl::StatusOr<Grant>>;
  {
    host.limiter().Slice(request, slice, host.now())
    } -> std::convertible_to<absl::StatusOr<SliceGrant>>;
  {
    host.limiter().SettleHold(settlement, host.now())
    } -> std::convertible_to<absl::StatusOr<Settled>>;
  {
    host.limiter().InspectHolds(key, host.now())
    } -> std::convertible_to<absl::StatusOr<std::vector<LiveHold>>>;
  { host.shared().options.max_hold } -> std::convertible_to<Nanos>;
  { host.slice_life() } -> std::convertible_to<Nanos>;  // the longest; 0: no slices
  // Grows with each change that may make an earlier decision void: of a policy or an override, and
  // when the buckets of a key are dropped.
  { host.operator_changes() } -> std::same_as<std::uint64_t>;
  // Returns true if the client takes the settlement itself, and no reply is to be written. The
  // limits are those of the verdict's decisions.
  { host.TakesSettled(parsed, Settled(), std::span<const AskedLimit>()) } -> std::same_as<bool>;
  host.ReplyError("OOM ...");  // answers with an error, prefix included
};

template <typename Host>
class HoldHandlers : private LimitHandlers<Host> {
 public:
  static void Cancel(Call& call);
  static void Commit(Call& call);
  static void Reserve(Call& call);
  static void Slice(Call& call);

  // Answers a request with HOLD.
  static void Hold(Host& host, const ParsedRequest& request);
  // Answers RL.INSPECT key HOLDS.
  static void InspectHolds(Host& host);

 private:
  static void Settle(Host& host, SettlementKind kind);
  // Answers with the error of a request to hold.
  static void FailToHold(Host& host, const absl::Status& status) {
    if (status != TooManyHolds()) return host.Fail(status);
    host.ReplyError(StdView(absl::StrCat("OOM ", status.message())));
  }
  // Returns true, after answering with an error, if clients may not give the time.
  static bool RefusesTime(Host& host, const std::optional<Instant>& at) {
    if (!at || host.shared().explicit_time.allowed()) return false;
    host.Fail(absl::PermissionDeniedError(AbslView(Host::kNoExplicitTime)));
    return true;
  }
};

// Lets the rows name the handlers in files where the host is not defined.
extern template class HoldHandlers<LimitHost>;

template <typename Host>
void HoldHandlers<Host>::Reserve(Call& call) {
  Host host(call);
  const absl::StatusOr<ParsedRequest> request =
      HoldHandlers::ReadRequest(host, RequestKind::kReserve);
  if (!request.ok()) return host.Fail(request.status());
  Hold(host, *request);
}

template <typename Host>
void HoldHandlers<Host>::Hold(Host& host, const ParsedRequest& request) {
  const Nanos ttl_max = host.shared().options.max_hold;
  if (request.hold.ttl > ttl_max) {
    return host.Fail(absl::InvalidArgumentError(
        absl::StrCat("invalid TTL '", CeilMillis(request.hold.ttl),
                     "': above the server's max-hold, ", CeilMillis(ttl_max), " ms")));
  }
  const Instant now = HoldHandlers::TimeOf(host, request);
  if (host.RefusedUnsaved(request.checks, now)) return;
  const HoldRequest hold = {.id = request.hold.id,
                            .ttl = request.hold.ttl,
                            .words = request.hold.words,
                            .upto = request.upto};
  const absl::StatusOr<Grant> grant = host.limiter().DecideAndHold(request.checks, hold, now);
  if (!grant.ok()) return FailToHold(host, grant.status());
  if (grant->renewed) {
    host.MarkDirty();
  } else {
    const bool is_take = request.upto > 0;
    HoldHandlers::Count(host, request, grant->verdict, is_take ? grant->granted : 1);
  }
  HoldHandlers::Answer(host, request, grant->granted, grant->verdict);
}

template <typename Host>
void HoldHandlers<Host>::Slice(Call& call) {
  Host host(call);
  const std::span<const std::string_view> words = host.arguments();
  HoldHandlers::ChargeForWords(host, words);
  const std::uint64_t changes = host.operator_changes();  // before the limits are read
  const absl::StatusOr<ParsedSlice> parsed =
      ParseSlice(words, host.thread().memo, host.key_hashes());
  if (!parsed.ok()) return host.Fail(parsed.status());
  const ParsedRequest& request = *parsed;
  if (RefusesTime(host, request.at)) return;
  const Instant now = HoldHandlers::TimeOf(host, request);
  if (host.RefusedUnsaved(request.checks, now)) return;
  const SliceWish wish = {parsed->need, parsed->unit, request.upto,
                          std::min<Nanos>(request.hold.ttl, host.slice_life())};
  const absl::StatusOr<SliceGrant> slice =
      host.limiter().Slice(request.checks, {.id = request.hold.id, .wish = wish}, now);
  if (!slice.ok()) return FailToHold(host, slice.status());
  // A request for a slice stands for those that wait: it is one of them.
  if (parsed->need > 0) host.thread().request_counters.CountSlice(request, slice->verdict);
  if (slice->granted > 0) host.MarkDirty();
  if (host.has_listeners()) {
    HoldHandlers::Tell(host, &DecisionEvents::CollectSlice, request, *slice);
  }
  if (request.at) host.shared().explicit_time.Record(*request.at);
  WriteSlice(host.reply(), *slice, changes,
             [&](std::size_t i) { return AskedLimitAt(request, i); });
}

template <typename Host>
void HoldHandlers<Host>::Commit(Call& call) {
  Host host(call);
  Settle(host, SettlementKind::kCommit);
}

template <typename Host>
void HoldHandlers<Host>::Cancel(Call& call) {
  Host host(call);
  Settle(host, SettlementKind::kCancel);
}

template <typename Host>
void HoldHandlers<Host>::Settle(Host& host, SettlementKind kind) {
  const std::span<const std::string_view> words = host.arguments();
  HoldHandlers::ChargeForWords(host, words);
  const Policies& policies = host.shared().policies;
  const absl::StatusOr<ParsedSettlement> parsed =
      ParseSettlement(words, host.thread().memo, policies, host.key_hashes(), kind);
  if (!parsed.ok()) return host.Fail(parsed.status());
  if (RefusesTime(host, parsed->at)) return;
  if (parsed->keys.size() > 1) {
    absl::InlinedVector<KeyHash, 4> keys;
    for (const SettledKey& key : parsed->keys) keys.push_back(key.key.hash);
    const absl::Status ahead =
        HoldHandlers::ExpireAhead(host, keys, HoldHandlers::TimeOf(host, *parsed));
    if (!ahead.ok()) return host.Fail(ahead);
  }
  const absl::StatusOr<Settled> settled =
      host.limiter().SettleHold({.id = parsed->id,
                                 .keys = parsed->keys,
                                 .named = parsed->named,
                                 .is_cancel = kind == SettlementKind::kCancel},
                                HoldHandlers::TimeOf(host, *parsed));
  if (!settled.ok()) return host.Fail(settled.status());
  if (settled->foreign) {
    return host.Fail(absl::InvalidArgumentError(absl::StrCat(
        "hold ", Quote(parsed->id), " has no limit ", Quote(parsed->names[*settled->foreign]))));
  }
  if (parsed->at) host.shared().explicit_time.Record(*parsed->at);
  host.MarkDirty();
  absl::InlinedVector<std::string, 4> names;
  for (const Settled::Row& row : settled->rows) {
    const bool is_named = row.name && !parsed->names[*row.name].starts_with('@');
    names.push_back(is_named ? parsed->names[*row.name] : BucketName(policies, row.limit));
  }
  absl::InlinedVector<AskedLimit, 4> limits;
  for (const Settled::Row& row : settled->rows) {
    limits.push_back({names[limits.size()], &row.limit, static_cast<std::uint32_t>(row.key),
                      TokensShown(row.cost)});
  }
  if (host.TakesSettled(*parsed, *settled, limits)) return;
  WriteVerdict(host.reply(), settled->settled ? 1 : 0, settled->verdict, parsed->with_limits,
               [&](std::size_t i) { return limits[i]; });
}

template <typename Host>
void HoldHandlers<Host>::InspectHolds(Host& host) {
  if (!host.MayLookAt(host.arguments().first(1), KeyWork::kShowHolds)) return;
  const absl::StatusOr<std::vector<LiveHold>> holds = host.limiter().InspectHolds(
      host.arguments()[0], host.shared().explicit_time.View(host.now()));
  if (!holds.ok()) return host.Fail(holds.status());
  WriteLiveHolds(host.reply(), *holds, host.shared().policies);
}

}  // namespace weir
