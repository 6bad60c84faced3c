// The login of a client, by AUTH or by the AUTH option of HELLO.
#pragma once

#include <string_view>

#include "core/base/instant.h"
#include "server/session/call.h"

namespace weir {

// The time after a wrong password for which the connection executes no commands.
inline constexpr Nanos kLoginDelay = std::chrono::milliseconds{100};

// Returns true if the connection now belongs to `user`. Otherwise it has replied with the error,
// and nothing has changed.
[[nodiscard]] bool LogIn(Call& call, std::string_view user, std::string_view password);

}  // namespace weir
