// Two additions to absl::Status: an early return, and std::string_view in its messages.
//
// Debian's abseil has its own string_view, so a std::string_view does not convert to absl::StrCat
// or to the absl::*Error() constructors; AbslView is the one place that converts.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#define WEIR_RETURN_IF_ERROR(expression)                              \
  do {                                                                \
    if (absl::Status weir_status = (expression); !weir_status.ok()) { \
      return weir_status;                                             \
    }                                                                 \
  } while (false)

namespace weir {

[[nodiscard]] inline absl::string_view AbslView(std::string_view text) noexcept {
  return {text.data(), text.size()};
}

[[nodiscard]] inline std::string_view StdView(absl::string_view text) noexcept {
  return {text.data(), text.size()};
}

}  // namespace weir
