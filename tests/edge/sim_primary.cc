#include "tests/edge/sim_primary.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "core/commands/replies.h"
#include "core/commands/request_grammar.h"
#include "core/commands/settlement_grammar.h"
#include "core/rules/decision.h"
#include "protocol/resp_writer.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

SimReply ErrorReply(std::string_view message) {
  SimReply reply = {.is_error = true};
  RespWriter(reply.bytes).Error(std::string("ERR ") + std::string(message));
  return reply;
}

Nanos DoubledIf(bool is_doubled, Nanos wait) {
  return is_doubled && wait < std::chrono::hours{1} ? 2 * wait : wait;
}

}  // namespace

SimPrimary::SimPrimary(EdgeBug bug)
    : bug_(bug),
      limiter_(
          {.present = [this](const Limit& interned) { return policies_.PresentLimit(interned); }}) {
  SetPolicy("20/s");
}

SimReply SimPrimary::Slice(std::span<const std::string_view> words, Instant now, Instant sent,
                           Nanos way_back) {
  const absl::StatusOr<ParsedSlice> parsed = ParseSlice(words, memo_, KeyHashes(limiter_.hasher()));
  if (!parsed.ok()) return ErrorReply(StdView(parsed.status().message()));
  const std::string id(parsed->hold.id);
  if (bug_ == EdgeBug::kIds && granted_.contains(id)) return granted_.at(id).reply;
  const SliceWish wish = {parsed->need, parsed->unit, parsed->upto,
                          std::min(parsed->hold.ttl, kSimSliceLife)};
  absl::StatusOr<SliceGrant> slice = limiter_.Slice(parsed->checks, {.id = id, .wish = wish}, now);
  if (!slice.ok()) return ErrorReply(StdView(slice.status().message()));
  SimReply reply = {
      .granted = slice->granted, .retry_after = slice->verdict.retry_after, .life = slice->life};
  const bool is_sliced = slice->life > Nanos{0};
  if (is_sliced && bug_ == EdgeBug::kWindow) slice->life = wish.life;
  if (is_sliced && bug_ == EdgeBug::kReceipt) slice->life += now - sent + way_back;
  if (is_sliced && bug_ == EdgeBug::kDrift) {
    slice->life += slice->life / 999 + std::chrono::microseconds{1002};
  }
  slice->verdict.retry_after = DoubledIf(bug_ == EdgeBug::kDenial, slice->verdict.retry_after);
  RespWriter writer(reply.bytes);
  writer.set_protocol(now.time_since_epoch().count() % 2 == 0 ? 2 : 3);
  WriteSlice(writer, *slice, changes_, [&](std::size_t i) { return AskedLimitAt(*parsed, i); });
  if (slice->granted > 0) {
    const auto need = std::ranges::find(words, "NEED");
    granted_[id] = {{words.begin(), need}, slice->granted, reply};
  }
  return reply;
}

SimReply SimPrimary::Allow(std::span<const std::string_view> words, Instant now) {
  const absl::StatusOr<ParsedRequest> parsed =
      ParseRequest(words, memo_, KeyHashes(limiter_.hasher()));
  if (!parsed.ok()) return ErrorReply(StdView(parsed.status().message()));
  absl::StatusOr<Verdict> verdict = limiter_.Decide(parsed->checks, now);
  WEIR_CHECK(verdict.ok());
  SimReply reply = {.granted = verdict->allowed ? 1 : 0, .retry_after = verdict->retry_after};
  verdict->retry_after = DoubledIf(bug_ == EdgeBug::kDenial, verdict->retry_after);
  RespWriter writer(reply.bytes);
  WriteVerdict(writer, verdict->allowed ? 1 : 0, *verdict, parsed->with_limits,
               [&](std::size_t i) { return AskedLimitAt(*parsed, i); });
  return reply;
}

SimReply SimPrimary::Commit(std::span<const std::string_view> words, Instant now) {
  const absl::StatusOr<ParsedSettlement> parsed = ParseSettlement(
      words, memo_, policies_, KeyHashes(limiter_.hasher()), SettlementKind::kCommit);
  WEIR_CHECK(parsed.ok());
  const std::string id(parsed->id);
  const std::int64_t used = parsed->keys.front().cost.value_or(0);
  const auto slice = granted_.find(id);
  const std::int64_t left = slice == granted_.end() ? 0 : slice->second.units - used;
  const bool was_settled = std::exchange(settled_[id], true);
  SimReply reply;
  if (bug_ == EdgeBug::kRefund) {
    if (!was_settled && slice != granted_.end()) Refund(slice->second, left, now);
    reply.bytes = "*5\r\n:1\r\n:0\r\n:0\r\n:0\r\n:0\r\n";
    return reply;
  }
  const absl::StatusOr<Settled> settled =
      limiter_.SettleHold({.id = parsed->id, .keys = parsed->keys, .named = parsed->named}, now);
  WEIR_CHECK(settled.ok());
  const bool is_refunded =
      (bug_ == EdgeBug::kResend && was_settled) || (bug_ == EdgeBug::kUnknown && !settled->settled);
  if (is_refunded && slice != granted_.end()) Refund(slice->second, left, now);
  RespWriter(reply.bytes).ArrayOf(5, VerdictNumbers(settled->verdict));
  return reply;
}

void SimPrimary::Refund(const Granted& slice, std::int64_t units, Instant now) {
  if (units <= 0) return;
  const std::vector<std::string_view> words(slice.form.begin(), slice.form.end());
  absl::StatusOr<ParsedRequest> parsed = ParseRequest(words, memo_, KeyHashes(limiter_.hasher()));
  WEIR_CHECK(parsed.ok());
  for (Check& check : parsed->checks) check.cost *= units;
  limiter_.Refund(parsed->checks, now);
}

void SimPrimary::Reset(std::string_view key, Instant now) {
  ++changes_;
  limiter_.Reset(key, {}, now);
}

void SimPrimary::SetPolicy(std::string_view limit) {
  ++changes_;
  WEIR_CHECK(policies_.Set("p", LimitsOf({limit})).ok());
}

}  // namespace weir
