// The language of limits: words <-> values.
//
//     limit  = count "/" period *("," option)      10/s   1000/24h   10/s,burst=50   1k/m,cost=5
//            | count ",held" *("," request-option) 5,held   at most 5 at a time (held_limit.h)
//            | "@" policy *("," request-option)    @free   @free,cost=5
//            | "unlimited" | "none"                always allowed; never allowed
//     count  = digits ["k" | "M" | "G"]            decimal multiples; 1 to 2^63-1, fixed and
//                                                  calendar 2^51-1, sliding and held 2^31-1;
//                                                  "K" reads as "k"
//     period = [digits] ("us" | "ms" | "s" | "m" | "h" | "d" | "w")
//                                                  "s" is "1s"; 1us to 2^58 ns (9 years);
//                                                  "sec", "minutes" ...: limit_units.h
//            | "day" | "week" | "month" | "year"   a window of the calendar, which is fixed
//     option = "bucket" | "fixed" | "sliding"      algorithm; default bucket
//            | "burst=" count                      bucket only; default count
//            | "aligned"                           fixed only
//            | "ban=" period                       bucket and fixed: how long a denial shuts it
//            | "tz=" zone | "from=" anchor         calendar only (calendar_text.h)
//            | request-option
//     request-option = "cost=" digits              0 to 2^63-1: tokens to take from this limit
//            | "keep=" digits                      0 to 2^63-1: tokens that must be left after it
//            | "shadow"                            evaluated and counted, never denies
//            | "name=" label                       its name in replies and statistics
//     policy, label =                              1 to 64 of letters, digits, _ - . :
//
// All in lower case, except for M, G and K. Numbers have no sign and no leading zero. Each option
// may be given once, in any order. Pure but for the time zones, which the first "tz=" of a process
// loads if its host has not; thread-safe. Cost: one pass over the word. Tested by
// limit_grammar_test.cc and limit_grammar_fuzz.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "core/rules/limit.h"

namespace weir {

inline constexpr std::size_t kLabelBytesMax = 64;

// A parsed limit word.
struct LimitWord {
  enum class Kind { kLimit, kPolicy, kUnlimited, kNone };

  Kind kind = Kind::kLimit;
  std::optional<Limit> limit;        // set for all but kPolicy
  std::string policy;                // set for kPolicy, without the '@'
  bool shadow = false;               // of the word; for kLimit also in the limit's shape
  std::optional<std::int64_t> cost;  // set if the word has one
  std::optional<std::int64_t> keep;  // set if the word has one
  std::string label;                 // empty if the word has none
};

// Parses a word. Errors name the wrong part and what is expected; they are kNotFound for an unknown
// time zone, which another system may have, else kInvalidArgument:
//     invalid limit '10/S': unknown unit 'S' (us, ms, s, m, h, d, w, or day, week, month, year)
[[nodiscard]] absl::StatusOr<LimitWord> ParseLimitWord(std::string_view text);

// Returns the error of a word, with a hint if it is a count and the next word its period: "10 60".
// `next` is empty if there is none.
[[nodiscard]] absl::Status WithPeriod(const absl::Status& error, std::string_view text,
                                      std::string_view next);

// The name of a word's limit in replies and statistics: its label, else its canonical text without
// the request's options.
[[nodiscard]] std::string NameOf(const LimitWord& word);

// The canonical text of a limit: reading it gives an equal limit. "1000/24h" prints as "1000/d",
// "60/60s,burst=60" as "60/m"; a multiplier is used from 10,000 on ("1000/h", "10k/h", "1M/d").
[[nodiscard]] std::string LimitText(const Limit& limit);

// Parses a decimal number of the grammar: digits only, no leading zero except in "0", at most
// 2^63-1.
[[nodiscard]] std::optional<std::int64_t> ParseDigits(std::string_view digits) noexcept;

// True for 1 to 64 of letters, digits, _ - . :
[[nodiscard]] bool IsLabel(std::string_view text) noexcept;

// Fails with kInvalidArgument if a client's label for a limit begins like the names of weir's
// commands: RL.STATS and WITHLIMITS use both as names of limits. `limit` is the whole word, for the
// error. Labels that were stored before this rule may begin so. Pure; thread-safe.
[[nodiscard]] absl::Status CheckLabel(std::string_view label, std::string_view limit);

}  // namespace weir
