// Bytes that arrive in pieces, as a network might deliver them.
//
//     DeliverInPieces(bytes, EveryByte(bytes.size()), [&](UnreadBytes& unread) { ... });
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "tests/support/unread_bytes.h"

namespace weir {

// Offsets of the first bytes of pieces, except for that of the first piece; ascending.
using Cuts = std::vector<std::size_t>;

// The cuts that deliver `bytes` bytes one by one.
inline Cuts EveryByte(std::size_t bytes) {
  Cuts cuts;
  for (std::size_t cut = 1; cut < bytes; ++cut) cuts.push_back(cut);
  return cuts;
}

// Pieces of one to 1, 2, 4, ... 128 bytes.
inline Cuts SeededCuts(std::size_t bytes, std::uint8_t seed) {
  std::minstd_rand random(seed);
  const std::size_t piece_bytes_max = std::size_t{1} << (seed % 8);
  Cuts cuts;
  for (std::size_t at = 0; (at += 1 + random() % piece_bytes_max) < bytes;) cuts.push_back(at);
  return cuts;
}

// Calls `read` after each piece of `bytes`, until it returns false: it wants no more.
template <typename Reader>
void DeliverInPieces(std::string_view bytes, const Cuts& cuts, Reader read) {
  UnreadBytes unread;
  for (std::size_t i = 0, begin = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : bytes.size();
    unread.Add(bytes.substr(begin, end - begin));
    begin = end;
    if (!read(unread)) return;
  }
}

}  // namespace weir
