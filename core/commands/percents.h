// Percentages of a limit in use, at which its keys are reported.
//
//     const Percents percents{{80, 95, 100}};
//     percents.GreatestCrossed(10, 7, 8)     // 80: the eighth of ten tokens
//
// Immutable in use, thread-safe, and as small as a number, so that it is read and written at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/rules/limit.h"

namespace weir {

inline constexpr std::size_t kPercentsMax = 8;

struct alignas(std::uint64_t) Percents {
  // 1 to 100, ascending, without repetition; then zeros.
  std::array<std::uint8_t, kPercentsMax> values{};

  // The greatest percentage x of `count` with before < x <= after; 0 if there is none. Stateless:
  // after tokens have come back, a percentage is crossed again. O(1). Requires: a window's or a
  // held limit's count, and tokens in use from 0 to the count.
  [[nodiscard]] constexpr int GreatestCrossed(std::int64_t count, std::int64_t before,
                                              std::int64_t after) const noexcept {
    static_assert(2 * kFixedCountMax <= INT64_MAX / 100);
    int crossed = 0;
    for (const std::uint8_t percent : values) {
      const std::int64_t mark = percent * count;
      if (before * 100 < mark && mark <= after * 100) crossed = percent;
    }
    return crossed;
  }

  friend bool operator==(const Percents&, const Percents&) = default;
};
static_assert(sizeof(Percents) == sizeof(std::uint64_t));

inline constexpr Percents kDefaultPercents = {{80, 95, 100}};

// At most kPercentsMax different integers from 1 to 100, in any order, separated by commas or
// blanks; nothing for another text.
[[nodiscard]] std::optional<Percents> ReadPercents(std::string_view text);

}  // namespace weir
