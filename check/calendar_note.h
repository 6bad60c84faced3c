// A remark on limits of the calendar, which beginners take for buckets: 1000/day is not 1000/d.
#pragma once

#include <string>
#include <string_view>

namespace weir {

// The remark on the first limit of a policy file's `text` that names a unit of the calendar, but
// neither tz= nor from=; empty if there is none. Requires: a file without mistakes.
//     note: policies.toml:3: 'day' is the calendar's, in UTC: all 1000 are back at midnight; 1000/d
//     is a bucket over 24 hours
[[nodiscard]] std::string CalendarNote(std::string_view text, std::string_view path);

}  // namespace weir
