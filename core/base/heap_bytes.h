// Heap bytes that a string or an array has allocated: its capacity, not its size. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace weir {

inline std::size_t HeapBytes(const std::string& text) {
  const std::size_t without_heap = std::string().capacity();
  return text.capacity() > without_heap ? text.capacity() : 0;
}

template <typename T>
std::size_t HeapBytes(const std::vector<T>& elements) noexcept {
  return elements.capacity() * sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may point
}

template <typename T, std::size_t kInlined>
std::size_t HeapBytes(const absl::InlinedVector<T, kInlined>& elements) noexcept {
  return elements.capacity() > kInlined ? elements.capacity() * sizeof(T) : 0;
}

inline std::size_t HeapBytes(const std::vector<std::string>& texts) {
  std::size_t bytes = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) bytes += HeapBytes(text);
  return bytes;
}

}  // namespace weir
