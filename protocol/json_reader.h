// A reader of JSON that builds no tree: it calls a function for each part of a text.
//
//     {"key":"k","cost":1}    OnBegin('{') OnName("key") OnValue("k") OnName("cost") OnValue(1)
//                             OnEnd('}')
//
// The grammar is that of nlohmann's parser: RFC 8259, without comments, in UTF-8. Arrays and
// objects may be kJsonDepthMax deep. A number that a double cannot hold is an error.
//
// Readers share nothing, so threads need no lock. Cost: about a microsecond for 128 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace weir {

inline constexpr std::size_t kJsonDepthMax = 16;

// An object comes in its parts, so no JsonValue is one.
enum class JsonKind : std::uint8_t { kText, kNumber, kFlag, kNull, kObject };

// A value without brackets.
struct JsonValue {
  JsonKind kind;
  std::string_view text{};  // of a number as it is spelled
  // The value of a whole number of 64 bits that is written without a fraction and an exponent; 1
  // for true, 0 for false, and nothing for any other value.
  std::optional<std::int64_t> integer{};
};

// The parts of a text, in their order. A status that is not OK ends the reading. The views last
// until a function returns.
class JsonParts {
 public:
  // An object ('{') or an array ('['), and its end ('}' or ']').
  virtual absl::Status OnBegin(char bracket) = 0;
  virtual absl::Status OnEnd(char bracket) = 0;
  // The name of a field.
  virtual absl::Status OnName(std::string_view name) = 0;
  virtual absl::Status OnValue(const JsonValue& value) = 0;

 protected:
  ~JsonParts() = default;
};

// Calls the functions of `parts` for all of `text`. Fails with kInvalidArgument and the place if it
// is not JSON, or as the functions do; some have been called by then.
[[nodiscard]] absl::Status ReadJson(std::string_view text, JsonParts& parts);

}  // namespace weir
