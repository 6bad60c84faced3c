// Property: any pattern matches exactly the texts that a plain matcher accepts, and no text if it
// is too long. A matcher that backtracks over several stars would run into libFuzzer's timeout.
//
// The input is a pattern, a line break and a text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "server/access/glob.h"
#include "tests/server/access/naive_glob.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line_break = input.rfind('\n');
  if (line_break == std::string_view::npos) return 0;
  const std::string_view pattern = input.substr(0, line_break);
  const std::string_view text = input.substr(line_break + 1);
  const bool expected =
      pattern.size() <= weir::kGlobPatternBytesMax && weir::MatchesGlobNaively(pattern, text);
  WEIR_CHECK(weir::MatchesGlob(pattern, text) == expected);
  return 0;
}
