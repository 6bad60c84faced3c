// The shortest exchanges with a server, and replies that many tests expect.
#pragma once

#include <string_view>

namespace weir {

inline constexpr std::string_view kPing = "PING\r\n";
inline constexpr std::string_view kPong = "+PONG\r\n";
inline constexpr std::string_view kOk = "+OK\r\n";

}  // namespace weir
