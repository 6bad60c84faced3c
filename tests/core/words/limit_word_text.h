// Helpers for tests: the error of a limit's word, and the text of a limit.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/rules/limit.h"
#include "core/words/limit_grammar.h"

namespace weir {

// The parser's error; empty if the word is valid.
[[nodiscard]] inline std::string ErrorOf(std::string_view word) {
  return std::string(StdView(ParseLimitWord(word).status().message()));
}

// Requires: the limit exists.
[[nodiscard]] inline std::string TextOf(const LimitShape& shape) {
  return LimitText(Limit::Create(shape).value());
}

}  // namespace weir
