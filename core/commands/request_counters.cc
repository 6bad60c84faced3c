#include "core/commands/request_counters.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/base/attributes.h"
#include "absl/status/statusor.h"

#include "core/plans/call_plan.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

void AddKey(TopKeys& keys, const Check& check) {
  keys.Add(check.key, check.hash.hash, check.hash.partition);
}

}  // namespace

// Counts the request with what each limit said, and its key if it was denied. Inline, so that a
// request costs one call.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void RequestCounters::Count(const ParsedRequest& request,
                                                                const Verdict& verdict,
                                                                bool taken) {
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if ((verdict.repeated >> i & 1) != 0) continue;
    CachedLimit& limit = *request.limits[i];
    if (CountDecision(limits.Of(limit.counted_as, limit.counts), limit.limit, verdict.decisions[i],
                      taken)) {
      AddKey(near_keys, request.checks[i]);
    }
  }
  CountRequest(verdict);
  if (verdict.banned != 0) {
    AddTo(&LimitCounters::bans, request, verdict.banned & ~verdict.repeated);
  }
  if (verdict.allowed) return;
  CountDenied(request.checks[verdict.limit_index], request.limits[verdict.limit_index]->counted_as);
}

void RequestCounters::CountDenied(const Check& decider, std::string_view limit) {
  AddKey(denied_keys, decider);
  keys_by_limit.Add(limit, decider.key, decider.hash.hash, decider.hash.partition);
}

void RequestCounters::CountSlice(const ParsedRequest& request, Verdict verdict) {
  const auto denies = [&](std::size_t i) {
    return !verdict.decisions[i].allowed && !request.checks[i].limit->shape().shadow;
  };
  std::size_t& decider = verdict.limit_index;
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    const bool is_longer = !denies(decider) || verdict.decisions[i].retry_after >
                                                   verdict.decisions[decider].retry_after;
    if (denies(i) && is_longer) decider = i;
  }
  Count(request, verdict);
}

ABSL_ATTRIBUTE_NOINLINE void RequestCounters::CountWinner(const ParsedRequest& request,
                                                          const Verdict& chosen) {
  Verdict verdict = chosen;
  const Request::Range winner = request.checks.AlternativeWith(verdict.limit_index);
  for (std::size_t i = 0; i < request.checks.size(); ++i) {
    const bool is_winners = i >= winner.begin && i < winner.end;
    const bool has_lost = i < winner.begin && !verdict.decisions[i].allowed &&
                          !request.checks[i].limit->shape().shadow;
    // Count passes over checks that are marked as repeated.
    if (!is_winners && !has_lost) verdict.repeated |= std::uint64_t{1} << i;
  }
  Count(request, verdict, true);
}

void RequestCounters::Count(const ParsedRequest& request, const Verdict& verdict) {
  if (verdict.allowed && request.checks.has_alternatives()) [[unlikely]]
    return CountWinner(request, verdict);
  Count(request, verdict, verdict.allowed);
}

void RequestCounters::CountCharge(const ParsedRequest& request, const Charged& charged) {
  Count(request, charged.verdict, true);
  AddTo(&LimitCounters::charged_beyond, request, charged.beyond);
}

void RequestCounters::AddTo(Counter LimitCounters::*count, const ParsedRequest& request,
                            std::uint64_t checks) {
  for (; checks != 0; checks &= checks - 1) {
    CachedLimit& limit = *request.limits[static_cast<std::size_t>(std::countr_zero(checks))];
    (limits.Of(limit.counted_as, limit.counts).*count).Add();
  }
}

void RequestCounters::CountCall(const CallRequest& call, std::span<CachedLimit* const> of_checks,
                                const CallVerdict& verdict) {
  const auto has = [](std::uint64_t bits, std::size_t i) { return (bits >> i & 1) != 0; };
  std::size_t i = 0;
  for (std::size_t part = 0; part < call.parts.size(); ++part) {
    const bool is_shadow = call.parts[part].shadow;
    for (const std::size_t end = i + call.parts[part].checks; i < end; ++i) {
      if (has(verdict.repeated, i)) continue;
      const Check& check = call.checks[i];
      LimitCounters& counts = limits.Of(of_checks[i]->counted_as, of_checks[i]->counts);
      if (is_shadow && !verdict.decisions[i].allowed) {
        counts.shadow_denied.Add();
      } else if (CountDecision(counts, *check.limit, verdict.decisions[i], has(verdict.taken, i))) {
        AddKey(near_keys, check);
      }
      if (has(verdict.beyond, i)) counts.charged_beyond.Add();
      if (has(verdict.banned, i)) counts.bans.Add();
    }
    const PartVerdict& said = verdict.parts[part];
    if (!said.over || is_shadow) continue;
    CountDenied(call.checks[said.decider], of_checks[said.decider]->counted_as);
  }
  (verdict.over ? denied : allowed).Add();
}

void RequestCounters::CountThrottle(const Check& check, const Verdict& verdict) {
  if (CountDecision(limits.Of(kThrottleName, throttle_), *check.limit, verdict.decisions[0],
                    verdict.allowed)) {
    AddKey(near_keys, check);
  }
  CountRequest(verdict);
  if (!verdict.allowed) CountDenied(check, kThrottleName);
}

std::vector<TopKeys::Row> MergedKeys(std::span<const RequestCounters* const> counters,
                                     TopKeys RequestCounters::*keys, std::size_t rows_max) {
  std::vector<const TopKeys*> sketches;
  for (const RequestCounters* thread : counters) sketches.push_back(&(thread->*keys));
  return TopKeys::Merge(sketches, rows_max);
}

namespace {

std::vector<const LimitKeys*> KeysByLimit(std::span<const RequestCounters* const> counters) {
  std::vector<const LimitKeys*> threads;
  for (const RequestCounters* thread : counters) threads.push_back(&thread->keys_by_limit);
  return threads;
}

}  // namespace

std::string NameInStatistics(std::string_view limit) {
  const absl::StatusOr<LimitWord> word = ParseLimitWord(limit);
  const bool is_text = word.ok() && word->kind != LimitWord::Kind::kPolicy;
  return is_text ? NameOf(*word) : std::string(limit);
}

std::vector<TopKeys::Row> KeysOfLimit(std::span<const RequestCounters* const> counters,
                                      std::string_view limit, std::size_t rows_max) {
  return LimitKeys::Merge(KeysByLimit(counters), limit, rows_max);
}

std::vector<TopKeys::Row> RowsOfCutKeys(std::span<const RequestCounters* const> counters) {
  std::vector<TopKeys::Row> rows = LimitKeys::AllRows(KeysByLimit(counters));
  for (const auto keys : {&RequestCounters::denied_keys, &RequestCounters::near_keys}) {
    std::ranges::move(MergedKeys(counters, keys, kTopKeysMax), std::back_inserter(rows));
  }
  std::erase_if(rows, [](const TopKeys::Row& row) { return !row.is_cut(); });
  return rows;
}

LimitKeys::LimitsOfKeys LimitsOfDeniedKeys(std::span<const RequestCounters* const> counters) {
  return LimitKeys::ByKey(KeysByLimit(counters));
}

}  // namespace weir
