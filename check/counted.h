// A number with its noun: "1 policy", "2 policies".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"

namespace weir {

[[nodiscard]] inline std::string Counted(std::uint64_t count, std::string_view one,
                                         std::string_view many) {
  return absl::StrCat(count, " ", AbslView(count == 1 ? one : many));
}

}  // namespace weir
