#include "core/spelling/limit_units.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"

namespace weir {
namespace {

static_assert(std::ranges::is_sorted(kMultipliers, {}, &Unit::factor));  // LargestUnit
static_assert(std::ranges::is_sorted(kPeriodUnits, {}, &Unit::factor));

// From here on a count prints with a multiplier: "1000/h", but "10k/h".
constexpr std::int64_t kMultipliedMin = 10'000;

const Unit* UnitIn(std::span<const Unit> units, std::string_view name) noexcept {
  const auto unit = std::ranges::find(units, name, &Unit::name);
  return unit == units.end() ? nullptr : &*unit;
}

// The largest unit of which `number` is a whole multiple, or nothing.
const Unit* LargestUnit(std::int64_t number, std::span<const Unit> ascending) {
  const auto unit =
      std::find_if(ascending.rbegin(), ascending.rend(),
                   [number](const Unit& candidate) { return number % candidate.factor == 0; });
  return unit == ascending.rend() ? nullptr : &*unit;
}

}  // namespace

const Unit* MultiplierNamed(std::string_view name) noexcept {
  return UnitIn(kMultipliers, name == "K" ? "k" : name);
}

const Unit* PeriodUnitNamed(std::string_view name) noexcept {
  if (const Unit* unit = UnitIn(kPeriodUnits, name)) return unit;
  const auto* const spelling = std::ranges::find(kSpellings, name, &Spelling::text);
  return spelling == kSpellings.end() ? nullptr : UnitIn(kPeriodUnits, spelling->name);
}

std::pair<std::string_view, std::string_view> SplitDigits(std::string_view text) noexcept {
  const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
  const auto length = static_cast<std::size_t>(end - text.begin());
  return {text.substr(0, length), text.substr(length)};
}

std::string CountText(std::int64_t count) {
  const Unit* multiplier = count < kMultipliedMin ? nullptr : LargestUnit(count, kMultipliers);
  if (multiplier == nullptr) return absl::StrCat(count);
  return absl::StrCat(count / multiplier->factor, AbslView(multiplier->name));
}

std::string PeriodText(std::int64_t period_ns) {
  const Unit* unit = LargestUnit(period_ns, kPeriodUnits);
  if (unit == nullptr) return absl::StrCat(period_ns, "ns");  // no word has this form
  return absl::StrCat(period_ns / unit->factor, AbslView(unit->name));
}

std::string PeriodAfterSlash(std::int64_t period_ns) {
  const std::string text = PeriodText(period_ns);
  const bool is_one = text.front() == '1' && !IsDigit(text[1]);
  return text.substr(is_one ? 1 : 0);
}

}  // namespace weir
