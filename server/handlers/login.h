// How a client becomes a user: by AUTH, or by HELLO's option of that name.
#pragma once

#include <string_view>

#include "core/base/instant.h"
#include "server/session/call.h"

namespace weir {

// After a wrong password nothing more of that connection is executed for so long.
inline constexpr Nanos kLoginDelay = std::chrono::milliseconds{100};

// Returns whether it is now that user's connection. Else it has answered the error, and nothing is
// changed.
[[nodiscard]] bool LogIn(Call& call, std::string_view user, std::string_view password);

}  // namespace weir
