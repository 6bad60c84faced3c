// The versions that the server tells its clients.
#pragma once

#include <string_view>

namespace weir {

// "0.2.0": the version in the top CMakeLists.txt.
extern const std::string_view kVersion;
// The day of that version, "2026-11-25", which manual pages show.
extern const std::string_view kVersionDate;

// The version of Redis whose behaviour weir follows; clients choose their features by it.
inline constexpr std::string_view kRedisVersion = "7.2.0";

}  // namespace weir
