#include "protocol/resp_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>

#include "absl/base/attributes.h"

#include "core/base/check.h"
#include "protocol/integer.h"

namespace weir {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kNumberLineBytesMax = 1 + kIntegerBytesMax + kLineEnd.size();
constexpr std::size_t kDoubleBytesMax = 24;  // -1.2345678901234567e-308

// The two digits of each number below 100.
constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = static_cast<char>('0' + (i % 2 == 0 ? i / 20 : i / 2 % 10));
  }
  return pairs;
}();

// Writes `type`, the number and CRLF, at most kNumberLineBytesMax bytes, so that they end at `at`;
// returns their beginning. From the last digit to the first, their number need not be known.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline char* WriteNumberLineBefore(char* at, char type,
                                                                std::int64_t number) noexcept {
  const auto write_two = [&at](const char* bytes) {
    at -= 2;
    std::memcpy(at, bytes, 2);
  };
  write_two(kLineEnd.data());
  if (number >= 0 && number < 10) {  // as most counts and most waits are
    *--at = static_cast<char>('0' + number);
    *--at = type;
    return at;
  }
  auto rest = static_cast<std::uint64_t>(number);
  if (number < 0) rest = -rest;
  for (; rest >= 100; rest /= 100) write_two(&kDigitPairs[rest % 100 * 2]);
  if (rest >= 10) {
    write_two(&kDigitPairs[rest * 2]);
  } else {
    *--at = static_cast<char>('0' + rest);
  }
  if (number < 0) *--at = '-';
  *--at = type;
  return at;
}

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

void RespWriter::ArrayOf(std::size_t values, std::span<const std::int64_t> first) {
  WEIR_CHECK(first.size() <= kFirstIntegersMax);
  WEIR_DCHECK(first.size() <= values);
  std::array<char, (1 + kFirstIntegersMax) * kNumberLineBytesMax> lines;
  char* const end = lines.data() + lines.size();
  char* begin = end;
  for (std::size_t i = first.size(); i > 0; --i) {
    begin = WriteNumberLineBefore(begin, ':', first[i - 1]);
  }
  begin = WriteNumberLineBefore(begin, '*', static_cast<std::int64_t>(values));
  out_.append(begin, static_cast<std::size_t>(end - begin));
}

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
  char* const end = line.data() + line.size();
  const char* const begin = WriteNumberLineBefore(end, type, number);
  out_.append(begin, static_cast<std::size_t>(end - begin));
}

void RespWriter::Blob(char type, std::string_view mark, std::string_view bytes) {
  Header(type, static_cast<std::int64_t>(mark.size() + bytes.size()));
  out_.append(mark).append(bytes).append(kLineEnd);
}

}  // namespace weir
