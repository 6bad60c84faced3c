#include "protocol/resp_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "core/base/check.h"
#include "protocol/integer.h"

namespace weir {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kNumberLineBytesMax = 1 + kIntegerBytesMax + kLineEnd.size();
constexpr std::size_t kDoubleBytesMax = 24;  // -1.2345678901234567e-308

// Writes `type`, the number and CRLF, at most kNumberLineBytesMax bytes; returns their end.
char* WriteNumberLine(char* at, char type, std::int64_t number) noexcept {
  *at++ = type;
  if (number >= 0 && number <= 9) {
    *at++ = static_cast<char>('0' + number);
  } else {
    at = std::to_chars(at, at + kIntegerBytesMax, number).ptr;
  }
  return at + kLineEnd.copy(at, kLineEnd.size());
}

bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

}  // namespace

void RespWriter::set_protocol(int version) noexcept {
  WEIR_CHECK(version == 2 || version == 3);
  version_ = version;
}

void RespWriter::SimpleString(std::string_view text) {
  WEIR_DCHECK(std::ranges::none_of(text, IsControl));
  out_.push_back('+');
  out_.append(text).append(kLineEnd);
}

void RespWriter::Error(std::string_view text) {
  out_.push_back('-');
  const std::size_t begin = out_.size();
  out_.append(text.substr(0, kErrorBytesMax));
  std::replace_if(out_.begin() + static_cast<std::ptrdiff_t>(begin), out_.end(), IsControl, ' ');
  out_.append(kLineEnd);
}

void RespWriter::TakeBack(std::size_t size) {
  WEIR_CHECK(size <= out_.size());
  out_.resize(size);
}

void RespWriter::Integer(std::int64_t number) { Header(':', number); }

void RespWriter::Integers(std::span<const std::int64_t> numbers) {
  constexpr std::size_t kAtOnce = 8;
  std::array<char, kAtOnce * kNumberLineBytesMax> lines;
  while (!numbers.empty()) {
    char* end = lines.data();
    const auto some = numbers.first(std::min(numbers.size(), kAtOnce));
    for (const std::int64_t number : some) end = WriteNumberLine(end, ':', number);
    out_.append(lines.data(), static_cast<std::size_t>(end - lines.data()));
    numbers = numbers.subspan(some.size());
  }
}

void RespWriter::Double(double number) {
  WEIR_CHECK(std::isfinite(number));
  std::array<char, kDoubleBytesMax> digits;
  const std::to_chars_result written = std::to_chars(digits.begin(), digits.end(), number);
  WEIR_CHECK(written.ec == std::errc());
  const std::string_view text(digits.data(), static_cast<std::size_t>(written.ptr - digits.data()));
  if (version_ == 2) return Bulk(text);
  out_.push_back(',');
  out_.append(text).append(kLineEnd);
}

void RespWriter::Bulk(std::string_view bytes) { Blob('$', "", bytes); }

void RespWriter::Null() { out_.append(version_ == 2 ? "$-1\r\n" : "_\r\n"); }

void RespWriter::NullArray() { out_.append(version_ == 2 ? "*-1\r\n" : "_\r\n"); }

void RespWriter::Array(std::size_t values) { Header('*', static_cast<std::int64_t>(values)); }

void RespWriter::Set(std::size_t values) {
  Header(version_ == 2 ? '*' : '~', static_cast<std::int64_t>(values));
}

void RespWriter::Push(std::size_t values) {
  Header(version_ == 2 ? '*' : '>', static_cast<std::int64_t>(values));
}

void RespWriter::Map(std::size_t pairs) {
  WEIR_CHECK(pairs <= std::numeric_limits<std::size_t>::max() / 2);
  if (version_ == 2) return Array(2 * pairs);
  Header('%', static_cast<std::int64_t>(pairs));
}

void RespWriter::Verbatim(std::string_view text) {
  if (version_ == 2) return Bulk(text);
  Blob('=', "txt:", text);
}

void RespWriter::Header(char type, std::int64_t number) {
  WEIR_DCHECK(number >= 0 || type == ':');
  std::array<char, kNumberLineBytesMax> line;
  const char* const end = WriteNumberLine(line.data(), type, number);
  out_.append(line.data(), static_cast<std::size_t>(end - line.data()));
}

void RespWriter::Blob(char type, std::string_view mark, std::string_view bytes) {
  Header(type, static_cast<std::int64_t>(mark.size() + bytes.size()));
  out_.append(mark).append(bytes).append(kLineEnd);
}

}  // namespace weir
