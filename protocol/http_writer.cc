#include "protocol/http_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "absl/strings/ascii.h"

#include "core/base/check.h"
#include "protocol/http_status.h"
#include "protocol/integer.h"

namespace weir {
namespace {

// True of a byte that may not be in a value.
bool IsUnsafeInValue(char byte) {
  return absl::ascii_iscntrl(static_cast<unsigned char>(byte)) && byte != '\t';
}

[[maybe_unused]] bool IsNameByte(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || byte == '-';
}

bool HasNoBody(int status) { return status == 204 || status == 304; }

}  // namespace

void HttpWriter::Continue() {
  WEIR_CHECK(status_ == 0);
  out_.append("HTTP/1.1 100 Continue\r\n\r\n");
}

void HttpWriter::Begin(int status, const HttpAnswerTo& request) {
  WEIR_CHECK(status_ == 0);
  WEIR_CHECK(status >= 200 && status <= 599);
  status_ = status;
  head_only_ = request.head_only;
  const char digits[] = {static_cast<char>('0' + status / 100),
                         static_cast<char>('0' + status / 10 % 10),
                         static_cast<char>('0' + status % 10)};
  out_.append("HTTP/1.1 ").append(digits, std::size(digits)).append(" ");
  out_.append(ReasonPhrase(status)).append("\r\n");
  if (!request.date.empty()) Line("Date", request.date);
  if (request.minor_version > 0 && !request.keep_alive) Line("Connection", "close");
  if (request.minor_version == 0 && request.keep_alive) Line("Connection", "keep-alive");
  for (const HttpField& field : request.fields) Line(field.name, field.value);
}

void HttpWriter::Field(std::string_view name, std::string_view value) {
  WEIR_DCHECK(name != "Content-Length" && name != "Connection" && name != "Date");
  Line(name, value);
}

void HttpWriter::Field(std::string_view name, std::int64_t number) {
  WEIR_DCHECK(name != "Content-Length");
  Line(name, number);
}

void HttpWriter::End(std::string_view body) {
  WEIR_CHECK(status_ != 0);
  WEIR_CHECK(body.empty() || !HasNoBody(status_));
  if (!HasNoBody(status_)) Line("Content-Length", static_cast<std::int64_t>(body.size()));
  out_.append("\r\n");
  if (!head_only_) out_.append(body);
  status_ = 0;
}

void HttpWriter::Line(std::string_view name, std::string_view value) {
  WEIR_CHECK(status_ != 0);
  WEIR_DCHECK(!name.empty());
  WEIR_DCHECK(std::ranges::all_of(name, IsNameByte));
  out_.append(name).append(": ");
  const auto begin = static_cast<std::ptrdiff_t>(out_.size());
  out_.append(value);
  std::replace_if(out_.begin() + begin, out_.end(), IsUnsafeInValue, ' ');
  out_.append("\r\n");
}

void HttpWriter::Line(std::string_view name, std::int64_t number) {
  std::array<char, kIntegerBytesMax> digits;
  const char* const end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  Line(name, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

}  // namespace weir
