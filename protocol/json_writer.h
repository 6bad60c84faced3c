// A writer of JSON that appends to a string as it goes; there is no tree.
//
//     JsonWriter json(out);                    {"allowed":true,"limits":["10/s","1000/h"]}
//     json.Object().Field("allowed", true).Array("limits");
//     for (const std::string& limit : limits) json.Value(limit);
//     json.EndArray().EndObject();
//
// A value is a text, a number, true or false, a vector of values, or null for std::nullopt and an
// empty optional. Texts are escaped, and their bytes that are not UTF-8 become U+FFFD; names are
// written as they are.
//
// The last byte of the string says whether a comma comes next. So writers are copied freely, a text
// may be continued in a later turn, and the writer does not know what is open: each Object() and
// Array() needs its end. Nothing fails. One thread at a time may write to a string. Cost: about a
// nanosecond a byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weir {

class JsonWriter {
 public:
  // `out` must outlive the writer. It is empty, or ends within a text of JSON.
  explicit JsonWriter(std::string& out) : out_(out) {}

  // Begin an object or a list: an element of a list, or the field `name` of an object.
  JsonWriter& Object() { return Begin('{'); }
  JsonWriter& Object(std::string_view name) { return Name(name).Begin('{'); }
  JsonWriter& Array() { return Begin('['); }
  JsonWriter& Array(std::string_view name) { return Name(name).Begin('['); }
  JsonWriter& EndObject() { return End('}'); }
  JsonWriter& EndArray() { return End(']'); }
  // The name of a field whose value comes next.
  JsonWriter& Name(std::string_view name);

  template <typename T>
  JsonWriter& Field(std::string_view name, const T& value) {
    Name(name).Append(value);
    return *this;
  }
  // An element of a list, or the whole text.
  template <typename T>
  JsonWriter& Value(const T& value) {
    if (NeedsComma()) out_ += ',';
    Append(value);
    return *this;
  }

 private:
  // A text ends with its quote, so the last byte is never one of its own.
  [[nodiscard]] bool NeedsComma() const {
    if (out_.empty()) return false;
    const char last = out_.back();
    return last != '{' && last != '[' && last != ':' && last != ',';
  }
  JsonWriter& Begin(char bracket) {
    if (NeedsComma()) out_ += ',';
    return End(bracket);
  }
  JsonWriter& End(char bracket) {
    out_ += bracket;
    return *this;
  }

  void Append(std::string_view text);
  void Append(std::nullopt_t /*nothing*/) { out_ += "null"; }
  template <typename T>
  void Append(const std::optional<T>& value) {
    value ? Append(*value) : Append(std::nullopt);
  }
  template <typename T>
  void Append(const std::vector<T>& values) {
    out_ += '[';
    for (const T& value : values) Value(value);
    out_ += ']';
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void Append(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += value ? "true" : "false";
    } else {
      const absl::AlphaNum digits(value);
      out_.append(digits.data(), digits.size());
    }
  }

  std::string& out_;
};

}  // namespace weir
