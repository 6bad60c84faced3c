// The rows of the commands that limit: RL.* and CL.THROTTLE. The command tables of the server and
// of the module include them.
#pragma once

#include <array>
#include <string_view>

#include "core/commands/command_spec.h"
#include "core/commands/limit_examples.h"
#include "core/commands/limit_handlers.h"

namespace weir::rows {

using Handlers = LimitHandlers<LimitHost>;

inline constexpr KeyPositions kOneKey = {.first = 1, .last = 1, .step = 1};
inline constexpr KeyPositions kPolicyKey = {.first = 3, .last = 3, .step = 1};
inline constexpr std::string_view kDecideSyntax =
    "key limit [limit ...] [COST cost] [AND (key limit [limit ...] [COST cost]) ...] [WITHLIMITS] "
    "[AT unix-time-ns]";
inline constexpr std::string_view kChoiceSyntax =
    "key limit [limit ...] [COST cost] [AND (key limit [limit ...] [COST cost]) ...] "
    "[OR (key limit [limit ...] [COST cost] [AND (key limit [limit ...] [COST cost]) ...]) ...] "
    "[WITHLIMITS] [AT unix-time-ns]";

inline constexpr std::array kLimitCommands = {
    CommandSpec{.name = "CL.THROTTLE",
                .arity = Between(5, 6),
                .flags = kWrite | kDenyOom | kFast | kApplication | kEdgePasses,
                .keys = kOneKey,
                .group = "limit",
                .summary =
                    "Takes tokens as redis-cell does: one bucket a key. Answers limited (0 or 1), "
                    "the limit, remaining, seconds to retry (-1: no need, or never), and "
                    "seconds until full.",
                .syntax = "key max-burst count-per-period period-seconds [quantity]",
                .examples = examples::kThrottle,
                .handler = Handlers::Throttle},
    CommandSpec{
        .name = "RL.ALLOW",
        .arity = AtLeast(3),
        .flags = kWrite | kDenyOom | kFast | kAndKeys | kApplication | kEdgeRuns | kEdgePasses,
        .keys = kOneKey,
        .group = "limit",
        .complexity = "O(limits)",
        .summary = "Takes tokens from all limits or from none; of alternatives (OR) from the first "
                   "that passes. Answers allowed (0 or 1), remaining tokens, retry_after_ms (-1: "
                   "never), reset_after_ms, and which limit decided.",
        .syntax = kChoiceSyntax,
        .examples = examples::kAllow,
        .handler = Handlers::Allow},
    CommandSpec{
        .name = "RL.CHARGE",
        .arity = AtLeast(3),
        .flags = kWrite | kDenyOom | kFast | kAndKeys | kAlwaysChanges | kApplication | kEdgePasses,
        .keys = kOneKey,
        .group = "limit",
        .since = "0.2.0",
        .complexity = "O(limits)",
        .summary =
            "Charges all limits for what has been used already, whether the tokens are "
            "there or not. Answers whether RL.ALLOW would have admitted it (1 or 0), remaining "
            "tokens, the time until each limit has one, reset_after_ms, and which limit "
            "decided.",
        .syntax = kDecideSyntax,
        .examples = examples::kCharge,
        .handler = Handlers::Charge},
    CommandSpec{.name = "RL.HELP",
                .arity = Exactly(1),
                .flags = kLoading | kApplication | kEdgeRuns,
                .group = "limit",
                .summary = "Explains limits in a few lines, and lists the RL commands.",
                .handler = Handlers::Help},
    CommandSpec{.name = "RL.INSPECT",
                .arity = Between(2, 3),
                .flags = kReadOnly | kApplication | kEdgePasses,
                .keys = kOneKey,
                .group = "limit",
                .complexity = "O(limits in use), at most a scan of 1/4096 of the table",
                .summary =
                    "Lists the key's buckets that are not full, 1,024 at most: limit, remaining, "
                    "reset_after_ms, the tokens used, debts included, and banned_ms (0: not "
                    "banned). HOLDS: its holds instead, 1,024 at most that have 4,096 limits "
                    "together, each with id, expires_in_ms, settled (0 or 1), and the limits and "
                    "costs that it has reserved.",
                .syntax = "key [HOLDS]",
                .examples = examples::kInspect,
                .handler = Handlers::Inspect},
    CommandSpec{.name = "RL.PEEK",
                .arity = AtLeast(3),
                .flags = kReadOnly | kFast | kAndKeys | kApplication | kEdgePasses,
                .keys = kOneKey,
                .group = "limit",
                .complexity = "O(limits)",
                .summary = "Answers what RL.ALLOW would answer, and changes nothing.",
                .syntax = kChoiceSyntax,
                .examples = examples::kPeek,
                .handler = Handlers::Peek},
    CommandSpec{.name = "RL.POLICY",
                .arity = AtLeast(2),
                .flags = kContainer,
                .group = "limit",
                .summary = "Commands about policies: named lists of limits, used as @name."},
    CommandSpec{.name = "RL.POLICY|DEL",
                .arity = Exactly(3),
                .flags = kWrite | kAdmin | kAlwaysChanges | kWholeTable,
                .group = "limit",
                .complexity = "O(buckets)",
                .summary =
                    "Deletes a policy, its overrides and its buckets. They are dropped while other "
                    "clients are served, and the answer comes when all are gone; in a transaction "
                    "and over HTTP it comes before.",
                .syntax = "policy",
                .handler = Handlers::PolicyDel},
    CommandSpec{.name = "RL.POLICY|GET",
                .arity = Exactly(3),
                .flags = kReadOnly | kFast | kApplication | kEdgePasses,
                .work = kManyTextsWork,
                .group = "limit",
                .summary = "Returns the limits of a policy, null if there is none.",
                .syntax = "policy",
                .handler = Handlers::PolicyGet},
    HelpRow("RL.POLICY|HELP", "limit"),
    CommandSpec{.name = "RL.POLICY|LIST",
                .arity = Exactly(2),
                .flags = kReadOnly | kEdgePasses,
                .work = kListWork,
                .group = "limit",
                .complexity = "O(policies)",
                .summary = "Returns the names of the policies, retired ones included.",
                .handler = Handlers::PolicyList},
    CommandSpec{.name = "RL.POLICY|OVERRIDE",
                .arity = AtLeast(5),
                .flags = kWrite | kAdmin | kAlwaysChanges,
                .keys = kPolicyKey,
                .group = "limit",
                .summary =
                    "Gives one key other limits than the policy's. Its debts stay, position by "
                    "position, but are cut to what those limits can owe at most: the key waits no "
                    "longer than if it had just used them up. Bans and holds stay.",
                .syntax = "policy key limit [limit ...]",
                .examples = examples::kPolicyOverride,
                .handler = Handlers::PolicyOverride},
    CommandSpec{.name = "RL.POLICY|OVERRIDES",
                .arity = Exactly(3),
                .flags = kReadOnly | kAdmin | kWholeTable | kEdgePasses,
                .group = "limit",
                .complexity = "O(overrides)",
                .summary =
                    "Lists the keys that have other limits, and those limits: the first by key, at "
                    "most 1,000 or about 256 KiB.",
                .syntax = "policy",
                .handler = Handlers::PolicyOverrides},
    CommandSpec{.name = "RL.POLICY|RELOAD",
                .arity = Exactly(2),
                .flags = kWrite | kAdmin | kAlwaysChanges | kNotInTransaction,
                .group = "limit",
                .complexity = "O(policies)",
                .summary =
                    "Reads the policy file again, as SIGHUP does. A file with a mistake or without "
                    "a policy changes nothing. A policy that the file no longer has is retired: "
                    "requests may not use it, and its overrides and buckets stay until "
                    "RL.POLICY DEL. Other clients are served while it is read. Not over HTTP.",
                .handler = Handlers::PolicyReload},
    CommandSpec{
        .name = "RL.POLICY|SET",
        .arity = AtLeast(4),
        .flags = kWrite | kAdmin | kAlwaysChanges | kWholeTable,
        .group = "limit",
        .complexity = "O(1), with TRIM O(buckets)",
        .summary =
            "Makes a policy, or gives it other limits; every key's debts stay, in time. TRIM "
            "cuts them as OVERRIDE does, for all keys, also with the present limits: in "
            "parts, while other clients are served, and answers when all are cut. Not with "
            "TRIM: in a transaction, in a script, over HTTP.",
        .syntax = "policy limit [limit ...] [TRIM]",
        .examples = examples::kPolicySet,
        .handler = Handlers::PolicySet},
    CommandSpec{.name = "RL.POLICY|UNOVERRIDE",
                .arity = Exactly(4),
                .flags = kWrite | kAdmin | kAlwaysChanges,
                .keys = kPolicyKey,
                .group = "limit",
                .summary =
                    "Gives a key the policy's limits again, and cuts no debt. Returns 1 if it had "
                    "others, else 0.",
                .syntax = "policy key",
                .examples = examples::kPolicyUnoverride,
                .handler = Handlers::PolicyUnoverride},
    CommandSpec{.name = "RL.REFUND",
                .arity = AtLeast(3),
                .flags = kWrite | kFast | kAndKeys | kAlwaysChanges | kApplication | kEdgePasses,
                .keys = kOneKey,
                .group = "limit",
                .complexity = "O(limits)",
                .summary =
                    "Gives tokens back to all limits, never past full; a window gets back what its "
                    "current window holds.",
                .syntax = kDecideSyntax,
                .examples = examples::kRefund,
                .handler = Handlers::Refund},
    CommandSpec{
        .name = "RL.RESET",
        .arity = AtLeast(2),
        .flags = kWrite | kAlwaysChanges | kAdmin,
        .keys = kOneKey,
        .group = "limit",
        .complexity = "O(limits in use), at most a scan of 1/4096 of the table",
        .summary =
            "Forgets the key's buckets: those of the limits, or all. Returns how many were not "
            "full.",
        .syntax = "key [limit ...]",
        .examples = examples::kReset,
        .handler = Handlers::Reset},
    CommandSpec{
        .name = "RL.STATS",
        .arity = Between(1, 2),
        .flags = kReadOnly | kAdmin | kEdgeRuns,
        .work = kListWork,
        .group = "limit",
        .complexity = "O(limits)",
        .summary =
            "Counts decisions since the last RESET, of all requests and of each limit: allowed, "
            "denied, shadow-denied, near-limit (80 % used), bans, charged-beyond (RL.CHARGE took "
            "more than was left). RESET forgets them and RL.TOP.",
        .syntax = "[RESET]",
        .examples = examples::kStats,
        .handler = Handlers::Stats},
    CommandSpec{
        .name = "RL.TAKE",
        .arity = AtLeast(3),
        .flags = kWrite | kDenyOom | kFast | kAndKeys | kApplication | kEdgePasses,
        .keys = kOneKey,
        .group = "limit",
        .complexity = "O(limits)",
        .summary =
            "Takes as many tokens as all limits have, UPTO at most. Answers as RL.ALLOW does, "
            "and the tokens granted in the place of allowed. With HOLD, the tokens are held as "
            "RL.RESERVE holds them.",
        .syntax = "key limit [limit ...] [COST cost] [AND (key limit [limit ...] [COST cost]) ...] "
                  "UPTO tokens [HOLD (id TTL milliseconds)] [WITHLIMITS] [AT unix-time-ns]",
        .examples = examples::kTake,
        .handler = Handlers::Take},
    CommandSpec{.name = "RL.THROTTLE",
                .arity = Between(5, 6),
                .flags = kWrite | kDenyOom | kFast | kApplication | kEdgePasses,
                .keys = kOneKey,
                .group = "limit",
                .summary = "The same as CL.THROTTLE.",
                .syntax = "key max-burst count-per-period period-seconds [quantity]",
                .examples = examples::kRlThrottle,
                .handler = Handlers::Throttle},
    CommandSpec{.name = "RL.TOP",
                .arity = Between(1, 4),
                .flags = kReadOnly | kAdmin | kEdgeRuns,
                .work = kListWork,
                .group = "limit",
                .complexity = "O(1000 * threads)",
                .summary =
                    "Lists the keys denied most (10, at most 1,000): key (its first 128 bytes), "
                    "estimated denials, and maximum overestimate. NEAR: the keys admitted most "
                    "often with at least 80 % of a limit in use, and how often that was. LIMIT: "
                    "the keys that one limit, by its name in RL.STATS, has denied most since a "
                    "thread counts them: a thread does for 64 limits, 32 keys of each.",
                .syntax = "[rows] [of=(NEAR|LIMIT name)]",
                .examples = examples::kTop,
                .handler = Handlers::Top},
    CommandSpec{
        .name = "RL.WAIT",
        .arity = AtLeast(3),
        .flags = kWrite | kDenyOom | kAndKeys | kApplication | kBlocking,
        .keys = kOneKey,
        .group = "limit",
        .complexity = "O(limits)",
        .summary =
            "Takes tokens as RL.ALLOW does, future ones if necessary, and answers when all of them "
            "are there: first come, first served at each bucket. Denies at once if that takes more "
            "than TIMEOUT ms.",
        .syntax = "key limit [limit ...] [COST cost] [AND (key limit [limit ...] [COST cost]) ...] "
                  "TIMEOUT milliseconds [WITHLIMITS]",
        .examples = examples::kWait,
        .handler = Handlers::Wait},
};

}  // namespace weir::rows
