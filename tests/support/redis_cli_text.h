// A reply as redis-cli shows it to a person at a terminal, without the newline at its end.
//
//     1) (integer) 1
//     2) 1) "a"          RESP3: "1~" an element of a set, "1#" a pair of a map
//        2) (nil)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/support/resp_value.h"

namespace weir {

// In double quotes, with what is not printable escaped.
inline std::string RedisCliQuoted(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr std::string_view kEscaped = "\\\"\n\r\t\a\b";
  constexpr std::string_view kLetters = "\\\"nrtab";
  std::string quoted = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (const std::size_t escape = kEscaped.find(c); escape != std::string_view::npos) {
      quoted += {'\\', kLetters[escape]};
    } else if (byte >= 0x20 && byte < 0x7f) {
      quoted += c;
    } else {
      quoted += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return quoted + "\"";
}

// `indent` stands before every line but the first.
inline std::string RedisCliText(const RespValue& value, const std::string& indent = "") {
  switch (value.type) {
    case '+':
    case '=':
      return value.text;
    case '-':
      return "(error) " + value.text;
    case ':':
      return "(integer) " + std::to_string(value.number);
    case ',':
      return "(double) " + value.text;
    case '$':
      return RedisCliQuoted(value.text);
    case '_':
      return "(nil)";
    default:
      break;
  }
  const bool map = value.type == '%';
  if (value.elements.empty()) {
    return map ? "(empty hash)" : value.type == '~' ? "(empty set)" : "(empty array)";
  }
  const std::size_t step = map ? 2 : 1;
  const std::size_t width = std::to_string(value.elements.size() / step).size();
  const std::string inner = indent + std::string(width + 2, ' ');
  std::string text;
  for (std::size_t i = 0; i < value.elements.size(); i += step) {
    const std::string number = std::to_string(i / step + 1);
    if (i > 0) text += "\n" + indent;
    text += std::string(width - number.size(), ' ') + number;
    text += map ? "# " : value.type == '~' ? "~ " : ") ";
    text += RedisCliText(value.elements[i], inner);
    if (!map) continue;
    // A value of several lines begins on a line of its own.
    const std::string shown = RedisCliText(value.elements[i + 1], inner);
    text += (shown.find('\n') == std::string::npos ? " => " : " => \n" + inner) + shown;
  }
  return text;
}

}  // namespace weir
