// Property: any bytes are either a word of a limit or get a bounded error that quotes them; a valid
// word prints and reads back as the same limit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<weir::LimitWord> word = weir::ParseLimitWord(text);
  if (!word.ok()) {
    const std::string_view error = weir::StdView(word.status().message());
    WEIR_CHECK(error.size() < 512);
    WEIR_CHECK(error.starts_with("invalid limit " + weir::Quote(text) + ": "));
    return 0;
  }
  WEIR_CHECK(!NameOf(*word).empty());
  WEIR_CHECK(word->limit.has_value() == (word->kind != weir::LimitWord::Kind::kPolicy));
  if (!word->limit.has_value()) return 0;
  const std::string canonical = weir::LimitText(*word->limit);
  const absl::StatusOr<weir::LimitWord> again = weir::ParseLimitWord(canonical);
  WEIR_CHECK(again.ok());
  WEIR_CHECK(again->limit == word->limit);
  WEIR_CHECK(NameOf(*again) == canonical);
  return 0;
}
