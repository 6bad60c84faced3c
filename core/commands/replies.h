// The replies of the commands that limit, written through a host's writer of replies: the server's
// writes RESP (protocol/resp_writer.h), the module's calls Redis (module/api/redis_reply.h).
//
// A Reply has the functions Array(n), Map(n), Bulk(text), Integer(n), ArrayOf(n, first) and
// protocol(), and for help SimpleString(text), like RespWriter, which explains them. A map of RESP3
// is an array in RESP2, without the names.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/commands/command_spec.h"
#include "core/commands/command_syntax.h"
#include "core/commands/limit_totals.h"
#include "core/commands/reply_numbers.h"
#include "core/limiter/hold_request.h"
#include "core/policies/live_bucket.h"
#include "core/policies/policies.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/rules/top_keys.h"
#include "core/words/throttle_request.h"

namespace weir {

// A name and its numbers, one for each field: an array, or in RESP3 a map with the fields' names.
template <typename Reply, typename Numbers>
void WriteNamedNumbers(Reply& reply, std::string_view name, std::span<const char* const> fields,
                       const Numbers& numbers) {
  const bool as_map = reply.protocol() != 2;
  if (as_map) {
    reply.Map(1 + fields.size());
    reply.Bulk("name");
  } else {
    reply.Array(1 + fields.size());
  }
  reply.Bulk(name);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (as_map) reply.Bulk(fields[i]);
    reply.Integer(static_cast<std::int64_t>(numbers[i]));
  }
}

// RL.ALLOW and the commands like it: [first, remaining, retry_after_ms, reset_after_ms,
// limit_index], where `first` is 0 or 1, or the number of tokens that RL.TAKE has granted.
// `with_limits` adds a sixth element, with the decision of each limit; `asked_at(i)` is the
// AskedLimit of the verdict's decision i.
template <typename Reply, typename AskedAt>
void WriteVerdict(Reply& reply, std::int64_t first, const Verdict& verdict, bool with_limits,
                  AskedAt asked_at) {
  auto numbers = VerdictNumbers(verdict);
  numbers.front() = first;
  reply.ArrayOf(numbers.size() + (with_limits ? 1 : 0), numbers);
  if (!with_limits) return;
  reply.Array(verdict.decisions.size());
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    const AskedLimit asked = asked_at(i);
    const auto decided = DecisionNumbers(asked, verdict.decisions[i]);
    WriteNamedNumbers(reply, asked.name, std::span(kDecisionFields).first(DecisionFieldsOf(asked)),
                      decided);
  }
}

// RL.SLICE: [granted, remaining, retry_after_us, reset_after_us, limit_index, life_us, changes,
// rows], with a row for each limit as above, but for its times.
template <typename Reply, typename AskedAt>
void WriteSlice(Reply& reply, const SliceGrant& slice, std::uint64_t changes, AskedAt asked_at) {
  const std::array numbers = SliceNumbers(slice, changes);
  const auto& rows = slice.verdict.decisions;
  reply.Array(numbers.size() + 1);
  for (const std::int64_t number : numbers) reply.Integer(number);
  reply.Array(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const AskedLimit asked = asked_at(i);
    auto decided = DecisionNumbers(asked, rows[i]);
    decided[3] = CeilMicros(rows[i].retry_after);
    decided[4] = CeilMicros(rows[i].reset_after);
    WriteNamedNumbers(reply, asked.name, kSliceFields, decided);
  }
}

// CL.THROTTLE: [limited, max_burst + 1, remaining, retry_after_s or -1, reset_after_s].
template <typename Reply>
void WriteThrottle(Reply& reply, const ThrottleRequest& request, const Verdict& verdict) {
  const auto seconds = [](Nanos span) {
    return std::int64_t{std::chrono::ceil<std::chrono::seconds>(span).count()};
  };
  const bool can_retry = !verdict.allowed && verdict.retry_after != kNever;
  reply.ArrayOf(5, {{verdict.allowed ? 0 : 1, request.limit.shape().burst, verdict.remaining,
                     can_retry ? seconds(verdict.retry_after) : -1, seconds(verdict.reset_after)}});
}

// RL.INSPECT: [name, remaining, reset_after_ms, used, banned_ms] for each bucket.
template <typename Reply>
void WriteLiveBuckets(Reply& reply, std::span<const LiveBucket> buckets, const Policies& policies) {
  reply.Array(buckets.size());
  for (const LiveBucket& bucket : buckets) {
    reply.Array(5);
    reply.Bulk(BucketName(policies, bucket.limit));
    reply.Integer(bucket.remaining);
    reply.Integer(CeilMillis(bucket.reset_after));
    reply.Integer(bucket.used);
    reply.Integer(CeilMillis(bucket.ban_left));
  }
}

// RL.INSPECT key HOLDS: [id, expires_in_ms, settled, limit, cost, ...] for each hold.
template <typename Reply>
void WriteLiveHolds(Reply& reply, std::span<const LiveHold> holds, const Policies& policies) {
  reply.Array(holds.size());
  for (const LiveHold& hold : holds) {
    reply.Array(3 + 2 * hold.parts.size());
    reply.Bulk(hold.id);
    reply.Integer(CeilMillis(hold.expires_in));
    reply.Integer(hold.settled ? 1 : 0);
    for (const LiveHold::Part& part : hold.parts) {
      reply.Bulk(BucketName(policies, part.limit));
      reply.Integer(TokensShown(part.cost));
    }
  }
}

// Writes the reply of RL.STATS: the name and the numbers of all requests, then of each limit, by
// name.
template <typename Reply>
void WriteStats(Reply& reply, const LimitTotals::Numbers& total, LimitTotals::Rows rows) {
  constexpr std::string_view kTotal = "(total)";  // not a label: labels have no brackets
  std::ranges::sort(rows);
  reply.Array(1 + rows.size());
  WriteNamedNumbers(reply, kTotal, LimitCounters::kNames, total);
  for (const auto& [name, numbers] : rows) {
    WriteNamedNumbers(reply, name, LimitCounters::kNames, numbers);
  }
}

// RL.TOP: [key, estimated count, maximum overestimate] for each row.
template <typename Reply>
void WriteTop(Reply& reply, std::span<const TopKeys::Row> rows) {
  reply.Array(rows.size());
  for (const TopKeys::Row& row : rows) {
    reply.Array(3);
    reply.Bulk(row.key);
    reply.Integer(static_cast<std::int64_t>(row.count));
    reply.Integer(static_cast<std::int64_t>(row.error));
  }
}

// RL.POLICY GET: the words of the policy's limits.
template <typename Reply>
void WritePolicy(Reply& reply, const Policy& policy) {
  reply.Array(policy.limits.size());
  for (const PolicyLimit& limit : policy.limits) reply.Bulk(PolicyLimitText(limit));
}

// RL.POLICY LIST: the names of the policies.
template <typename Reply>
void WritePolicyNames(Reply& reply, std::span<const std::shared_ptr<const Policy>> policies) {
  reply.Array(policies.size());
  for (const auto& policy : policies) reply.Bulk(policy->name);
}

// RL.POLICY OVERRIDES: [key, limit, ...] for each override, sorted by key. Ends after
// kOverridesShownMax of them, or with the one that reaches kOverridesBytesMax. Returns how many it
// wrote.
inline constexpr std::size_t kOverridesShownMax = 1000;
inline constexpr std::size_t kOverridesBytesMax = 256 * 1024;
template <typename Reply>
std::size_t WriteOverrides(Reply& reply, const Policy& policy) {
  constexpr std::size_t kLimitTextBytes = 128;  // about the longest
  std::vector<std::pair<std::string, PolicyLimits>> shown;
  std::size_t bytes = 0;
  policy.overrides->ForEach([&](const std::string& key, const PolicyLimits& limits) {
    shown.emplace_back(key, limits);
    bytes += key.size() + limits.size() * kLimitTextBytes;
    return shown.size() < kOverridesShownMax && bytes < kOverridesBytesMax;
  });
  reply.Array(shown.size());
  for (const auto& [key, limits] : shown) {
    reply.Array(1 + limits.size());
    reply.Bulk(key);
    for (const PolicyLimit& limit : limits) reply.Bulk(PolicyLimitText(limit));
  }
  return shown.size();
}

// The language of limits in brief, with which RL.HELP begins: at most 100 columns.
inline constexpr std::array<std::string_view, 7> kGrammarHelp = {
    "A limit is count/period, then options after commas: 10/s  100/m  10k/h  5/2s  10/s,burst=20",
    "  10/s         token bucket: 10 at once, then one every 100 ms;  10/d: the same over 24 hours",
    "  60/h,fixed   a window of an hour from the first request;  60/h,sliding",
    "  1000/day     the calendar's day: all back at midnight (UTC, or tz=...); week, month, year, "
    "too",
    "  5,held       five at a time (RL.RESERVE);  @free: a policy (RL.POLICY SET free 10/s)",
    "  cost=, keep=, ban=, name=, shadow: docs/commands.md, \"Limits\"",
    "Try RL.ALLOW user:42 10/s: allowed, remaining, retry_after_ms (-1: never), reset_after_ms, "
    "decider",
};

// RL.HELP: the language of limits, then the syntax and the summary of each RL.* row.
template <typename Reply>
void WriteHelp(Reply& reply, std::span<const CommandSpec> rows) {
  std::vector<std::string> lines(kGrammarHelp.begin(), kGrammarHelp.end());
  for (const CommandSpec& row : rows) {
    if (!row.name.starts_with("RL.")) continue;
    lines.push_back(CommandSyntax(row));
    lines.push_back("    " + std::string(row.summary));
  }
  reply.Array(lines.size());
  for (const std::string& line : lines) reply.Bulk(line);
}

// The HELP of a container, such as CLIENT HELP: the container's rows.
template <typename Reply>
void WriteContainerHelp(Reply& reply, std::string_view container,
                        std::span<const CommandSpec> rows) {
  reply.Array(1 + 2 * rows.size());
  reply.SimpleString(std::string(container) +
                     " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const CommandSpec& row : rows) {
    reply.SimpleString(CommandSyntax(row).substr(container.size() + 1));
    reply.SimpleString("    " + std::string(row.summary));
  }
}

}  // namespace weir
