// Hints at what a mistyped part of a limit was probably meant to be, for the end of an error.
//
// A hint begins with ": " and has at most about 100 bytes; it is empty where there is nothing to
// say. `before` and `after` are the text around the mistake that the hint repeats, as "10/" before
// a period. Pure; thread-safe. Tested by limit_hints_test.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir {

// ": did you mean 10/s?", or nothing for a text that is too long to repeat. It is quoted if it has
// bytes that no limit has.
[[nodiscard]] std::string DidYouMean(std::string_view before, std::string_view text,
                                     std::string_view after);

// For an unknown multiplier: "10m/s" was 10M/s.
[[nodiscard]] std::string MultiplierHint(std::string_view before, std::string_view count,
                                         std::string_view after);

// For a span of time with an unknown unit: "15S" was 15s.
[[nodiscard]] std::string UnitHint(std::string_view before, std::string_view span);

// For a period in days, weeks, months or years that is not just one of the calendar's units, as
// "days", "2day" or "weekly". `before` is the count and the slash.
[[nodiscard]] std::string CalendarHint(std::string_view before, std::string_view period);

// For a count with decimals: ": 1.5/s is 3/2s". Unset if `count` is no such number.
[[nodiscard]] std::optional<std::string> WholeCountHint(std::string_view count,
                                                        std::string_view period);

}  // namespace weir
