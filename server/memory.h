// How the process uses glibc's heap.
#pragma once

#include <cstddef>

namespace weir {

// Arrays from this size on are mapped alone, and given back to the system when they are freed.
inline constexpr std::size_t kMappedBytesMin = 16 * 1024;

// Sets the heap up so that memory which the table frees leaves the process. Call it first in
// main().
void ConfigureHeap();

// Gives whole free pages of the heap back to the system. Holds the lock of one arena at a time:
// about a microsecond for each stretch of free pages.
void ReturnFreeMemory();

}  // namespace weir
