// The byte order mark that some editors put at the front of a file in UTF-8. All readers of users'
// text files skip it here.
#pragma once

#include <string_view>

namespace weir {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

[[nodiscard]] constexpr std::string_view WithoutByteOrderMark(std::string_view text) noexcept {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace weir
