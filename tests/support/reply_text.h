// A reply in the short form of the docs, where redis-cli would use a line for each value.
//
//     1 9 0 100 0              an array of integers: the outermost brackets are left out where an
//                              array has two elements or more
//     ["10/s" 9 100]           two rows: an array inside of another begins a line of its own
//     ["1000/h" 999 3600]
//     OK   "text"   nil   ERR unknown policy 'x': RL.POLICY SET makes one
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tests/support/resp_value.h"

namespace weir {

// In double quotes, with unprintable bytes escaped as in redis-cli.
inline std::string QuotedBytes(std::string_view bytes) {
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

// `brackets` are open around the value. A map is shown as its keys and values in turn.
inline std::string ReplyText(const RespValue& value, std::size_t brackets = 0,
                             bool is_inside = false) {
  if (value.type == ':') return std::to_string(value.number);
  if (value.type == '$' || value.type == '=') return QuotedBytes(value.text);
  if (value.type == '_') return "nil";
  if (!value.is_aggregate()) return value.text;
  const bool is_bare = !is_inside && value.elements.size() > 1;
  const bool is_map = value.type == '%';
  std::string text = is_bare ? "" : is_map ? "{" : "[";
  if (!is_bare) ++brackets;
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    const RespValue& element = value.elements[i];
    const bool begins_line =
        i > 0 && (element.is_aggregate() || value.elements[i - 1].is_aggregate());
    if (i > 0) text += begins_line ? "\n" + std::string(brackets, ' ') : " ";
    text += ReplyText(element, brackets, true);
  }
  return text + (is_bare ? "" : is_map ? "}" : "]");
}

}  // namespace weir
