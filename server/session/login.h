// The login of a client, by AUTH, by the AUTH option of HELLO, or over HTTP.
#pragma once

#include <string_view>

#include "core/base/instant.h"
#include "server/session/session.h"

namespace weir {

// The time after a wrong password for which the connection executes no commands.
inline constexpr Nanos kLoginDelay = std::chrono::milliseconds{100};

// The error of a wrong password.
inline constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

// Returns true if the session now belongs to `user`. Otherwise the session keeps its user and is
// paused, and the access log has the failure, with `means`, the command or header. Requires: the
// session's thread. Cost: a SHA-256, for an unknown user, too.
[[nodiscard]] bool LogIn(Session& session, std::string_view means, std::string_view user,
                         std::string_view password);

}  // namespace weir
