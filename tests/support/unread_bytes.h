// The input that a reader has received and not consumed, in a heap block of exactly its size.
//
// Each Add replaces the block, so AddressSanitizer finds a reader that reads one byte too many, or
// that keeps a pointer into an old block. An Add copies all unread bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "core/base/check.h"

namespace weir {

class UnreadBytes {
 public:
  void Add(std::string_view bytes) {
    const std::size_t size = bytes_.size() + bytes.size();
    auto block = std::make_unique_for_overwrite<char[]>(size);
    const std::size_t unread = bytes_.copy(block.get(), bytes_.size());
    bytes.copy(block.get() + unread, bytes.size());
    bytes_ = {block.get(), size};
    block_ = std::move(block);
  }

  void Consume(std::size_t bytes) {
    WEIR_CHECK(bytes <= bytes_.size());
    bytes_.remove_prefix(bytes);
  }

  // Valid until the next Add.
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  std::unique_ptr<char[]> block_;
  std::string_view bytes_;  // in block_
};

}  // namespace weir
