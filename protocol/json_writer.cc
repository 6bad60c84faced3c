#include "protocol/json_writer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/base/utf8.h"

namespace weir {
namespace {

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
    const FrontBytes front = FrontCharacter(text.substr(at));
    if (!front.is_whole) {
      out_ += text.substr(copied, at - copied);
      if (IsAscii(text[at])) {
        AppendEscaped(text[at], out_);
      } else {
        out_ += kReplacementCharacter;
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
