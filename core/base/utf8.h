// UTF-8 in texts that may have any bytes.
//
//     AsUtf8("caf\xe9")   "caf" and U+FFFD
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";  // U+FFFD

// The bytes at the front of a text that are a character of UTF-8 beyond ASCII; or those that are
// escaped or replaced together, which are one byte or the begin of a character.
struct FrontBytes {
  std::size_t bytes = 1;
  bool is_whole = false;
};

// Requires: a text that is not empty. The well-formed bytes are those of The Unicode Standard,
// table 3-7.
[[nodiscard]] inline FrontBytes FrontCharacter(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0xc2 || lead > 0xf4) return {};
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  unsigned char min = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char max = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  std::size_t bytes = 1;
  for (; bytes < std::min(length, text.size()); ++bytes) {
    if (byte(bytes) < min || byte(bytes) > max) break;
    min = 0x80;
    max = 0xbf;
  }
  return {.bytes = bytes, .is_whole = bytes == length};
}

// The text, with U+FFFD for what is no UTF-8. Cost: O(bytes).
[[nodiscard]] inline std::string AsUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const FrontBytes front = FrontCharacter(text);
    const bool is_ascii = static_cast<unsigned char>(text.front()) < 0x80;
    out += is_ascii || front.is_whole ? text.substr(0, front.bytes) : kReplacementCharacter;
    text.remove_prefix(front.bytes);
  }
  return out;
}

}  // namespace weir
