#include "weir/core/utf8.h"

#include <cstddef>
#include <cstdint>

namespace weir::client {
namespace {

// The bytes of the character that the text begins with; 0: it begins with none.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what is beyond the last character.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
      (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) {
    return 0;
  }
  return length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterBytes(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  while (!bytes.empty()) {
    std::size_t length = CharacterBytes(bytes);
    if (length > 0) {
      text += bytes.substr(0, length);
    } else {
      const auto byte = static_cast<std::uint8_t>(bytes.front());
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 0xF]};
      length = 1;
    }
    bytes.remove_prefix(length);
  }
  return text;
}

}  // namespace weir::client
