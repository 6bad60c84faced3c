#include "server/os/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <malloc.h>

namespace weir {
namespace {

// Only the threads of an arena can use its freed chunks again, so each arena has unused holes. The
// request path hardly allocates, so all threads can share a few arenas.
constexpr int kArenasMax = 4;

std::uint64_t ResidentPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

std::uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void ConfigureHeap() {
  // By default, glibc raises this threshold to the size of the largest mapped array freed so far
  // (up to 32 MiB). The arrays of a table that has shrunk would then stay in the heap, each pinned
  // by a small chunk behind it. The heap of a sanitizer refuses all settings and does not need
  // them. NOLINTBEGIN(concurrency-mt-unsafe): called before there are threads.
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMappedBytesMin));
  mallopt(M_ARENA_MAX, kArenasMax);
  // No fast bins: a chunk in a fast bin is not joined with its free neighbours. At the end of an
  // arena it pins all of them, because malloc_trim() does not release the end of an arena. Each
  // thread still has its own cache.
  mallopt(M_MXFAST, 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

void ReturnFreeMemory() { malloc_trim(0); }

// The kernel counts the peak more coarsely than the present value, so the peak can be below it.
MemoryUse MeasureMemory() {
  const struct mallinfo2 heap = mallinfo2();
  const std::uint64_t resident = ResidentBytes();
  return {.heap = heap.uordblks + heap.hblkhd,
          .heap_held = heap.arena + heap.hblkhd,
          .resident = resident,
          .resident_peak = std::max(ResidentPeakBytes(), resident)};
}

}  // namespace weir
