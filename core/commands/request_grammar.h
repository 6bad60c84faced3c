// The language of requests: a command's words -> checks.
//
//     request = group [AND group] ... [OR group [AND group] ...] ... [option ...]
//     group = key limit [limit ...] [COST n]
//
//     OR: in deciding, looking and reserving requests; AND binds tighter
//     option = WITHLIMITS
//            | AT unix-ns                          in all but waiting requests
//            | UPTO n                              in taking and slicing requests only, required
//            | TIMEOUT ms                          in waiting requests only, required
//            | HOLD id                             in reserving and slicing requests, required; in
//                                                  taking ones
//            | TTL ms                              with HOLD only: how long the hold lasts
//            | NEED n | UNIT n                     in slicing requests only, required
//
// A slicing request is about one key, and has no WITHLIMITS.
//
// A key is recognised by its position, so it may read like a keyword. COST ends a group; the
// options follow the last group, in any order, each once. Keywords are case-insensitive. A policy's
// word stands for its limits, or for those of the key's override. The cost of a check is the
// `cost=` of its word, else that of the policy, else its group's COST, else 1. It keeps the `keep=`
// of its word, else that of the policy, else nothing. limit_grammar.h has the language of a limit.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"

#include "core/base/instant.h"
#include "core/policies/limit_memo.h"
#include "core/table/key_hash.h"
#include "core/words/request.h"

namespace weir {

// The purpose of a request, which decides the options that it may have. Held limits are for
// requests that hold, and for looks.
enum class RequestKind {
  kDecide,  // RL.ALLOW
  kChange,  // RL.CHARGE, RL.REFUND
  kLook,    // RL.PEEK
  kTake,
  kReserve,
  kSlice,
  // Neither window limits nor `keep=`: a window has no future tokens to reserve, and tokens that
  // are kept for others must not be reserved.
  kWait
};

// The HOLD of a request.
struct AskedHold {
  std::string_view id;      // empty: the request holds nothing
  Nanos ttl{0};             // 1 ms .. kHoldMax
  std::uint64_t words = 0;  // a hash of the keys, limits, costs and UPTO, as the client wrote them
};

struct ParsedRequest {
  ParsedRequest() noexcept;  // as Verdict has one

  // The index of a check's key in the command.
  [[nodiscard]] std::uint32_t GroupOf(std::size_t i) const noexcept {
    return static_cast<std::uint32_t>(std::popcount(begins_group << (kChecksMax - 1 - i)));
  }

  Request checks;                               // views into the command's words and the memo
  absl::InlinedVector<CachedLimit*, 4> limits;  // one per check
  // One bit per check: set if it is the first one behind an AND or OR.
  std::uint64_t begins_group = 0;
  bool with_limits = false;
  std::optional<Instant> at;
  std::int64_t upto = 0;  // >= 1 in a taking request
  Nanos timeout{0};       // 0 .. kMaxWaitMax
  AskedHold hold;

  // Limits of overrides, which no memo holds. The request views them.
  std::vector<std::unique_ptr<absl::InlinedVector<CachedLimit, 1>>> overridden;
};

inline ParsedRequest::ParsedRequest() noexcept = default;

// A slicing request, RL.SLICE.
struct ParsedSlice : ParsedRequest {  // about one key, with `upto` and `hold`
  std::int64_t need = 0;              // 0 to `upto`
  std::int64_t unit = 1;              // 1 to `need`; any if that is 0
};

// True for AND, OR, COST and the names of options, in any case: such a word is never read as a
// limit.
[[nodiscard]] bool IsRequestKeyword(std::string_view word);

// Reads the words after the command's name, and hashes each key once. Errors are kInvalidArgument,
// and kNotFound for an unknown policy; they name the word and what is expected. The result is good
// until the memo's next BeginRequest (the next ParseRequest calls it), and as long as the words'
// bytes. Requires: a kind other than kSlice.
[[nodiscard]] absl::StatusOr<ParsedRequest> ParseRequest(std::span<const std::string_view> words,
                                                         LimitMemo& memo, KeyHashes hashes,
                                                         RequestKind kind = RequestKind::kDecide);

// Reads a slicing request, as ParseRequest does.
[[nodiscard]] absl::StatusOr<ParsedSlice> ParseSlice(std::span<const std::string_view> words,
                                                     LimitMemo& memo, KeyHashes hashes);

// Reads words that are all limits of this key (RL.RESET key limit ...). Their request options do
// not matter.
[[nodiscard]] absl::StatusOr<absl::InlinedVector<Limit, 4>> ParseLimits(
    std::string_view key, std::span<const std::string_view> words, LimitMemo& memo);

}  // namespace weir
