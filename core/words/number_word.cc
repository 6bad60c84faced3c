#include "core/words/number_word.h"

#include <optional>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

namespace weir {

absl::StatusOr<std::int64_t> ReadNumber(std::string_view name, std::string_view word,
                                        std::int64_t min, std::int64_t max) {
  WEIR_CHECK(min <= max);
  const std::optional<std::int64_t> number = ParseDigits(word);
  if (number && *number >= min && *number <= max) return *number;
  return absl::InvalidArgumentError(absl::StrCat("invalid ", AbslView(name), " ", Quote(word),
                                                 ": value is not an integer or out of range (", min,
                                                 " to ", max, ")"));
}

}  // namespace weir
