// The meaning of an error of the server: an outage that passes, or a mistake to be mended.
//
//     LOADING weir is loading its state from disk    an outage, "loading"
//     NOPERM this user has no permissions ...        a mistake; after the first success of this
//                                                    Limiter an outage, "login": passwords change
//     ERR invalid limit '10/x': ...                  a mistake
#pragma once

#include <string_view>

#include "weir/core/answer.h"

namespace weir::client {

inline constexpr std::string_view kTimeout = "timeout";
inline constexpr std::string_view kConnection = "connection";
inline constexpr std::string_view kNoPrimary = "noprimary";
inline constexpr std::string_view kBusy = "busy";

// The cause of an outage; empty for a mistake. Requires: an Answer that is refused.
[[nodiscard]] std::string_view CauseOf(const Answer& refused, bool has_succeeded);

// Whether another server may have become the primary.
[[nodiscard]] bool LeavesServer(const Answer& refused);

// Whether the connection is of no use any longer.
[[nodiscard]] bool LeavesConnection(const Answer& refused);

// Whether the error says that the server is too old for the command.
[[nodiscard]] bool IsUnknownCommand(std::string_view error);

}  // namespace weir::client
