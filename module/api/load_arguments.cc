#include "module/api/load_arguments.h"

#include <optional>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/rules/slice.h"
#include "core/table/hold.h"
#include "core/words/number_word.h"

namespace weir {
namespace {

constexpr std::int64_t kMaxHoldsMax = 100'000'000;
constexpr Nanos kNotifyIntervalMax = std::chrono::hours{24};

std::string_view TextOf(const redis::String* word) {
  std::size_t bytes = 0;
  const char* const text = redis::StringPtrLen(word, &bytes);
  return {text, bytes};
}

}  // namespace

absl::StatusOr<ModuleOptions> ReadLoadArguments(std::span<redis::String*> words) {
  using std::chrono::milliseconds;
  const auto millis = [](Nanos span) {
    return std::chrono::duration_cast<milliseconds>(span).count();
  };
  ModuleOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = TextOf(words[i]);
    const auto is = [&](absl::string_view name) {
      return absl::EqualsIgnoreCase(AbslView(word), name) && i + 1 < words.size();
    };
    const auto number = [&](std::string_view name, std::int64_t least, std::int64_t most) {
      return ReadNumber(name, TextOf(words[++i]), least, most);
    };
    absl::StatusOr<std::int64_t> read = 0;
    if (absl::EqualsIgnoreCase(AbslView(word), "allow-explicit-time")) {
      options.allow_explicit_time = true;
    } else if (is("max-hold")) {
      read = number("max-hold", 1, millis(kHoldMax));
      if (read.ok()) options.max_hold = milliseconds{*read};
    } else if (is("max-holds")) {
      read = number("max-holds", 0, kMaxHoldsMax);
      if (read.ok()) options.max_holds = *read;
    } else if (is("max-wait")) {
      read = number("max-wait", 0, millis(kMaxWaitMax));
      if (read.ok()) options.max_wait = milliseconds{*read};
    } else if (is("notify-at")) {
      const std::optional<Percents> percents = ReadPercents(TextOf(words[++i]));
      if (!percents) {
        return absl::InvalidArgumentError(
            absl::StrCat("invalid notify-at ", Quote(TextOf(words[i])), ": must be at most ",
                         kPercentsMax, " integers from 1 to 100, separated by commas"));
      }
      options.notify_at = *percents;
    } else if (is("notify-interval")) {
      read = number("notify-interval", 0, millis(kNotifyIntervalMax));
      if (read.ok()) options.notify_interval = milliseconds{*read};
    } else if (is("slice-life")) {
      read = number("slice-life", 0, millis(kSliceLifeMax));
      if (read.ok()) options.slice_life = milliseconds{*read};
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected ", Quote(word),
                       ": the arguments are allow-explicit-time, max-hold ms, max-holds number, "
                       "max-wait ms, notify-at percents, notify-interval ms and slice-life ms"));
    }
    if (!read.ok()) return read.status();
  }
  return options;
}

}  // namespace weir
