// Counts of what the whole test program has allocated, for tests that say what allocates nothing.
#pragma once

#include <cstddef>

namespace weir {

extern std::size_t allocations;
extern std::size_t allocated_bytes;

}  // namespace weir
