// Redis's patterns for names: * is any run of bytes, ? any byte, [a-z] and [^a] a set, and \ takes
// the next byte literally.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// A command refuses a longer pattern, or lets it match nothing if no name can be that long.
inline constexpr std::size_t kGlobPatternBytesMax = 64;

// True if the whole text matches; letters match in both cases. No recursion. Cost of a pattern of
// at most 64 bytes: its length for each different byte of the text, and a step for each byte.
[[nodiscard]] bool MatchesGlob(std::string_view pattern, std::string_view text) noexcept;

// The same for a channel's name, for patterns of any length, where the case of letters counts.
// Callers bound both lengths, and how often they match.
[[nodiscard]] bool MatchesChannel(std::string_view pattern, std::string_view channel) noexcept;

}  // namespace weir
