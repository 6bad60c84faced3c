#include "rls/wildcard.h"

#include <algorithm>
#include <cstring>

namespace weir {

Wildcard::Wildcard(std::string_view text) noexcept : text_(text) {
  const std::size_t first = text.find('*');
  if (first == std::string_view::npos) {
    literals_ = BytesOf(text);
    return;
  }
  const std::size_t last = text.rfind('*');
  has_star_ = true;
  head_ = text.substr(0, first);
  tail_ = text.substr(last + 1);
  if (last > first) middle_ = text.substr(first + 1, last - first - 1);
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.front() == '*') continue;
    literals_ |= BytesOf(text.substr(0, 1));
    ++literal_bytes_;
  }
}

bool Wildcard::FitsMiddle(std::string_view bytes) const noexcept {
  bytes.remove_prefix(head_.size());
  bytes.remove_suffix(tail_.size());
  for (std::string_view rest = middle_; !rest.empty();) {
    const std::string_view piece = rest.substr(0, rest.find('*'));
    rest.remove_prefix(std::min(rest.size(), piece.size() + 1));
    if (piece.empty()) continue;
    // memmem, unlike std::string_view::find, is linear: "aa...ab" in a text of "a" costs one pass.
    const void* const found = memmem(bytes.data(), bytes.size(), piece.data(), piece.size());
    if (found == nullptr) return false;
    bytes.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data()) +
                        piece.size());
  }
  return true;
}

}  // namespace weir
