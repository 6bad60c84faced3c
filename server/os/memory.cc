#include "server/os/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <malloc.h>

namespace weir {
namespace {

// A chunk that is freed can be used again only by the threads of its arena, so each arena keeps
// holes of its own. The request path hardly allocates, so a few arenas are enough for all threads.
constexpr int kArenasMax = 4;

std::uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t ResidentPeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

void ConfigureHeap() {
  // Without this glibc raises its threshold to the size of the largest mapped array ever freed (up
  // to 32 MiB), and then the arrays of a table that has shrunk stay in the heap, with something
  // small behind each. The heap of a sanitizer refuses all settings, and does not need them.
  // NOLINTBEGIN(concurrency-mt-unsafe): called before there are threads.
  mallopt(M_MMAP_THRESHOLD, static_cast<int>(kMappedBytesMin));
  mallopt(M_ARENA_MAX, kArenasMax);
  // No fast bins: a chunk in one is not joined with its free neighbours, and at the end of an arena
  // it keeps them all, as malloc_trim() leaves the ends of arenas alone. Each thread has its cache.
  mallopt(M_MXFAST, 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

void ReturnFreeMemory() { malloc_trim(0); }

// The kernel counts the peak more coarsely than the present.
MemoryUse MeasureMemory() {
  const struct mallinfo2 heap = mallinfo2();
  const std::uint64_t resident = ResidentBytes();
  return {.heap = heap.uordblks + heap.hblkhd,
          .heap_held = heap.arena + heap.hblkhd,
          .resident = resident,
          .resident_peak = std::max(ResidentPeakBytes(), resident)};
}

}  // namespace weir
