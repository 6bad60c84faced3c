// Overwrites secrets, so that a later dump of the process does not have them.
#pragma once

#include <cstring>
#include <span>
#include <string>

namespace weir {

inline void Wipe(std::span<char> bytes) noexcept { explicit_bzero(bytes.data(), bytes.size()); }

// Wipes the text and leaves it empty.
inline void Wipe(std::string& text) noexcept {
  Wipe(std::span(text));
  text.clear();
}

}  // namespace weir
