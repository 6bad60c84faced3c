#include "server/config/pair_list.h"

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "core/base/status.h"

namespace weir {
namespace {

bool IsOfName(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         kMarks.find(c) != std::string_view::npos;
}

// Fields that begin so are those of HTTP/2 or gRPC, not of the one who calls.
bool IsOfCall(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"connection", "content-length", "content-type", "host", "te", "transfer-encoding"});
  return name.starts_with("grpc-") || std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace

std::optional<PairList> ParsePairs(std::string_view text, char mark) {
  PairList pairs;
  if (text.empty()) return pairs;
  for (const absl::string_view part : absl::StrSplit(AbslView(text), ',')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits(mark, 1));
    const absl::string_view name = absl::StripAsciiWhitespace(pair.first);
    if (name.empty() || part.find(mark) == absl::string_view::npos) return std::nullopt;
    pairs.emplace_back(name, absl::StripAsciiWhitespace(pair.second));
  }
  return pairs;
}

absl::StatusOr<PairList> ParseHeaders(std::string_view text) {
  const absl::Status wrong =
      absl::InvalidArgumentError("must be name:value,name:value with fields that a call may have");
  std::optional<PairList> headers = ParsePairs(text, ':');
  if (!headers) return wrong;
  for (auto& [name, value] : *headers) {
    absl::AsciiStrToLower(&name);
    const auto is_printable = [](char c) { return c == '\t' || (c >= ' ' && c != '\x7f'); };
    if (!std::ranges::all_of(name, IsOfName) || IsOfCall(name)) return wrong;
    if (!std::ranges::all_of(value, is_printable)) return wrong;
  }
  return *std::move(headers);
}

}  // namespace weir
