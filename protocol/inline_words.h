// The words of an inline request: the line that a human types into `nc`, or a health check sends.
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
// The rules are those of Redis, except that NUL is a byte like any other, and that every blank ends
// a bare word. A carriage return before the newline needs no rule of its own: it is a blank.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace weir {

// Whether `byte` separates the words of a line (which itself holds no newline).
[[nodiscard]] inline bool IsBlank(char byte) noexcept {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\v' || byte == '\f';
}

// Splits `line` into `words`, which is replaced. A word without quotes is a view into `line`; one
// with quotes is a view into `unquoted`, which is replaced too, and reserves no more than the line
// has bytes. Words may be empty ("").
//
// InvalidArgument "unbalanced quotes in request" for a quote that is not closed, or whose end
// touches the next word; "too many arguments in inline request" for more than `words_max`: the
// leftmost mistake counts. `words` is then unspecified. O(line), allocates nothing once the two
// containers have grown to what such lines need.
[[nodiscard]] absl::Status SplitInlineWords(std::string_view line, std::size_t words_max,
                                            std::vector<std::string_view>& words,
                                            std::string& unquoted);

}  // namespace weir
