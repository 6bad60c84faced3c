// A writer of Lists of RFC 9651 (Structured Field Values for HTTP), as RateLimit and
// RateLimit-Policy are, which appends them to a string: the value of a field.
//
//     StructuredList list(value);
//     list.String("burst");
//     list.Parameter("q", 100);
//     list.Parameter("w", 60);
//     list.String("daily");
//     list.Parameter("q", 1000);
//
// writes
//
//     "burst";q=100;w=60, "daily";q=1000
//
// A String has only bytes from 0x20 to 0x7e, a quote and a backslash with a backslash before them.
// Any other byte, and "%", is written as "%" and two hexadecimal digits in lower case, as RFC 9651
// encodes a Display String: so two texts always differ, and a text of letters, digits and _ - . :
// (a label, a policy) stays as it is.
//
// An Integer has at most 15 digits. A number that has more is left out with its key: a reader takes
// the parameter as absent.
//
// Not thread safe; each call is a few appends. Tests: structured_fields_test.cc, which reads the
// output back with a parser of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::int64_t kStructuredIntegerMax = 999'999'999'999'999;

class StructuredList {
 public:
  // Appends to `out`, which must outlive the list.
  explicit StructuredList(std::string& out) noexcept : out_(out) {}
  StructuredList(const StructuredList&) = delete;
  StructuredList& operator=(const StructuredList&) = delete;

  // True if it has no item. RFC 9651 has no empty List: its field is not sent.
  [[nodiscard]] bool empty() const noexcept { return empty_; }

  // Append an item. Requires of a number: at most 15 digits.
  void String(std::string_view text);
  void Integer(std::int64_t number);

  // Append a parameter of the last item: an Integer, a String or a Byte Sequence. Requires: there
  // is an item, which has no such key; `key` begins with a letter, and has only lower-case letters,
  // digits and _ - . * in it.
  void Parameter(std::string_view key, std::int64_t number);
  void Parameter(std::string_view key, std::string_view text);
  void BytesParameter(std::string_view key, std::string_view bytes);

 private:
  void BeginItem();
  void Key(std::string_view key);
  void Quoted(std::string_view text);
  void Number(std::int64_t number);

  std::string& out_;
  bool empty_ = true;
};

}  // namespace weir
