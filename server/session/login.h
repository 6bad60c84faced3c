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

// Returns true if the session now belongs to `user`. Otherwise nothing has changed but that the
// failure is logged, with `means`, the command or header, and the session is paused.
[[nodiscard]] bool LogIn(Session& session, std::string_view means, std::string_view user,
                         std::string_view password, Instant now);

}  // namespace weir
