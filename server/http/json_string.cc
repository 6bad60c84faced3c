#include "server/http/json_string.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

namespace weir {
namespace {

bool IsAscii(char c) noexcept { return c >= 0 && c < 0x7f; }
bool IsPlain(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

// The number of bytes at the front for which `is` is true.
std::size_t BytesThat(bool (*is)(char), std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is) - text.begin());
}

void AppendEscaped(char c, std::string& out) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '\\';
  if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
    out += kLetters[at];
  } else {
    absl::StrAppend(&out, "u", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad4));
  }
}

// The number of bytes at the front that the library must look at: what is no ASCII, and short runs
// of ASCII between. The characters of UTF-8 are whole in them.
std::size_t ForeignBytes(std::string_view text) noexcept {
  constexpr std::size_t kLong = 64;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const std::size_t ascii = BytesThat(IsAscii, text.substr(bytes));
    if (ascii >= kLong || bytes + ascii == text.size()) break;
    bytes += ascii + 1;
  }
  return bytes;
}

}  // namespace

// The library escapes and replaces any bytes, but is slow.
void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    std::size_t taken = BytesThat(IsPlain, text);
    if (taken > 0) {
      out += text.substr(0, taken);
    } else if (IsAscii(text.front())) {
      taken = 1;
      AppendEscaped(text.front(), out);
    } else {
      taken = ForeignBytes(text);
      const std::string escaped =
          nlohmann::json(text.substr(0, taken))
              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      out.append(escaped, 1, escaped.size() - 2);
    }
    text.remove_prefix(taken);
  }
  out += '"';
}

}  // namespace weir
