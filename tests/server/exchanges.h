// The shortest exchanges with a server, and replies that many tests expect.
#pragma once

#include <string_view>

namespace weir {

inline constexpr std::string_view kPing = "PING\r\n";
inline constexpr std::string_view kPong = "+PONG\r\n";
inline constexpr std::string_view kOk = "+OK\r\n";
inline constexpr std::string_view kWrongPassword =
    "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
inline constexpr std::string_view kBadName =
    "-ERR Client names cannot contain spaces, newlines or special characters.\r\n";

}  // namespace weir
