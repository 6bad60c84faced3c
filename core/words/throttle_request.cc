#include "core/words/throttle_request.h"

#include <chrono>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/words/number_word.h"

namespace weir {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kPeriodSecondsMax = std::chrono::duration_cast<seconds>(kPeriodMax).count();

}  // namespace

absl::StatusOr<ThrottleRequest> ParseThrottle(std::span<const std::string_view> words) {
  WEIR_DCHECK(words.size() == 4 || words.size() == 5);
  const auto max_burst = ReadNumber("max_burst", words[1], 0, kCountMax - 1);
  if (!max_burst.ok()) return max_burst.status();
  const auto count = ReadNumber("count_per_period", words[2], 1, kCountMax);
  if (!count.ok()) return count.status();
  const auto period = ReadNumber("period", words[3], 1, kPeriodSecondsMax);
  if (!period.ok()) return period.status();
  absl::StatusOr<std::int64_t> quantity = 1;
  if (words.size() == 5) quantity = ReadNumber("quantity", words[4], 0, kCountMax);
  if (!quantity.ok()) return quantity.status();

  const absl::StatusOr<Limit> limit =
      Limit::Create({.count = *count, .period = seconds{*period}, .burst = *max_burst + 1});
  if (!limit.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("invalid limit of ", *count, " in ", *period,
                                                   " s, max_burst ", *max_burst, ": ",
                                                   limit.status().message()));
  }
  return ThrottleRequest{words[0], limit->OwnedBy(kThrottleOwner), *quantity};
}

}  // namespace weir
