// The known name that a misspelled word is nearest to, for "did you mean".
//
// Damerau-Levenshtein distance in its form for typists (optimal string alignment): the number of
// bytes to insert, to leave out, to replace, or to exchange with their neighbour, where no byte is
// edited twice. Pure: no heap, lock or exception. Cost: the product of both lengths, each at most
// kNearestBytesMax. Tested by nearest_test.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string_view>

#include "core/base/check.h"

namespace weir {

// A longer word is near to no name.
inline constexpr std::size_t kNearestBytesMax = 64;
// A nearest name needs at most so many edits, and at most one for each three bytes of the word.
inline constexpr std::size_t kNearestEditsMax = 2;

// Requires: both words have at most kNearestBytesMax bytes.
[[nodiscard]] constexpr std::size_t EditDistance(std::string_view from,
                                                 std::string_view to) noexcept {
  WEIR_CHECK(from.size() <= kNearestBytesMax);
  WEIR_CHECK(to.size() <= kNearestBytesMax);
  // Row i has the distances from the first i bytes of `from` to each prefix of `to`.
  using Row = std::array<std::size_t, kNearestBytesMax + 1>;
  Row before{};  // row i - 2
  Row above{};   // row i - 1
  Row row{};
  for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before = above;
    above = row;
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[to.size()];
}

// Finds the nearest of the names, the first of equals. `name_of` makes a std::string_view of an
// element: a view of bytes that outlive the call. Returns an empty view if none is near enough.
template <typename Names, typename NameOf = std::identity>
[[nodiscard]] constexpr std::string_view Nearest(std::string_view word, const Names& names,
                                                 NameOf name_of = {}) {
  if (word.size() > kNearestBytesMax) return {};
  std::string_view nearest;
  std::size_t edits_max = std::min(kNearestEditsMax, word.size() / 3);
  for (const auto& element : names) {
    const std::string_view name = std::invoke(name_of, element);
    if (name.empty() || name.size() > word.size() + edits_max || name.size() > kNearestBytesMax) {
      continue;
    }
    const std::size_t edits = EditDistance(word, name);
    if (edits > edits_max) continue;
    nearest = name;
    if (edits == 0) break;
    edits_max = edits - 1;
  }
  return nearest;
}

}  // namespace weir
