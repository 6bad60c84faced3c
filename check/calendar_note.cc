#include "check/calendar_note.h"

#include <array>
#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/status.h"
#include "core/spelling/limit_units.h"
#include "core/words/limit_grammar.h"

namespace weir {
namespace {

struct UnitRemark {
  std::string_view unit;
  std::string_view renewal;
  std::string_view period;  // of the bucket that is about as long
  std::string_view length;
};
constexpr std::array<UnitRemark, 5> kUnitRemarks = {{
    // by CalendarUnit
    {"", "", "", ""},
    {"day", "at midnight", "d", "24 hours"},
    {"week", "on Monday at midnight", "w", "7 days"},
    {"month", "on the 1st at midnight", "30d", "30 days"},
    {"year", "on January 1 at midnight", "365d", "365 days"},
}};

std::string RemarkOn(std::string_view word, std::string_view path, std::size_t line) {
  const absl::StatusOr<LimitWord> read = ParseLimitWord(word);
  if (!read.ok() || !read->limit || !read->limit->shape().has_calendar()) return "";
  if (absl::StrContains(AbslView(word), ",tz=") || absl::StrContains(AbslView(word), ",from="))
    return "";
  const LimitShape& shape = read->limit->shape();
  const UnitRemark& remark = kUnitRemarks[static_cast<std::size_t>(shape.calendar.unit)];
  const std::string count = CountText(shape.count);
  return absl::StrCat("note: ", AbslView(path), ":", line, ": '", AbslView(remark.unit),
                      "' is the calendar's, in UTC: all ", count, " are back ",
                      AbslView(remark.renewal), "; ", count, "/", AbslView(remark.period),
                      " is a bucket over ", AbslView(remark.length));
}

}  // namespace

std::string CalendarNote(std::string_view text, std::string_view path) {
  std::size_t number = 0;
  for (const absl::string_view line : absl::StrSplit(AbslView(text), '\n')) {
    ++number;
    const absl::string_view words = line.substr(0, line.find('#'));
    for (const absl::string_view word : absl::StrSplit(words, absl::ByAnyChar("\"' \t[]"))) {
      if (std::string note = RemarkOn(StdView(word), path, number); !note.empty()) return note;
    }
  }
  return "";
}

}  // namespace weir
