#include "core/spelling/limit_hints.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/hinted_word.h"
#include "core/base/nearest.h"
#include "core/base/status.h"
#include "core/spelling/limit_units.h"

namespace weir {
namespace {

constexpr std::size_t kHintBytesMax = 64;  // of the suggested text
constexpr std::size_t kDigitsMax = 6;      // of a number in it

// A unit of the calendar, its other words, and the period that is about as long.
struct CalendarWords {
  std::array<std::string_view, 3> words;
  std::string_view unit;
  std::int64_t units;
  std::string_view length;
};
constexpr std::array kCalendarWords = {
    CalendarWords{{"day", "days", "daily"}, "d", 1, "24 hours"},
    CalendarWords{{"week", "weeks", "weekly"}, "w", 1, "7 days"},
    CalendarWords{{"month", "months", "monthly"}, "d", 30, "30 days"},
    CalendarWords{{"year", "years", "yearly"}, "d", 365, "365 days"},
};

// The word in lower case; empty if it is too long to be meant for a unit.
std::string Lower(std::string_view word) {
  if (word.size() > kNearestBytesMax) return "";
  return absl::AsciiStrToLower(AbslView(word));
}

// Reads up to kDigitsMax digits without a leading zero.
std::optional<std::int64_t> SmallNumber(std::string_view digits) {
  if (digits.empty() || digits.size() > kDigitsMax || digits.front() == '0') return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

const CalendarWords* CalendarWordsOf(std::string_view word) {
  for (const CalendarWords& row : kCalendarWords) {
    if (!Nearest(word, row.words).empty()) return &row;
  }
  return nullptr;
}

}  // namespace

std::string DidYouMean(std::string_view before, std::string_view text, std::string_view after) {
  if (before.size() + text.size() + after.size() > kHintBytesMax) return "";
  const std::string meant = absl::StrCat(AbslView(before), AbslView(text), AbslView(after));
  return absl::StrCat(": did you mean ", HintedWord(meant), "?");
}

std::string MultiplierHint(std::string_view before, std::string_view count,
                           std::string_view after) {
  const auto [digits, suffix] = SplitDigits(count);
  const std::string lower = Lower(suffix);
  for (const Unit& multiplier : kMultipliers) {
    const std::string name = Lower(multiplier.name);
    if (lower != name && lower != name + "i") continue;
    return DidYouMean(before, absl::StrCat(AbslView(digits), AbslView(multiplier.name)), after);
  }
  return "";
}

std::string UnitHint(std::string_view before, std::string_view span) {
  const auto [digits, suffix] = SplitDigits(span);
  const std::string lower = Lower(suffix);
  const Unit* unit = PeriodUnitNamed(lower);
  if (unit == nullptr) unit = PeriodUnitNamed(Nearest(lower, kSpellings, &Spelling::text));
  if (unit == nullptr) return "";
  return DidYouMean(before, digits, unit->name);
}

std::string CalendarHint(std::string_view before, std::string_view period) {
  const auto [digits, suffix] = SplitDigits(period);
  const CalendarWords* const row = CalendarWordsOf(Lower(suffix));
  if (row == nullptr || before.size() > kHintBytesMax) return "";
  if (!digits.empty()) {
    const std::optional<std::int64_t> number = SmallNumber(digits);
    if (!number) return "";
    return DidYouMean(before, absl::StrCat(*number * row->units), row->unit);
  }
  const std::string units = row->units == 1 ? "" : absl::StrCat(row->units);
  return absl::StrCat(": did you mean ", AbslView(before), AbslView(row->words[0]),
                      " (the calendar's) or ", AbslView(before), units, AbslView(row->unit), " (",
                      AbslView(row->length), ")?");
}

std::optional<std::string> WholeCountHint(std::string_view count, std::string_view period) {
  const auto [whole, rest] = SplitDigits(count);
  if (whole.empty() || !rest.starts_with('.')) return std::nullopt;
  const auto [decimals, suffix] = SplitDigits(rest.substr(1));
  const Unit* const multiplier = MultiplierNamed(suffix);
  if (decimals.empty() || (!suffix.empty() && multiplier == nullptr)) return std::nullopt;
  constexpr std::size_t kDecimalsMax = 3;
  if (decimals.size() > kDecimalsMax || whole.size() > kDigitsMax) return "";
  const std::string digits = absl::StrCat(AbslView(whole), AbslView(decimals));
  std::int64_t tokens = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), tokens);
  if (multiplier != nullptr) tokens *= multiplier->factor;  // below 10^18
  std::int64_t units = 1;
  for (std::size_t i = 0; i < decimals.size(); ++i) units *= 10;
  const auto [number, name] = SplitDigits(period);
  const Unit* const unit = PeriodUnitNamed(name);
  const std::optional<std::int64_t> length = number.empty() ? 1 : SmallNumber(number);
  if (tokens == 0 || unit == nullptr || !length) return "";
  const std::int64_t divisor = std::gcd(tokens, units);
  const std::int64_t periods = units / divisor * *length;
  return absl::StrCat(": ", AbslView(count), "/", AbslView(period), " is ",
                      CountText(tokens / divisor), "/", periods == 1 ? "" : absl::StrCat(periods),
                      AbslView(unit->name));
}

}  // namespace weir
