// A verdict as the numbers that clients see: integers, times in milliseconds rounded up, -1 for
// never.
//
// The server and the module write these same numbers in their own ways.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/commands/request_grammar.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"

namespace weir {

// Milliseconds until a retry makes sense; -1 if never.
[[nodiscard]] constexpr std::int64_t RetryMillis(Nanos retry_after) noexcept {
  return retry_after == kNever ? -1 : CeilMillis(retry_after);
}

// The numbers of a verdict, and their names.
inline constexpr std::array<const char*, 5> kVerdictFields = {
    "allowed", "remaining", "retry_after_ms", "reset_after_ms", "limit"};
[[nodiscard]] inline std::array<std::int64_t, 5> VerdictNumbers(const Verdict& verdict) noexcept {
  return {verdict.allowed ? 1 : 0, verdict.remaining, RetryMillis(verdict.retry_after),
          CeilMillis(verdict.reset_after), static_cast<std::int64_t>(verdict.limit_index)};
}

// A number of tokens that may be too great for a reply.
[[nodiscard]] constexpr std::int64_t TokensShown(std::uint64_t tokens) noexcept {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(tokens, kMax));
}

// A limit of a request, with its cost and the tokens to keep, as WITHLIMITS shows it.
struct AskedLimit {
  std::string_view name;
  const Limit* limit = nullptr;
  std::uint32_t group = 0;  // the index of its key in the command
  std::int64_t cost = 1;
  std::int64_t keep = 0;
  std::int64_t alternative = -1;  // its index, in a request that has several
};

// The limit of a check of the request.
[[nodiscard]] inline AskedLimit AskedLimitAt(const ParsedRequest& request, std::size_t check) {
  const Check& asked = request.checks[check];
  const bool has_several = request.checks.has_alternatives();
  return {request.limits[check]->name,
          asked.limit,
          request.GroupOf(check),
          asked.cost,
          asked.keep,
          has_several ? static_cast<std::int64_t>(request.checks.AlternativeOf(check)) : -1};
}

// The numbers that follow a limit's name in WITHLIMITS, and the names of these numbers. The last
// one is left out if the request has no alternatives.
inline constexpr std::array<const char*, 9> kDecisionFields = {
    "allowed", "limit", "remaining", "retry_after_ms", "reset_after_ms",
    "group",   "cost",  "keep",      "alternative"};
[[nodiscard]] inline std::size_t DecisionFieldsOf(const AskedLimit& asked) noexcept {
  return kDecisionFields.size() - (asked.alternative < 0 ? 1 : 0);
}
[[nodiscard]] inline std::array<std::int64_t, 9> DecisionNumbers(
    const AskedLimit& asked, const Decision& decision) noexcept {
  return {decision.allowed ? 1 : 0,
          asked.limit->capacity_tokens(),
          decision.remaining,
          RetryMillis(decision.retry_after),
          CeilMillis(decision.reset_after),
          std::int64_t{asked.group},
          asked.cost,
          asked.keep,
          asked.alternative};
}

// The same of RL.SLICE, whose times are in microseconds.
[[nodiscard]] constexpr std::int64_t CeilMicros(Nanos span) noexcept {
  using std::chrono::microseconds;
  return span == kNever ? -1 : std::int64_t{std::chrono::ceil<microseconds>(span).count()};
}
inline constexpr std::array<const char*, 8> kSliceFields = {
    "allowed", "limit", "remaining", "retry_after_us", "reset_after_us", "group", "cost", "keep"};
[[nodiscard]] inline std::array<std::int64_t, 7> SliceNumbers(const SliceGrant& slice,
                                                              std::uint64_t changes) noexcept {
  const Verdict& verdict = slice.verdict;
  return {slice.granted,
          verdict.remaining,
          CeilMicros(verdict.retry_after),
          CeilMicros(verdict.reset_after),
          static_cast<std::int64_t>(verdict.limit_index),
          CeilMicros(slice.life),
          TokensShown(changes)};
}

}  // namespace weir
