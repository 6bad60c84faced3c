// Memory of the server's allocator, for what there is much of: the values of keys.
//
// So INFO memory, MEMORY USAGE and maxmemory know of it. Outside of a server, as in unit tests, it
// is that of malloc.
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

  // Never null: a server that has no memory ends itself.
  [[nodiscard]] T* allocate(std::size_t count) {
    void* const memory =
        redis::Alloc ? redis::Alloc(count * sizeof(T)) : std::malloc(count * sizeof(T));
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t /*count*/) noexcept {
    redis::Free ? redis::Free(memory) : std::free(memory);
  }

  friend bool operator==(RedisAllocator, RedisAllocator) { return true; }
};

}  // namespace weir
