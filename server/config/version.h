// The versions that the server tells its clients.
#pragma once

#include <string_view>

namespace weir {

inline constexpr std::string_view kVersion = "0.1.0";

// The version of Redis whose behaviour weir follows; clients choose their features by it.
inline constexpr std::string_view kRedisVersion = "7.2.0";

}  // namespace weir
