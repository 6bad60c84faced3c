// The known name that a misspelled word is nearest to, for "did you mean".
//
// Damerau-Levenshtein distance in its form for typists (optimal string alignment): the number of
// bytes to insert, to leave out, to replace, or to exchange with their neighbour, where no byte is
// edited twice. Pure: no heap, lock or exception. Cost: some 100 ns a name; at most five
// comparisons for each byte of the word. Tested by nearest_test.cc.
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

// Returns the distance if it is at most `most`, else any number above that. Requires: both words
// have at most kNearestBytesMax bytes. Cost: O(bytes x most), and less where the words differ soon.
[[nodiscard]] constexpr std::size_t EditDistance(std::string_view from, std::string_view to,
                                                 std::size_t most = kNearestBytesMax) noexcept {
  WEIR_CHECK(from.size() <= kNearestBytesMax);
  WEIR_CHECK(to.size() <= kNearestBytesMax);
  const std::size_t apart =
      from.size() < to.size() ? to.size() - from.size() : from.size() - to.size();
  if (apart > most) return most + 1;
  // A row has the distances from the first i bytes of `from` to each prefix of `to`. Those farther
  // than `most` from the diagonal are above `most`.
  using Row = std::array<std::size_t, kNearestBytesMax + 2>;
  std::array<Row, 3> rows{};
  for (std::size_t j = 0; j <= to.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    const Row& above = rows[(i - 1) % 3];
    const Row& before = rows[(i + 1) % 3];  // row i - 2
    Row& row = rows[i % 3];
    const std::size_t begin = i > most ? i - most : 1;
    const std::size_t end = std::min(i + most, to.size());
    row[begin - 1] = begin == 1 ? i : most + 1;
    std::size_t least = row[begin - 1];
    for (std::size_t j = begin; j <= end; ++j) {
      const std::size_t replaced = above[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    row[end + 1] = most + 1;
    if (least > most) return most + 1;
  }
  return rows[from.size() % 3][to.size()];
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
    if (name.empty() || name.size() > kNearestBytesMax) continue;
    const std::size_t edits = EditDistance(word, name, edits_max);
    if (edits > edits_max) continue;
    nearest = name;
    if (edits == 0) break;
    edits_max = edits - 1;
  }
  return nearest;
}

}  // namespace weir
