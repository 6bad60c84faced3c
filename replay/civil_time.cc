#include "replay/civil_time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace weir {
namespace {

constexpr std::string_view kIsoShape = "yyyy-mm-ddThh:nn:ss";

// Reads the part of `text` that stands where kIsoShape has `part`. Requires: `text` is as long as
// kIsoShape.
std::optional<int> IsoPart(std::string_view text, std::string_view part) {
  return ReadDigits(text.substr(kIsoShape.find(part), part.size()));
}

bool HasIsoMarks(std::string_view text) {
  for (std::size_t i = 0; i < kIsoShape.size(); ++i) {
    const char mark = kIsoShape[i];
    const bool is_mark = mark == '-' || mark == ':' || mark == 'T';
    const bool is_blank = mark == 'T' && text[i] == ' ';
    if (is_mark && text[i] != mark && !is_blank) return false;
  }
  return true;
}

constexpr std::string_view kAccessShape = "dd/Mon/yyyy:HH:MM:SS +hhmm";
static_assert(kAccessShape.size() == kAccessTimeBytes);

// As IsoPart.
std::optional<int> AccessPart(std::string_view text, std::string_view part) {
  return ReadDigits(text.substr(kAccessShape.find(part), part.size()));
}

bool HasAccessMarks(std::string_view text) {
  constexpr std::string_view kMarks = "/: ";
  for (std::size_t i = 0; i < kAccessShape.size(); ++i) {
    if (kMarks.find(kAccessShape[i]) != std::string_view::npos && text[i] != kAccessShape[i]) {
      return false;
    }
  }
  return true;
}

std::optional<int> ReadMonth(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  const std::size_t at = kMonths.find(text);
  if (at == std::string_view::npos || at % 3 != 0) return std::nullopt;
  return static_cast<int>(at / 3 + 1);
}

// Takes a point or a comma and the digits behind it, if they are at the front of `rest`.
std::optional<Nanos> TakeFraction(std::string_view& rest) {
  constexpr std::size_t kDigitsMax = 9;
  if (!rest.starts_with('.') && !rest.starts_with(',')) return Nanos{0};
  rest.remove_prefix(1);
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  if (digits == 0 || digits > kDigitsMax) return std::nullopt;
  std::int64_t nanos = *ReadDigits(rest.substr(0, digits));
  for (std::size_t i = digits; i < kDigitsMax; ++i) nanos *= 10;
  rest.remove_prefix(digits);
  return Nanos{nanos};
}

}  // namespace

std::optional<int> ReadDigits(std::string_view text) {
  int number = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  return number;
}

std::optional<std::chrono::minutes> ReadOffset(std::string_view text) {
  if (text == "Z") return std::chrono::minutes{0};
  const bool has_colon = text.size() == 6 && text[3] == ':';
  if (!has_colon && text.size() != 5 && text.size() != 3) return std::nullopt;
  if (text.front() != '+' && text.front() != '-') return std::nullopt;
  const std::optional<int> hours = ReadDigits(text.substr(1, 2));
  const std::optional<int> minutes = ReadDigits(text.substr(has_colon ? 4 : 3));
  if (!hours || !minutes || *hours > 14 || *minutes > 59) return std::nullopt;
  const std::chrono::minutes ahead = std::chrono::hours{*hours} + std::chrono::minutes{*minutes};
  return text.front() == '-' ? -ahead : ahead;
}

std::optional<Instant> InstantOf(const CivilTime& time) {
  const std::chrono::year_month_day date{std::chrono::year{time.year},
                                         std::chrono::month{static_cast<unsigned>(time.month)},
                                         std::chrono::day{static_cast<unsigned>(time.day)}};
  // Beyond these years an Instant of nanoseconds could overflow here.
  if (!date.ok() || time.year < 1970 || time.year > 2115 || time.hour > 23 || time.minute > 59 ||
      time.second > 59) {
    return std::nullopt;
  }
  const Nanos since_epoch = std::chrono::sys_days{date}.time_since_epoch() +
                            std::chrono::hours{time.hour} + std::chrono::minutes{time.minute} +
                            std::chrono::seconds{time.second} + time.fraction - time.ahead;
  const Instant at{since_epoch};
  if (at < Instant{} || at > kInstantMax) return std::nullopt;
  return at;
}

std::optional<Instant> ReadAccessTime(std::string_view text) {
  if (text.size() != kAccessShape.size() || !HasAccessMarks(text)) return std::nullopt;
  const auto day = AccessPart(text, "dd");
  const auto year = AccessPart(text, "yyyy");
  const auto hour = AccessPart(text, "HH");
  const auto minute = AccessPart(text, "MM");
  const auto second = AccessPart(text, "SS");
  const auto month = ReadMonth(text.substr(kAccessShape.find("Mon"), 3));
  const auto ahead = ReadOffset(text.substr(kAccessShape.find('+')));
  if (!day || !month || !year || !hour || !minute || !second || !ahead) return std::nullopt;
  return InstantOf({.year = *year,
                    .month = *month,
                    .day = *day,
                    .hour = *hour,
                    .minute = *minute,
                    .second = *second,
                    .ahead = *ahead});
}

std::optional<Instant> ReadIsoTime(std::string_view text) {
  if (text.size() < kIsoShape.size() || !HasIsoMarks(text)) return std::nullopt;
  const auto year = IsoPart(text, "yyyy");
  const auto month = IsoPart(text, "mm");
  const auto day = IsoPart(text, "dd");
  const auto hour = IsoPart(text, "hh");
  const auto minute = IsoPart(text, "nn");
  const auto second = IsoPart(text, "ss");
  std::string_view rest = text.substr(kIsoShape.size());
  const auto fraction = TakeFraction(rest);
  const auto ahead = ReadOffset(rest.empty() ? "Z" : rest);
  if (!year || !month || !day || !hour || !minute || !second || !fraction || !ahead) {
    return std::nullopt;
  }
  return InstantOf({.year = *year,
                    .month = *month,
                    .day = *day,
                    .hour = *hour,
                    .minute = *minute,
                    .second = *second,
                    .fraction = *fraction,
                    .ahead = *ahead});
}

}  // namespace weir
