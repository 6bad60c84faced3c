// The rule for names of clients and libraries.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace weir {

inline constexpr std::size_t kClientNameBytesMax = 256;
inline constexpr const char* kBadClientName =
    "Client names cannot contain spaces, newlines or special characters.";

// True if the name fits in a line of CLIENT LIST: printable characters, no space.
[[nodiscard]] inline bool IsClientName(std::string_view name) {
  return name.size() <= kClientNameBytesMax &&
         std::ranges::all_of(name, [](char c) { return c >= '!' && c <= '~'; });
}

}  // namespace weir
