// The process's use of glibc's heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weir {

// Arrays of this size and more have a mapping of their own, which returns to the system when they
// are freed.
inline constexpr std::size_t kMappedBytesMin = 16 * 1024;

// Sets up the heap so that memory which the table frees returns to the system. Call it first in
// main().
void ConfigureHeap();

// Returns whole free pages of the heap to the system. Locks one arena at a time, for about a
// microsecond per stretch of free pages.
void ReturnFreeMemory();

// The process's memory, in bytes.
struct MemoryUse {
  std::uint64_t heap = 0;           // handed out by malloc
  std::uint64_t heap_held = 0;      // that malloc has got from the system
  std::uint64_t resident = 0;       // in memory, as the kernel counts it
  std::uint64_t resident_peak = 0;  // the highest `resident` so far
};
// Cost: visits every free chunk of the heap, and makes two system calls.
[[nodiscard]] MemoryUse MeasureMemory();

// The memory of the process that is resident, as the kernel counts it. Cost: a file of /proc.
[[nodiscard]] std::uint64_t ResidentBytes();

}  // namespace weir
