#include "module/api/load_arguments.h"

#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/number_word.h"

namespace weir {
namespace {

std::string_view TextOf(const redis::String* word) {
  std::size_t bytes = 0;
  const char* const text = redis::StringPtrLen(word, &bytes);
  return {text, bytes};
}

}  // namespace

absl::StatusOr<ModuleOptions> ReadLoadArguments(std::span<redis::String*> words) {
  using std::chrono::milliseconds;
  ModuleOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = TextOf(words[i]);
    if (absl::EqualsIgnoreCase(AbslView(word), "allow-explicit-time")) {
      options.allow_explicit_time = true;
    } else if (absl::EqualsIgnoreCase(AbslView(word), "max-wait") && i + 1 < words.size()) {
      const absl::StatusOr<std::int64_t> millis =
          ReadNumber("max-wait", TextOf(words[++i]), 0,
                     std::chrono::duration_cast<milliseconds>(kMaxWaitMax).count());
      if (!millis.ok()) return millis.status();
      options.max_wait = milliseconds{*millis};
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "unexpected ", Quote(word), ": the arguments are allow-explicit-time and max-wait ms"));
    }
  }
  return options;
}

}  // namespace weir
