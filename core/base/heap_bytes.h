// What a string or an array has of the heap, in bytes: what it has room for, not what is in it.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weir {

inline std::size_t HeapBytes(const std::string& text) {
  const std::size_t without_heap = std::string().capacity();
  return text.capacity() > without_heap ? text.capacity() : 0;
}

template <typename T>
std::size_t HeapBytes(const std::vector<T>& elements) noexcept {
  return elements.capacity() * sizeof(T);
}

}  // namespace weir
