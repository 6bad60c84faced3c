// The times of logs that are dates: 10/Oct/2026:13:55:36 +0200, 2026-10-10T13:55:36.25+02:00.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "core/base/instant.h"

namespace weir {

// A date and a time of day, and the time by which its zone is ahead of UTC.
struct CivilTime {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  Nanos fraction{};  // of the second
  std::chrono::minutes ahead{};
};

// The instant of a time. Nothing if there is no such date or time of day (second 60 is none), or it
// is not in [Instant{}, kInstantMax]. Pure.
[[nodiscard]] std::optional<Instant> InstantOf(const CivilTime& time);

// The number of decimal digits; nothing if one is none. Requires: at most nine bytes.
[[nodiscard]] std::optional<int> ReadDigits(std::string_view text);

// The time by which a zone is ahead of UTC: "Z", "+02:00", "+0200" or "+02", up to 14 hours.
[[nodiscard]] std::optional<std::chrono::minutes> ReadOffset(std::string_view text);

// A time as in ISO 8601: a date, T or a blank, the time of day with up to nine digits of a fraction
// behind a point or a comma, and an offset; without an offset it is UTC.
[[nodiscard]] std::optional<Instant> ReadIsoTime(std::string_view text);

}  // namespace weir
