// The error of words that name no command, in Redis's text: clients match on its beginning. It may
// end with what was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weir {

// Requires: there is a word, and FindRequested(words) finds no row.
[[nodiscard]] std::string UnknownCommand(std::span<const std::string_view> words);

}  // namespace weir
