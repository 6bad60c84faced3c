// The language of requests: a command's words -> checks.
//
//     key limit [limit ...] [COST n] [AND key limit [limit ...] [COST n]] ... [WITHLIMITS] [AT
//     unix-ns]
//
// A key is taken by its position and may spell a keyword. COST ends a group; the options follow the
// last group, in any order, each once. Keywords are case-insensitive. The cost of a check is the
// `cost=` of its word, else its group's COST, else 1. limit_grammar.h has the language of a limit.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"

#include "core/instant.h"
#include "core/limit_memo.h"
#include "core/request.h"

namespace weir {

struct ParsedRequest {
  Request checks;                                  // views into the command's words and the memo
  absl::InlinedVector<const LimitWord*, 4> words;  // one a check: its word
  bool with_limits = false;
  std::optional<Instant> at;
};

// Reads the words after the command's name. Errors are kInvalidArgument (kUnimplemented for the
// parts of the grammar that this version reads but does not decide) and name the word and what
// would be right. The result is good until the memo's next BeginRequest, which this calls, and as
// long as the words' bytes.
[[nodiscard]] absl::StatusOr<ParsedRequest> ParseRequest(std::span<const std::string_view> words,
                                                         LimitMemo& memo);

// Reads words that are only limits, of which only the limit matters (RL.RESET key limit ...).
[[nodiscard]] absl::StatusOr<absl::InlinedVector<Limit, 4>> ParseLimits(
    std::span<const std::string_view> words, LimitMemo& memo);

}  // namespace weir
