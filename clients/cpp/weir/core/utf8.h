// Texts of UTF-8, in which fields and error messages are written.
#pragma once

#include <string>
#include <string_view>

namespace weir::client {

[[nodiscard]] bool IsUtf8(std::string_view text);

// The text with "\xff" in place of each byte that is not of a character.
[[nodiscard]] std::string ToUtf8(std::string_view bytes);

}  // namespace weir::client
