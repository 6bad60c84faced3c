// Whether two words of the protocol are the same: names and keywords have no case there.
#pragma once

#include <string_view>

#include "absl/strings/match.h"

#include "core/base/status.h"

namespace weir {

// ASCII letters only; other bytes are compared as they are.
[[nodiscard]] inline bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(AbslView(a), AbslView(b));
}

}  // namespace weir
