// The value of an option that lists pairs: "zone=a,tier=free".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace weir {

using PairList = std::vector<std::pair<std::string, std::string>>;

// Splits a text at its commas, and each part at its first `mark`, without the blanks around them;
// empty for an empty text. Unset if a part has no mark, or nothing before it. Pure.
[[nodiscard]] std::optional<PairList> ParsePairs(std::string_view text, char mark);

// Likewise fields of HTTP, "name:value", with names in lower case. Fails with kInvalidArgument,
// also for a name or a value that HTTP does not permit, and for fields that a call of gRPC has
// itself; the message says the form and quotes nothing, as a value may be a token.
[[nodiscard]] absl::StatusOr<PairList> ParseHeaders(std::string_view text);

}  // namespace weir
