// The bytes of records: numbers are big-endian, and a reader takes any bytes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

template <std::unsigned_integral Number>
void AppendNumber(Number number, std::string& out) {
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    out.push_back(static_cast<char>(static_cast<std::uint8_t>(number >> (8 * i))));
  }
}

// A cursor over bytes. Taking more than there is, or leaving some, shows in Complete().
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : bytes_(bytes) {}

  template <std::unsigned_integral Number>
  Number Take() {
    Number number = 0;
    for (const char byte : TakeBytes(sizeof(Number))) {
      number = static_cast<Number>(number << 8 | static_cast<std::uint8_t>(byte));
    }
    return number;
  }
  std::string_view TakeBytes(std::size_t count) {
    if (count > bytes_.size()) failed_ = true;
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view TakeRest() { return TakeBytes(bytes_.size()); }
  void Expect(char prefix) {
    if (Take<std::uint8_t>() != static_cast<std::uint8_t>(prefix)) failed_ = true;
  }
  // For a number that no writer has written.
  void Fail() { failed_ = true; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size(); }
  [[nodiscard]] bool Complete() const { return !failed_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace weir
