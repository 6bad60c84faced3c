// How the process uses glibc's heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

// Arrays from this size on are mapped alone, and given back to the system when they are freed.
inline constexpr std::size_t kMappedBytesMin = 16 * 1024;

// Sets the heap up so that memory which the table frees leaves the process. Call it first in
// main().
void ConfigureHeap();

// Gives whole free pages of the heap back to the system. Holds the lock of one arena at a time:
// about a microsecond for each stretch of free pages.
void ReturnFreeMemory();

// The process's memory, in bytes.
struct MemoryUse {
  std::uint64_t heap = 0;           // handed out by malloc
  std::uint64_t heap_held = 0;      // that malloc has from the system
  std::uint64_t resident = 0;       // in memory, by the kernel's count
  std::uint64_t resident_peak = 0;  // the most that ever was
};
// Cost: a look at every free chunk of the heap, and two system calls.
[[nodiscard]] MemoryUse MeasureMemory();

}  // namespace weir
