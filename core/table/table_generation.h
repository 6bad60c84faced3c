// The number of times that the table was cleared as a whole (LimiterUpkeep::Clear).
//
// Every bucket's record on disk carries its generation, so that a new number erases all of them:
// records of other generations than the present one are not read.
#pragma once

#include <cstdint>

namespace weir {

enum class TableGeneration : std::uint32_t {};

}  // namespace weir
