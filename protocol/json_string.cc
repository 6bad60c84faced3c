#include "protocol/json_string.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// A word whose bytes are all `byte`.
constexpr std::uint64_t Bytes(std::uint64_t byte) noexcept { return byte * 0x0101010101010101; }

// True if a byte of `word` is less than `bound`, from 1 to 128 (S. E. Anderson's "Bit Twiddling
// Hacks", hasless).
constexpr bool HasLess(std::uint64_t word, std::uint64_t bound) noexcept {
  return ((word - Bytes(bound)) & ~word & Bytes(0x80)) != 0;
}
constexpr bool Has(std::uint64_t word, char c) noexcept {
  return HasLess(word ^ Bytes(static_cast<std::uint64_t>(c)), 1);
}

// The number of plain bytes at the front. It looks at eight at a time.
std::size_t PlainBytes(std::string_view text) noexcept {
  std::size_t bytes = 0;
  std::uint64_t word = 0;
  for (; text.size() - bytes >= sizeof word; bytes += sizeof word) {
    std::memcpy(&word, text.data() + bytes, sizeof word);
    const bool is_ascii = ((word | (word + Bytes(1))) & Bytes(0x80)) == 0;  // and no 0x7f
    if (!is_ascii || HasLess(word, 0x20) || Has(word, '"') || Has(word, '\\')) break;
  }
  return bytes + BytesThat(IsPlain, text.substr(bytes));
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
  constexpr std::size_t kLong = 4096;  // Growing copies such a text several times.
  if (text.size() >= kLong) out.reserve(out.size() + text.size() + text.size() / 64);
  out += '"';
  while (!text.empty()) {
    std::size_t taken = PlainBytes(text);
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
