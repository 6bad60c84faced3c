// The arguments of the commands that limit, for COMMAND DOCS and the syntax lines. Part of
// limit_commands.h.
#pragma once

#include <array>

#include "core/commands/command_spec.h"

namespace weir::arguments {

using Argument = ArgumentSpec;
using Arg = ArgumentSpec::Type;

inline constexpr Argument kKey = {.name = "key", .type = Arg::kKey};
inline constexpr Argument kLimits = {.name = "limit", .multiple = true};
inline constexpr Argument kCost = {
    .name = "cost", .type = Arg::kInteger, .token = "COST", .optional = true};
inline constexpr std::array kGroup = {kKey, kLimits, kCost};
inline constexpr Argument kAnd = {.name = "and",
                                  .type = Arg::kBlock,
                                  .token = "AND",
                                  .optional = true,
                                  .multiple = true,
                                  .parts = kGroup};
inline constexpr Argument kWithLimits = {
    .name = "withlimits", .type = Arg::kToken, .token = "WITHLIMITS", .optional = true};
inline constexpr Argument kAt = {
    .name = "unix-time-ns", .type = Arg::kUnixTime, .token = "AT", .optional = true};
inline constexpr Argument kUpto = {.name = "tokens", .type = Arg::kInteger, .token = "UPTO"};
inline constexpr Argument kTimeout = {
    .name = "milliseconds", .type = Arg::kInteger, .token = "TIMEOUT"};
inline constexpr std::array kDecide = {kKey, kLimits, kCost, kAnd, kWithLimits, kAt};
inline constexpr std::array kTake = {kKey, kLimits, kCost, kAnd, kUpto, kWithLimits, kAt};
inline constexpr std::array kWait = {kKey, kLimits, kCost, kTimeout, kWithLimits};
inline constexpr std::array kThrottle = {
    kKey, Argument{.name = "max-burst", .type = Arg::kInteger},
    Argument{.name = "count-per-period", .type = Arg::kInteger},
    Argument{.name = "period-seconds", .type = Arg::kInteger},
    Argument{.name = "quantity", .type = Arg::kInteger, .optional = true}};
inline constexpr Argument kPolicyName = {.name = "policy"};
inline constexpr std::array kPolicy = {kPolicyName};
inline constexpr std::array kPolicySet = {kPolicyName, kLimits};
inline constexpr std::array kPolicyOverride = {kPolicyName, kKey, kLimits};
inline constexpr std::array kPolicyKey = {kPolicyName, kKey};
inline constexpr std::array kStats = {
    Argument{.name = "reset", .type = Arg::kToken, .token = "RESET", .optional = true}};
inline constexpr std::array kTop = {
    Argument{.name = "rows", .type = Arg::kInteger, .optional = true}};
inline constexpr std::array kReset = {
    kKey, Argument{.name = "limit", .optional = true, .multiple = true}};
inline constexpr std::array kOneKey = {kKey};

}  // namespace weir::arguments
