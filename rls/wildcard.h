// A pattern of a rule: a text in which each '*' stands for any bytes, or for none.
//
//     Wildcard("api/*/users").Fits("api/v1/users")    true; "api//users" too, "api/users" not
//
// Text before the first '*' is compared with the beginning, text behind the last one with the end,
// and the pieces between are searched for one after the other. The first place of a piece leaves
// most room for the rest, so no place is tried twice, and a text costs one pass:
//     O(bytes of the text + bytes of the pattern)
// Pure: no heap, lock or exception. Tested by wildcard_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir {

// The bytes of a text, of which four share a bit; small letters share none with digits and marks.
using ByteSet = std::uint64_t;

[[nodiscard]] constexpr ByteSet BytesOf(std::string_view text) noexcept {
  ByteSet set = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    set |= ByteSet{1} << (byte % 32 + (byte < 0x60 ? 32 : 0));
  }
  return set;
}

class Wildcard {
 public:
  // Keeps a view: `text` must outlive it.
  explicit Wildcard(std::string_view text) noexcept;

  [[nodiscard]] bool Fits(std::string_view bytes) const noexcept {
    if (!has_star_) return bytes == text_;
    if (bytes.size() < literal_bytes_ || !bytes.starts_with(head_) || !bytes.ends_with(tail_)) {
      return false;
    }
    return middle_.empty() || FitsMiddle(bytes);
  }

  // False if no text of these bytes fits, as it lacks a byte of the pattern: of many patterns, that
  // leaves few to be searched for.
  [[nodiscard]] bool MayFit(ByteSet bytes) const noexcept { return (literals_ & ~bytes) == 0; }

  // True if this pattern fits whatever `other` fits. (A '*' of `other` stands for bytes that are in
  // no pattern, so only a '*' of this one can take it: `other` is a text to be fitted.)
  [[nodiscard]] bool Covers(const Wildcard& other) const noexcept { return Fits(other.text_); }

 private:
  [[nodiscard]] bool FitsMiddle(std::string_view bytes) const noexcept;

  std::string_view text_;
  std::string_view head_;    // before the first '*'
  std::string_view tail_;    // behind the last '*'
  std::string_view middle_;  // between them: "b*c" of "a*b*c*d"
  ByteSet literals_ = 0;
  std::size_t literal_bytes_ = 0;
  bool has_star_ = false;
};

}  // namespace weir
