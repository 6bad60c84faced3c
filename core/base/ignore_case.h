// Comparison of two words of the protocol, whose names and keywords have no case.
#pragma once

#include <string_view>

#include "absl/strings/match.h"

#include "core/base/status.h"

namespace weir {

// Only ASCII letters have a case; other bytes are compared as they are.
[[nodiscard]] inline bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(AbslView(a), AbslView(b));
}

}  // namespace weir
