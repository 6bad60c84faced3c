// The bytes of records: numbers are big-endian, and a reader takes any bytes.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

// Writes the number to `to`; returns the end of its bytes.
template <std::unsigned_integral Number>
char* PutNumber(Number number, char* to) noexcept {
  static_assert(std::endian::native == std::endian::little);
  static_assert(sizeof(Number) <= sizeof(std::uint64_t));
  if constexpr (sizeof(Number) == sizeof(std::uint16_t)) number = __builtin_bswap16(number);
  if constexpr (sizeof(Number) == sizeof(std::uint32_t)) number = __builtin_bswap32(number);
  if constexpr (sizeof(Number) == sizeof(std::uint64_t)) number = __builtin_bswap64(number);
  std::memcpy(to, &number, sizeof(number));
  return to + sizeof(number);
}

template <std::unsigned_integral Number>
void AppendNumber(Number number, std::string& out) {
  char bytes[sizeof(Number)];
  PutNumber(number, bytes);
  out.append(bytes, sizeof(bytes));
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
