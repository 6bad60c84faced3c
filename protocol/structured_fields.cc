#include "protocol/structured_fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"

#include "core/base/check.h"
#include "core/base/status.h"
#include "protocol/integer.h"

namespace weir {
namespace {

bool IsStructuredInteger(std::int64_t number) {
  return number >= -kStructuredIntegerMax && number <= kStructuredIntegerMax;
}

[[maybe_unused]] bool IsKeyByte(char byte) {
  const auto letter = static_cast<unsigned char>(byte);
  return absl::ascii_islower(letter) || absl::ascii_isdigit(letter) ||
         std::string_view("_-.*").find(byte) != std::string_view::npos;
}

}  // namespace

void StructuredList::String(std::string_view text) {
  BeginItem();
  Quoted(text);
}

void StructuredList::Integer(std::int64_t number) {
  WEIR_CHECK(IsStructuredInteger(number));
  BeginItem();
  Number(number);
}

void StructuredList::Parameter(std::string_view key, std::int64_t number) {
  if (!IsStructuredInteger(number)) return;
  Key(key);
  Number(number);
}

void StructuredList::Parameter(std::string_view key, std::string_view text) {
  Key(key);
  Quoted(text);
}

void StructuredList::BytesParameter(std::string_view key, std::string_view bytes) {
  Key(key);
  std::string base64;
  absl::Base64Escape(AbslView(bytes), &base64);
  out_.append(":").append(base64).append(":");
}

void StructuredList::BeginItem() {
  if (!empty_) out_.append(", ");
  empty_ = false;
}

void StructuredList::Key(std::string_view key) {
  WEIR_CHECK(!empty_);
  WEIR_DCHECK(!key.empty());
  WEIR_DCHECK(absl::ascii_islower(static_cast<unsigned char>(key.front())));
  WEIR_DCHECK(std::ranges::all_of(key, IsKeyByte));
  out_.append(";").append(key).append("=");
}

void StructuredList::Quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out_.push_back('"');
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (!absl::ascii_isprint(code) || byte == '%') {
      out_.push_back('%');
      out_.push_back(kDigits[code / 16]);
      out_.push_back(kDigits[code % 16]);
    } else {
      if (byte == '"' || byte == '\\') out_.push_back('\\');
      out_.push_back(byte);
    }
  }
  out_.push_back('"');
}

void StructuredList::Number(std::int64_t number) {
  std::array<char, kIntegerBytesMax> digits;
  const char* const end = std::to_chars(digits.begin(), digits.end(), number).ptr;
  out_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

}  // namespace weir
