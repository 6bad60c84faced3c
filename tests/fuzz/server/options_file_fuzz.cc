// Property: any bytes are either an options file or get an error of one line that names the place
// and the option. Options that were read print as texts, and as a file, that set the same options.
// Any line in quotes is a value.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/status.h"
#include "server/config/options.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 3> kErrors = {"option '", "unknown option '",
                                                     "unknown section '"};

void CheckSame(const Options& options, const Options& others) {
  for (const OptionSpec& spec : OptionTable()) {
    WEIR_CHECK(OptionText(spec, options) == OptionText(spec, others));
  }
}

// A value in quotes, in which only quotes and backslashes are special.
bool IsPlain(std::string_view value) {
  return value.find_first_of("\"'`\\\n") == std::string_view::npos;
}

void CheckPrinted(const Options& options) {
  Options by_text = DefaultOptions();
  Options by_file = DefaultOptions();
  std::string file;
  for (const OptionSpec& spec : OptionTable()) {
    const std::string text = OptionText(spec, options);
    WEIR_CHECK(SetOption(spec, text, by_text).ok());
    if (spec.name == "config") continue;
    if (!IsPlain(text)) {
      WEIR_CHECK(SetOption(spec, text, by_file).ok());
      continue;
    }
    file += std::string(spec.name) + " = \"" + text + "\"  # a comment\n";
  }
  CheckSame(options, by_text);
  WEIR_CHECK(ApplyOptionsFile(file, "f", by_file).ok());
  CheckSame(options, by_file);
}

void TryValue(std::string_view line) {
  if (!IsPlain(line)) return;
  Options options = DefaultOptions();
  const std::string file = "requirepass = \"" + std::string(line) + "\"  # a comment\n";
  WEIR_CHECK(ApplyOptionsFile(file, "f", options).ok());
  WEIR_CHECK(options.requirepass == line);
}

void FuzzOne(std::string_view text) {
  TryValue(text.substr(0, text.find('\n')));
  Options options = DefaultOptions();
  const absl::Status applied = ApplyOptionsFile(text, "f", options);
  if (!applied.ok()) {
    const std::string_view error = StdView(applied.message());
    WEIR_CHECK(error.find('\n') == std::string_view::npos);
    WEIR_CHECK(error.size() < 1024);
    WEIR_CHECK(error.starts_with("f:"));
    const std::string_view what = error.substr(error.find(": ") + 2);
    WEIR_CHECK(std::ranges::any_of(
        kErrors, [what](std::string_view begin) { return what.starts_with(begin); }));
  }
  // After an error the options are still valid.
  CheckPrinted(options);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weir::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
