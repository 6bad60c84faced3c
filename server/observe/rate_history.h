// The last day's counts of decisions, in steps of three widths: for all requests, and for the first
// limits.
//
//     300 steps of 1 s      the last five minutes
//     360 steps of 10 s     the last hour
//     288 steps of 300 s    the last day
//
// It is made from the counts that RL.STATS shows, read once a second, by their differences. A count
// lies in the second before the one in which it was read, so the steps add up to the counts. After
// an RL.STATS RESET, they begin at 0 again.
//
// The clock of decisions may go back when a server begins to follow a primary. Then the history
// begins again.
//
// Thread-safe. Memory: 15 KiB for each series, none before the first Update(), and less than 1 MiB
// in all. Cost of an Update() that is due: what RL.STATS costs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/commands/limit_totals.h"

namespace weir {

// The limits that have a series. One that has counted nothing for a day gives its place away.
inline constexpr std::size_t kHistoryLimitsMax = 64;

// A ring of steps of one width.
struct HistoryRing {
  std::int64_t width;  // seconds
  std::size_t steps;
  std::size_t begin;  // the place of its first step among the steps of all rings
};
inline constexpr auto kHistoryRings =
    std::to_array<HistoryRing>({{.width = 1, .steps = 300, .begin = 0},
                                {.width = 10, .steps = 360, .begin = 300},
                                {.width = 300, .steps = 288, .begin = 660}});

class RateHistory {
 public:
  // The first four numbers of RL.STATS: allowed, denied, shadow_denied, near_limit. A step counts
  // to 2^32 - 1 at most.
  static constexpr std::size_t kNumbers = 4;
  static constexpr std::int64_t kLateSeconds = 2;
  using Counts = std::array<std::uint32_t, kNumbers>;

  // Takes the present counts from `read`, called under a lock, if a second has begun since the last
  // time; otherwise it costs a comparison. The first call begins the history: only later counts are
  // in it. `now` may be any time. A time at most kLateSeconds before the last one is not due: it
  // comes from a thread that has read the clock earlier.
  void Update(Instant now, const std::function<LimitTotals::Reading()>& read);

  struct Series {
    std::string limit;  // empty: the total
    std::vector<Counts> steps;

    friend bool operator==(const Series&, const Series&) = default;
  };
  // The steps of one width that are over, oldest first.
  struct Steps {
    std::int64_t from = 0;    // the first second of the first one, since 1970
    std::size_t missing = 0;  // steps from there that were over before the history began
    std::vector<Series>
        series;  // without the missing steps: the total, then limits by their places
  };
  // The steps of a ring that do not end before the second `from`.
  [[nodiscard]] Steps Read(const HistoryRing& ring, std::int64_t from = 0) const;

 private:
  static constexpr std::size_t kSteps = kHistoryRings.back().begin + kHistoryRings.back().steps;

  // A series: the rings, one behind the other.
  struct Rings {
    std::string limit;
    LimitTotals::Numbers before{};  // as they were read last
    std::int64_t last_counted = 0;  // the last second with a count
    std::array<Counts, kSteps> steps{};
  };
  static constexpr std::size_t kNameBytes = 512;  // of a limit's name; few have 100
  static_assert((1 + kHistoryLimitsMax) * (sizeof(Rings) + kNameBytes) < std::size_t{1} << 20);

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

  void Add(std::int64_t second, const LimitTotals::Reading& reading)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool IsDue(std::int64_t second) const noexcept;
  void ClearUpTo(std::int64_t newest) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountInNewest(Rings& rings, const LimitTotals::Numbers& numbers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] bool HasPlace(const std::string& limit, const LimitTotals::Numbers& numbers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<std::int64_t> second_{kNever};  // of the last reading
  mutable Mutex mutex_;
  std::uint64_t resets_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t began_ ABSL_GUARDED_BY(mutex_) = 0;     // the first second of the history
  std::int64_t newest_ ABSL_GUARDED_BY(mutex_) = 0;    // the last second that is over
  std::vector<Rings> series_ ABSL_GUARDED_BY(mutex_);  // the total first
  absl::flat_hash_map<std::string, std::size_t> places_ ABSL_GUARDED_BY(mutex_);  // of limits
};

}  // namespace weir
