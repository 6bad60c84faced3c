// The times of logs that are dates: 10/Oct/2026:13:55:36 +0200, 2026-10-10T13:55:36.25+02:00.
#pragma once

#include <chrono>
#include <cstddef>
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

// Returns the instant of a time. Returns nothing if the date or the time of day does not exist
// (there is no second 60), or if the instant is not in [Instant{}, kInstantMax]. Pure.
[[nodiscard]] std::optional<Instant> InstantOf(const CivilTime& time);

// Returns the number that decimal digits spell; nothing if a character is no digit. Requires: at
// most nine bytes.
[[nodiscard]] std::optional<int> ReadDigits(std::string_view text);

// Reads the time by which a zone is ahead of UTC: "Z", "+02:00", "+0200" or "+02", up to 14 hours.
[[nodiscard]] std::optional<std::chrono::minutes> ReadOffset(std::string_view text);

// Reads a time as access logs write it: "10/Oct/2026:13:55:36 +0200".
[[nodiscard]] std::optional<Instant> ReadAccessTime(std::string_view text);

// The bytes of such a time.
inline constexpr std::size_t kAccessTimeBytes = 26;

// Reads a time as in ISO 8601: a date, T or a blank, the time of day with up to nine digits of a
// fraction behind a point or a comma, and an offset; without an offset it is UTC.
[[nodiscard]] std::optional<Instant> ReadIsoTime(std::string_view text);

}  // namespace weir
