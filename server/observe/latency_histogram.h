// A histogram of durations: a count for each class of durations.
//
// A class is an eighth of an octave, so a duration read back is at most an eighth too large:
//
//     class 0        1        2       ...   9         10       ...
//     [0, 64) ns   [64, 72) [72, 80)      [128, 144) [144, 160)        up to 17 s, and longer
//
// One thread counts, any thread may read. Memory: 1.8 KiB. Cost of counting: a shift and an
// addition.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/counter.h"
#include "core/base/instant.h"

namespace weir {

class LatencyHistogram {
 public:
  static constexpr std::size_t kClasses = 1 + 28 * 8;
  using Counts = std::array<std::uint64_t, kClasses>;

  void Count(Nanos duration) noexcept { counts_[ClassOf(duration)].Add(); }
  [[nodiscard]] Counts counts() const noexcept;

  // The class of a duration, and the end of a class: the class and those before it have all shorter
  // durations.
  [[nodiscard]] static constexpr std::size_t ClassOf(Nanos duration) noexcept {
    if (duration < Nanos{kLeast}) return 0;
    const auto nanos = static_cast<std::uint64_t>(duration.count());
    const auto octave = static_cast<std::size_t>(std::bit_width(nanos)) - kLeastBits;
    const std::size_t eighth = (nanos >> (octave + kLeastBits - 4)) & 7;
    return std::min(1 + octave * 8 + eighth, kClasses - 1);
  }
  [[nodiscard]] static constexpr Nanos EndOf(std::size_t index) noexcept {
    const std::size_t octave = index / 8;
    return Nanos{static_cast<Nanos::rep>((8 + index % 8) << (octave + kLeastBits - 4))};
  }

 private:
  static constexpr Nanos::rep kLeast = 64;
  static constexpr std::size_t kLeastBits = 7;  // the bit width of kLeast
  static_assert(std::bit_width(static_cast<std::uint64_t>(kLeast)) == kLeastBits);

  std::array<Counter, kClasses> counts_;
};

[[nodiscard]] std::uint64_t TotalOf(const LatencyHistogram::Counts& counts) noexcept;

// The duration that `permille` thousandths of all durations do not exceed: the longest one of its
// class. Requires: at least one count; permille is in [0, 1000].
[[nodiscard]] Nanos Percentile(const LatencyHistogram::Counts& counts,
                               std::uint64_t permille) noexcept;

// A row of a histogram as Redis shows it: the number of durations up to a power of two of about a
// microsecond. A row that would repeat the count of the row before is left out.
struct CumulativeCount {
  std::int64_t micros;
  std::uint64_t count;

  friend bool operator==(const CumulativeCount&, const CumulativeCount&) = default;
};
[[nodiscard]] std::vector<CumulativeCount> CumulativeCounts(const LatencyHistogram::Counts& counts);

}  // namespace weir
