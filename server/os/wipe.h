// Overwrites secrets, so that a later dump of the process does not have them.
//
//     Secret password = "...";                  // wiped at its end, as are all copies of it
//     Wipe(std::span(input).first(bytes));
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace weir {

// Overwrites the vector registers through which the C library has copied a secret. They would get
// into memory: a new thread begins with those of the thread that makes it, and the dynamic linker
// saves them on the stack when it binds a function of a library late.
inline void WipeRegisters() noexcept {
  std::array<char, 1024> zeros{};
  // It copies each of these by other registers.
  for (const volatile std::size_t size : {16, 32, 64, 128, 256, 512}) {
    std::memmove(zeros.data() + 512, zeros.data(), size);
  }
}

inline void Wipe(std::span<char> bytes) noexcept {
  explicit_bzero(bytes.data(), bytes.size());
  WipeRegisters();
}

// Wipes the text and leaves it empty.
inline void Wipe(std::string& text) noexcept {
  Wipe(std::span(text));
  text.clear();
}

// A text that is wiped when it is destroyed and before it gets another value. A move copies the
// text, since a moved text would leave its bytes behind.
class Secret {
 public:
  Secret() = default;
  template <typename Text>
  requires std::is_convertible_v<const Text&, std::string_view> Secret(const Text& text)
      : text_(std::string_view(text)) {  // NOLINT(google-explicit-constructor)
    WipeRegisters();
  }
  Secret(const Secret& other) : text_(other.text_) { WipeRegisters(); }
  Secret& operator=(const Secret& other) {
    if (this == &other) return *this;
    Wipe(text_);
    text_ = other.text_;
    WipeRegisters();
    return *this;
  }
  ~Secret() { Wipe(text_); }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }

  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string text_;
};

}  // namespace weir
