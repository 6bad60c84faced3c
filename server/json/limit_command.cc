#include "server/json/limit_command.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

using enum LimitField;

constexpr LimitFields kOfAll = {kKey, kLimits, kCost, kAnd, kDetails};
constexpr LimitFields kAsked = {kKey, kLimits};
constexpr LimitFields kSettled = {kKey, kHold};

constexpr auto kLimitCommands = std::to_array<LimitCommand>({
    {.name = "allow", .command = "RL.ALLOW", .takes = kOfAll, .needs = kAsked},
    {.name = "cancel",
     .command = "RL.CANCEL",
     .takes = {kKey, kAnd, kDetails, kHold},
     .needs = kSettled},
    {.name = "charge", .command = "RL.CHARGE", .takes = kOfAll, .needs = kAsked},
    {.name = "commit",
     .command = "RL.COMMIT",
     .takes = {kKey, kLimits, kCost, kAnd, kDetails, kHold},
     .needs = kSettled},
    {.name = "peek", .command = "RL.PEEK", .takes = kOfAll, .needs = kAsked},
    {.name = "refund", .command = "RL.REFUND", .takes = kOfAll, .needs = kAsked},
    {.name = "reserve",
     .command = "RL.RESERVE",
     .takes = {kKey, kLimits, kCost, kAnd, kDetails, kHold, kTtl},
     .needs = {kKey, kLimits, kHold, kTtl}},
    {.name = "take",
     .command = "RL.TAKE",
     .takes = {kKey, kLimits, kCost, kAnd, kDetails, kUpto, kHold, kTtl},
     .needs = {kKey, kLimits, kUpto}},
});

}  // namespace

const LimitCommand* FindLimitCommand(std::string_view name) noexcept {
  const auto* const found = std::ranges::find(kLimitCommands, name, &LimitCommand::name);
  return found == kLimitCommands.end() ? nullptr : found;
}

}  // namespace weir
