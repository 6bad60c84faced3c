// The units of Envoy's rate limit service: their lengths, and their numbers in its messages.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "rls/rule.h"

namespace weir {

struct ServiceUnit {
  RuleUnit unit;
  std::chrono::seconds period;
};

// By their numbers in messages.
inline constexpr auto kServiceUnits = std::to_array<ServiceUnit>({
    {RuleUnit::kNone, std::chrono::seconds{0}},
    {RuleUnit::kSecond, std::chrono::seconds{1}},
    {RuleUnit::kMinute, std::chrono::minutes{1}},
    {RuleUnit::kHour, std::chrono::hours{1}},
    {RuleUnit::kDay, std::chrono::days{1}},
    {RuleUnit::kMonth, std::chrono::days{30}},
    {RuleUnit::kYear, std::chrono::days{365}},
    {RuleUnit::kWeek, std::chrono::weeks{1}},
});

// Their names, by their numbers in messages.
inline constexpr auto kServiceUnitNames = std::to_array<std::string_view>(
    {"UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"});
static_assert(kServiceUnitNames.size() == kServiceUnits.size());

[[nodiscard]] constexpr int UnitNumber(RuleUnit unit) noexcept {
  int number = 0;
  while (kServiceUnits[static_cast<std::size_t>(number)].unit != unit) ++number;
  return number;
}

[[nodiscard]] constexpr std::string_view UnitName(RuleUnit unit) noexcept {
  return kServiceUnitNames[static_cast<std::size_t>(UnitNumber(unit))];
}

[[nodiscard]] constexpr std::chrono::seconds UnitPeriod(RuleUnit unit) noexcept {
  return kServiceUnits[static_cast<std::size_t>(UnitNumber(unit))].period;
}

}  // namespace weir
