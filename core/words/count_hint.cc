#include "core/words/count_hint.h"

#include <array>
#include <chrono>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "core/rules/limit.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

using std::chrono::days;

// The spans that a window of each unit is about as long as. A bucket takes the first.
struct CalendarDays {
  CalendarUnit unit;
  std::array<days, 4> lengths;
};
constexpr std::array kCalendarDays = {
    CalendarDays{CalendarUnit::kDay, {days{1}}},
    CalendarDays{CalendarUnit::kWeek, {days{7}}},
    CalendarDays{CalendarUnit::kMonth, {days{30}, days{31}, days{28}, days{29}}},
    CalendarDays{CalendarUnit::kYear, {days{365}, days{366}}},
};

std::string TextOf(const LimitShape& shape) {
  const absl::StatusOr<Limit> limit = Limit::Create(shape);
  return limit.ok() ? LimitText(*limit) : "";
}

}  // namespace

std::string CountHint(const CountOver& over) {
  LimitShape bucket{.count = over.count, .period = over.period, .burst = over.count};
  LimitShape window{
      .algorithm = Algorithm::kFixedWindow, .count = over.count, .period = over.period};
  window.calendar.unit = over.unit;
  for (const auto& [unit, lengths] : kCalendarDays) {
    if (over.unit == unit) bucket.period = lengths.front();
    for (const days length : lengths) {
      if (over.period == Nanos{0} || over.period != length) continue;
      window.period = Nanos{0};
      window.calendar.unit = unit;
    }
  }
  const std::string of_bucket = TextOf(bucket);
  const std::string of_window = TextOf(window);
  if (of_bucket.empty() && of_window.empty()) return "";
  if (of_bucket.empty()) return absl::StrCat(": ", of_window, " is a window that can");
  return absl::StrCat(": ", of_bucket, " is a bucket that can",
                      of_window.empty() ? "" : ", " + of_window + " a window");
}

}  // namespace weir
