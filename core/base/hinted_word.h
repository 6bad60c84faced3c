// A word of a client as a hint repeats it, to be typed: "did you mean 10M/s?"
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/base/quote.h"

namespace weir {

// The word as it is, if all its bytes are those of limits, options and paths; else quoted, so that
// nothing of it reads as a part of the sentence.
[[nodiscard]] inline std::string HintedWord(std::string_view word) {
  constexpr std::string_view kMarks = "_-.:,=@/+~";
  const auto is_plain = [kMarks](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  };
  const bool is_bare =
      word.size() <= kQuotedBytesMax && std::all_of(word.begin(), word.end(), is_plain);
  return is_bare ? std::string(word) : Quote(word);
}

}  // namespace weir
