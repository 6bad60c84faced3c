// The units behind the numbers of a limit: "10k/5min". Multipliers of counts, units of periods and
// their other spellings, which read as the same unit and are never printed.
//
// Pure; thread-safe. Tested by limit_spelling_test.cc.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/instant.h"

namespace weir {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Ascending.
inline constexpr std::array kMultipliers = {Unit{"k", 1'000}, Unit{"M", 1'000'000},
                                            Unit{"G", 1'000'000'000}};
inline constexpr std::array kPeriodUnits = {
    Unit{"us", Nanos{std::chrono::microseconds{1}}.count()},
    Unit{"ms", Nanos{std::chrono::milliseconds{1}}.count()},
    Unit{"s", Nanos{std::chrono::seconds{1}}.count()},
    Unit{"m", Nanos{std::chrono::minutes{1}}.count()},
    Unit{"h", Nanos{std::chrono::hours{1}}.count()},
    Unit{"d", Nanos{std::chrono::days{1}}.count()},
    Unit{"w", Nanos{std::chrono::weeks{1}}.count()},
};

// Another spelling of a unit.
struct Spelling {
  std::string_view text;
  std::string_view name;
};
// Days and weeks have none: "day" and "week" are units of the calendar.
inline constexpr std::array kSpellings = {
    Spelling{"sec", "s"}, Spelling{"secs", "s"}, Spelling{"second", "s"}, Spelling{"seconds", "s"},
    Spelling{"min", "m"}, Spelling{"mins", "m"}, Spelling{"minute", "m"}, Spelling{"minutes", "m"},
    Spelling{"hr", "h"},  Spelling{"hrs", "h"},  Spelling{"hour", "h"},   Spelling{"hours", "h"},
};

// The names of the units, for errors.
inline constexpr char kMultiplierNames[] = "k, M, G";
inline constexpr char kPeriodUnitNames[] = "us, ms, s, m, h, d, w";

// Finds a unit by its name or by another spelling; null if there is none.
[[nodiscard]] const Unit* MultiplierNamed(std::string_view name) noexcept;
[[nodiscard]] const Unit* PeriodUnitNamed(std::string_view name) noexcept;

[[nodiscard]] constexpr bool IsDigit(char c) noexcept { return c >= '0' && c <= '9'; }

// The digits at the front of `text`, and the rest.
[[nodiscard]] std::pair<std::string_view, std::string_view> SplitDigits(
    std::string_view text) noexcept;

// The canonical text of a count: "1000", "10k", "1M".
[[nodiscard]] std::string CountText(std::int64_t count);
// The canonical text of a period: "1s", "90m".
[[nodiscard]] std::string PeriodText(std::int64_t period_ns);
// As behind the slash: a unit alone is one of it: "s".
[[nodiscard]] std::string PeriodAfterSlash(std::int64_t period_ns);

}  // namespace weir
