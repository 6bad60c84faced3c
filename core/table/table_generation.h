// The number of times that everything was forgotten at once (Limiter::Clear).
//
// Every bucket's record on disk carries it, so that one new number erases them all: records of
// another generation than the present one are not read.
#pragma once

#include <cstdint>

namespace weir {

enum class TableGeneration : std::uint32_t {};

}  // namespace weir
