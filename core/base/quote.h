// A client's word as error messages show it: in single quotes, cut to a length that fits a line.
//
// Control bytes are left in: the writer of a reply or of a log line escapes the whole line once.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

// Bytes of a client's word that are echoed; a longer word ends in "...".
inline constexpr std::size_t kQuotedBytesMax = 128;

[[nodiscard]] inline std::string Quote(std::string_view word) {
  std::string quoted = "'";
  quoted += word.substr(0, kQuotedBytesMax);
  quoted += word.size() > kQuotedBytesMax ? "...'" : "'";
  return quoted;
}

}  // namespace weir
