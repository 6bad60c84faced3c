// How a word of a limit reads, and how a limit prints.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/rules/limit.h"
#include "core/words/limit_grammar.h"

namespace weir {

// Empty where the word reads.
[[nodiscard]] inline std::string ErrorOf(std::string_view word) {
  return std::string(StdView(ParseLimitWord(word).status().message()));
}

// Requires: there is such a limit.
[[nodiscard]] inline std::string TextOf(const LimitShape& shape) {
  return LimitText(Limit::Create(shape).value());
}

}  // namespace weir
