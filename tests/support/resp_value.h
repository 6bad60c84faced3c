// Reads the replies of a server back into values. The reader is strict: it refuses everything that
// is not RESP2 or RESP3 exactly as the server writes it.
//
//     std::string_view stream = replies;
//     while (!stream.empty()) {
//       const std::optional<RespValue> reply = ReadRespValue(stream);      // unset: not
//       well-formed, or cut off
//       ...
//     }
//
// One RespValue is one reply: an aggregate has its elements inside, a map its keys and values in
// turn. Numbers must be spelled as the server spells them (no "+", no leading zero), lines end in
// CRLF, and neither a simple string nor an error may hold a control byte.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "protocol/integer.h"

namespace weir {

struct RespValue {
  char type = 0;            // '+', '-', ':', ',', '$', '_', '*', '~', '%', '='; null is always '_'
  std::string text;         // of '+', '-', ',', '$', and '=' without its "txt:"
  std::int64_t number = 0;  // of ':'
  std::vector<RespValue> elements;  // of '*', '~', and '%' (keys and values)

  [[nodiscard]] bool is_error() const { return type == '-'; }
  [[nodiscard]] bool is_aggregate() const { return type == '*' || type == '~' || type == '%'; }
  friend bool operator==(const RespValue&, const RespValue&) = default;
};

inline constexpr int kRespDepthMax = 16;  // of aggregates in aggregates; COMMAND DOCS has 9

namespace resp_value_internal {

// Takes the line at the front of `stream`, without its end.
inline std::optional<std::string_view> TakeLine(std::string_view& stream) {
  const std::size_t end = stream.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = stream.substr(0, end);
  stream.remove_prefix(end + 2);
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (line.empty() || std::ranges::any_of(line, is_control)) return std::nullopt;
  return line;
}

// Takes `bytes` bytes and the CRLF behind them.
inline std::optional<std::string_view> TakeBlob(std::string_view& stream, std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (bytes < 0 || stream.size() < 2 || stream.size() - 2 < size) return std::nullopt;
  const std::string_view blob = stream.substr(0, size);
  if (stream.substr(size, 2) != "\r\n") return std::nullopt;
  stream.remove_prefix(size + 2);
  return blob;
}

// Whether the whole text is a number.
inline bool IsDouble(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace resp_value_internal

// Takes the value at the front of `stream`. Unset if there is none; `stream` is then unspecified.
inline std::optional<RespValue> ReadRespValue(std::string_view& stream, int depth = 0) {
  namespace internal = resp_value_internal;
  if (depth > kRespDepthMax) return std::nullopt;
  const std::optional<std::string_view> line = internal::TakeLine(stream);
  if (!line) return std::nullopt;
  RespValue value;
  value.type = line->front();
  const std::string_view rest = line->substr(1);
  if (value.type == '+' || value.type == '-') {
    value.text = rest;
    return value;
  }
  if (*line == "$-1" || *line == "*-1" || *line == "_") {
    value.type = '_';
    return value;
  }
  if (value.type == ',' && internal::IsDouble(rest)) {
    value.text = rest;
    return value;
  }
  const std::optional<std::int64_t> number = ParseInteger(rest);
  if (!number) return std::nullopt;
  if (value.type == ':') {
    value.number = *number;
    return value;
  }
  if (value.type == '$' || value.type == '=') {
    std::optional<std::string_view> blob = internal::TakeBlob(stream, *number);
    if (!blob) return std::nullopt;
    if (value.type == '=') {
      if (!blob->starts_with("txt:")) return std::nullopt;
      blob->remove_prefix(4);
    }
    value.text = *blob;
    return value;
  }
  if ((value.type != '*' && value.type != '~' && value.type != '%') || *number < 0)
    return std::nullopt;
  const std::int64_t elements = value.type == '%' ? 2 * *number : *number;
  for (std::int64_t i = 0; i < elements; ++i) {
    std::optional<RespValue> element = ReadRespValue(stream, depth + 1);
    if (!element) return std::nullopt;
    value.elements.push_back(*std::move(element));
  }
  return value;
}

// All values of `stream`; unset if any part of it is not a value.
inline std::optional<std::vector<RespValue>> ReadRespValues(std::string_view stream) {
  std::vector<RespValue> values;
  while (!stream.empty()) {
    std::optional<RespValue> value = ReadRespValue(stream);
    if (!value) return std::nullopt;
    values.push_back(*std::move(value));
  }
  return values;
}

// A request as clients send it: an array of bulk strings.
template <typename Words>
[[nodiscard]] std::string RespRequest(const Words& words) {
  std::string request = "*" + std::to_string(std::size(words)) + "\r\n";
  for (const std::string_view word : words) {
    request += "$" + std::to_string(word.size()) + "\r\n";
    request += word;
    request += "\r\n";
  }
  return request;
}

// The five numbers of a decision as a RESP reply: Five("1 9 0 100 0").
[[nodiscard]] inline std::string Five(std::string_view numbers) {
  std::string bytes = "*5\r\n";
  while (!numbers.empty()) {
    const std::string_view number = numbers.substr(0, numbers.find(' '));
    bytes += ":" + std::string(number) + "\r\n";
    numbers.remove_prefix(std::min(numbers.size(), number.size() + 1));
  }
  return bytes;
}

}  // namespace weir
