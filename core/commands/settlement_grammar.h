// The language of settlements: the words of RL.COMMIT and RL.CANCEL -> true costs.
//
//     commit = key [limit ...] [COST n] [AND key [limit ...] [COST n]] ... option ...
//     cancel = key [AND key] ... option ...
//
//     option = HOLD id                             required
//            | WITHLIMITS
//            | AT unix-ns
//
// The options follow the last key, in any order, each once. The true cost of a limit is the `cost=`
// of its word, else its group's COST, else what was reserved. COST without limits is for all limits
// of the key. Held limits have no true cost, so COST passes over them. A policy's word stands for
// those of its limits that were reserved, whatever the policy has now. request_grammar.h has the
// language of reservations.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/policies/limit_memo.h"
#include "core/policies/policies.h"
#include "core/table/key_hash.h"
#include "core/words/settle_request.h"

namespace weir {

enum class SettlementKind { kCommit, kCancel };

struct ParsedSettlement {
  ParsedSettlement() noexcept;  // as Verdict has one

  std::string_view id;
  absl::InlinedVector<SettledKey, 2> keys;  // distinct
  absl::InlinedVector<TrueCost, 4> named;   // views into the command's words and the memo
  // Of `named`: a label, else a text, which begins with '@' for a policy.
  absl::InlinedVector<std::string, 4> names;
  bool with_limits = false;
  std::optional<Instant> at;
};

inline ParsedSettlement::ParsedSettlement() noexcept = default;

// Reads the words after the command's name, and hashes each key once. Errors are kInvalidArgument,
// and kNotFound for an unknown policy; they name the word and what is expected. The result is good
// until the memo's next BeginRequest, and as long as the words' bytes.
[[nodiscard]] absl::StatusOr<ParsedSettlement> ParseSettlement(
    std::span<const std::string_view> words, LimitMemo& memo, const Policies& policies,
    KeyHashes hashes, SettlementKind kind);

}  // namespace weir
