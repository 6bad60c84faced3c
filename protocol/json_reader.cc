#include "protocol/json_reader.h"

#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include <nlohmann/json.hpp>

#include "core/base/quote.h"

namespace weir {
namespace {

constexpr std::size_t kNumberBytesMax = 24;  // of a 64-bit integer

// The functions that nlohmann's parser calls, under the names that it wants.
class Sax {
 public:
  explicit Sax(JsonParts& parts) : parts_(parts) {}

  [[nodiscard]] absl::Status TakeStatus() { return std::move(status_); }

  // NOLINTBEGIN(readability-identifier-naming)
  bool null() { return Value({.kind = JsonKind::kNull}); }
  bool boolean(bool value) { return Value({.kind = JsonKind::kFlag, .integer = value}); }
  bool number_integer(std::int64_t number) { return Integer(number, number); }
  bool number_unsigned(std::uint64_t number) {
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    if (number > kMax) return Integer(number, std::nullopt);
    return Integer(number, static_cast<std::int64_t>(number));
  }
  bool number_float(double /*number*/, const std::string& text) {
    return Value({.kind = JsonKind::kNumber, .text = text});
  }
  bool string(const std::string& text) { return Value({.kind = JsonKind::kText, .text = text}); }
  bool binary(const nlohmann::json::binary_t& /*bytes*/) { return false; }  // not in JSON
  bool start_object(std::size_t /*fields*/) { return Begin('{'); }
  bool start_array(std::size_t /*elements*/) { return Begin('['); }
  bool key(const std::string& name) { return Goes(parts_.OnName(name)); }
  bool end_object() { return End('}'); }
  bool end_array() { return End(']'); }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::json::exception& /*error*/) {
    return Goes(absl::InvalidArgumentError(
        absl::StrCat("invalid JSON at byte ", position, ", near ", Quote(token))));
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool Goes(absl::Status status) {
    status_ = std::move(status);
    return status_.ok();
  }

  bool Value(const JsonValue& value) { return Goes(parts_.OnValue(value)); }

  template <typename Number>
  bool Integer(Number number, std::optional<std::int64_t> integer) {
    char digits[kNumberBytesMax];
    const char* const end = std::to_chars(digits, digits + kNumberBytesMax, number).ptr;
    return Value({.kind = JsonKind::kNumber, .text = {digits, end}, .integer = integer});
  }

  bool Begin(char bracket) {
    if (depth_ == kJsonDepthMax) {
      return Goes(absl::InvalidArgumentError(
          absl::StrCat("invalid JSON: deeper than ", kJsonDepthMax, " brackets")));
    }
    ++depth_;
    return Goes(parts_.OnBegin(bracket));
  }
  bool End(char bracket) {
    --depth_;
    return Goes(parts_.OnEnd(bracket));
  }

  JsonParts& parts_;
  absl::Status status_;
  std::size_t depth_ = 0;
};

}  // namespace

absl::Status ReadJson(std::string_view text, JsonParts& parts) {
  if (text.empty()) return absl::InvalidArgumentError("invalid JSON: the body is empty");
  Sax sax(parts);
  (void)nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &sax);
  return sax.TakeStatus();
}

}  // namespace weir
