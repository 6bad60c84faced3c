#include "protocol/json_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

constexpr unsigned char Byte(char c) noexcept { return static_cast<unsigned char>(c); }

bool IsAscii(char c) noexcept { return Byte(c) < 0x80; }
bool IsPlain(char c) noexcept { return IsAscii(c) && Byte(c) >= 0x20 && c != '"' && c != '\\'; }

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
    const bool is_ascii = (word & Bytes(0x80)) == 0;
    if (!is_ascii || HasLess(word, 0x20) || Has(word, '"') || Has(word, '\\')) break;
  }
  const std::string_view rest = text.substr(bytes);
  return bytes + static_cast<std::size_t>(std::ranges::find_if_not(rest, IsPlain) - rest.begin());
}

// The bytes at the front of a text that are a character of UTF-8 beyond ASCII; or those that are
// escaped or replaced together, which are one byte or the begin of a character.
struct Character {
  std::size_t bytes = 1;
  bool is_whole = false;
};

// The well-formed bytes are those of The Unicode Standard, table 3-7.
Character FrontCharacter(std::string_view text) noexcept {
  const unsigned char lead = Byte(text.front());
  if (lead < 0xc2 || lead > 0xf4) return {};
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  unsigned char min = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char max = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  std::size_t bytes = 1;
  for (; bytes < std::min(length, text.size()); ++bytes) {
    if (Byte(text[bytes]) < min || Byte(text[bytes]) > max) break;
    min = 0x80;
    max = 0xbf;
  }
  return {.bytes = bytes, .is_whole = bytes == length};
}

void AppendEscaped(char c, std::string& out) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out += '\\';
  if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
    out += kLetters[at];
  } else {
    absl::StrAppend(&out, "u", absl::Hex(Byte(c), absl::kZeroPad4));
  }
}

}  // namespace

JsonWriter& JsonWriter::Name(std::string_view name) {
  if (NeedsComma()) out_ += ',';
  out_ += '"';
  out_ += name;
  out_ += "\":";
  return *this;
}

void JsonWriter::Append(std::string_view text) {
  constexpr std::size_t kLong = 4096;  // Growing copies such a text several times.
  if (text.size() >= kLong) out_.reserve(out_.size() + text.size() + text.size() / 64);
  out_ += '"';
  std::size_t copied = 0;
  std::size_t at = PlainBytes(text);
  while (at < text.size()) {
    const Character front = FrontCharacter(text.substr(at));
    if (!front.is_whole) {
      out_ += text.substr(copied, at - copied);
      if (IsAscii(text[at])) {
        AppendEscaped(text[at], out_);
      } else {
        out_ += kReplacement;
      }
      copied = at + front.bytes;
    }
    at += front.bytes;
    at += PlainBytes(text.substr(at));
  }
  out_ += text.substr(copied);
  out_ += '"';
}

}  // namespace weir
