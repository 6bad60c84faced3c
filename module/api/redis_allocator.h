// An allocator that takes the host's memory, for the values of keys.
//
// INFO memory, MEMORY USAGE and maxmemory count this memory. Outside of a host, as in unit tests,
// it comes from malloc.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "module/api/redis_api.h"

namespace weir {

template <typename T>
struct RedisAllocator {
  using value_type = T;

  RedisAllocator() = default;
  template <typename U>
  explicit RedisAllocator(const RedisAllocator<U>& /*other*/) noexcept {}

  // Never returns null: a host that runs out of memory aborts.
  [[nodiscard]] T* allocate(std::size_t count) {
    void* const memory =
        redis::Alloc ? redis::Alloc(count * sizeof(T)) : std::malloc(count * sizeof(T));
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept {
    if (redis::Free) {
      redis::Free(memory);
    } else {
      std::free(memory);
    }
  }

  friend bool operator==(RedisAllocator, RedisAllocator) { return true; }
};

}  // namespace weir
