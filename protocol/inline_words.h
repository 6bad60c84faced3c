// The words of an inline request: a line of text that a person types into `nc`, or that a health
// check sends.
//
//     line    = blank* [word (blank+ word)*] blank*
//     word    = bare+ | bare* (double | single)       the closing quote ends the word
//     bare    = any byte but a blank, '"' and "'"
//     double  = '"' (escape | any byte but '"' and '\')* '"'
//     single  = "'" ("\'" | any byte but "'")* "'"
//     escape  = "\x" hex hex | "\n" | "\r" | "\t" | "\b" | "\a"
//             | "\" any other byte, which then stands for itself
//     blank   = space | tab | CR | vertical tab | form feed
//
// Redis has the same rules, except that here NUL is a byte like any other and every blank ends a
// bare word. The carriage return before the newline needs no rule: it is a blank.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace weir {

// True if `byte` separates the words of a line. (A line contains no newline.)
[[nodiscard]] inline bool IsBlank(char byte) noexcept {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\v' || byte == '\f';
}

// Splits `line` and replaces `words` and `unquoted` by the result. A word without quotes is a view
// into `line`. A word with quotes is a view into `unquoted`, which never gets longer than the line.
// Words may be empty ("").
//
// Fails with kInvalidArgument and the text of the leftmost mistake: "unbalanced quotes in request"
// for a quote that is not closed or that the next word follows without a blank, "too many arguments
// in inline request" for more than `words_max` words. `words` is then unspecified.
//
// Cost: O(bytes of the line). Allocates nothing once both containers have the room that such lines
// need.
[[nodiscard]] absl::Status SplitInlineWords(std::string_view line, std::size_t words_max,
                                            std::vector<std::string_view>& words,
                                            std::string& unquoted);

}  // namespace weir
