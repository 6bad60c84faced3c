#include "core/commands/percents.h"

#include <algorithm>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"

#include "core/base/status.h"
#include "core/words/number_word.h"

namespace weir {

std::optional<Percents> ReadPercents(std::string_view text) {
  std::set<std::uint8_t> values;
  for (const absl::string_view word :
       absl::StrSplit(AbslView(text), absl::ByAnyChar(", "), absl::SkipEmpty())) {
    const absl::StatusOr<std::int64_t> value = ReadNumber("percentage", StdView(word), 1, 100);
    if (!value.ok()) return std::nullopt;
    if (!values.insert(static_cast<std::uint8_t>(*value)).second) return std::nullopt;
  }
  if (values.size() > kPercentsMax) return std::nullopt;
  Percents percents;
  std::ranges::copy(values, percents.values.begin());
  return percents;
}

}  // namespace weir
