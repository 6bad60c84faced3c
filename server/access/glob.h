// Redis's patterns for names: * any run, ? any byte, [a-z] [^a] a set, \ the next byte literally.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

// A longer pattern matches nothing: no name that it could be meant for is that long.
inline constexpr std::size_t kGlobPatternBytesMax = 64;

// True if the whole of `text` matches, in any case. Cost: the product of the two lengths, at most,
// however the pattern is made: there is no recursion.
[[nodiscard]] bool MatchesGlob(std::string_view pattern, std::string_view text) noexcept;

}  // namespace weir
