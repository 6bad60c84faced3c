#include "persistence/stop_file.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/status.h"
#include "persistence/crc32c.h"

namespace weir {
namespace {

constexpr std::string_view kBegin = "weir stopped at ";
constexpr std::string_view kBeforeChecksum = " crc32c ";

}  // namespace

std::string StopFileText(std::uint64_t sequence_number) {
  const std::string text = absl::StrCat(AbslView(kBegin), sequence_number);
  return absl::StrFormat("%s%s%08x\n", text, AbslView(kBeforeChecksum), Crc32c(text));
}

std::optional<std::uint64_t> ReadStopFile(std::string_view text) {
  if (!text.starts_with(kBegin)) return std::nullopt;
  const std::string_view rest = text.substr(kBegin.size());
  std::uint64_t number = 0;
  const std::string_view digits = rest.substr(0, rest.find(kBeforeChecksum));
  if (!absl::SimpleAtoi(AbslView(digits), &number)) return std::nullopt;
  if (StopFileText(number) != text) return std::nullopt;
  return number;
}

}  // namespace weir
