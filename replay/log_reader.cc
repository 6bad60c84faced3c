#include "replay/log_reader.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "replay/decimal.h"

namespace weir {

absl::Status BadWord(std::string_view name, std::string_view word, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(name), " ", Quote(word), ": ", AbslView(what)));
}

absl::StatusOr<Instant> ParseUnixSeconds(std::string_view text) {
  constexpr std::size_t kNanoPlaces = 9;
  const std::optional<std::int64_t> nanos = ParseDecimal(text, kNanoPlaces);
  if (!nanos || Instant{Nanos{*nanos}} > kInstantMax) {
    return BadWord("time", text, "expected Unix seconds, as in 1700000000.25");
  }
  return Instant{Nanos{*nanos}};
}

}  // namespace weir
