// A count that one thread raises and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

// An addition needs no atomic read-modify-write: no other thread writes the counter.
class Counter {
 public:
  void Add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace weir
