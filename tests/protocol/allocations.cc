#include "tests/protocol/allocations.h"

#include <cstdlib>
#include <new>

namespace weir {

std::size_t allocations = 0;
std::size_t allocated_bytes = 0;

}  // namespace weir

// Replaces the allocator of this whole program. The functions are not inlined, or g++ would see
// free() paired with new.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++weir::allocations;
  weir::allocated_bytes += bytes;
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  std::abort();
}
// std::stable_sort asks for its memory so.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return operator new(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
