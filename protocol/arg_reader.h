// A reader of a command's arguments, from left to right, that keeps its first failure. So a handler
// reads all that it needs and looks for an error once, at the end.
//
//     // HELLO [protover [AUTH username password] [SETNAME name]]
//     ArgReader args(words);                            // without the command's name
//     std::int64_t version = current;
//     if (!args.AtEnd()) version = args.Integer("protover", 2, 3);
//     while (!args.AtEnd()) {
//       if (args.TryKeyword("AUTH")) {
//         username = args.Word("username");
//         password = args.Word("password");
//       } else if (args.TryKeyword("SETNAME")) {
//         name = args.Word("clientname");
//       } else {
//         args.Fail("syntax error");
//       }
//     }
//     if (absl::Status read = args.Finish(); !read.ok()) return ReplyError(read);
//
// After a failure the reader is at its end and returns harmless values (an empty word, the least
// integer), so a loop like this one ends and needs no check of its own. A handler must not act on
// any value before Finish() has returned ok.
//
// Failures are kInvalidArgument. Their texts begin as those of Redis, which clients match on,
// without the prefix "ERR ". They quote at most kArgQuotedBytesMax bytes of a client's word,
// unescaped: RespWriter::Error() escapes.
//
// Copyable, cheap, not thread safe. The returned words are views: the arguments must outlive them.
// Allocates only for a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace weir {

inline constexpr std::size_t kArgQuotedBytesMax = 128;  // a longer word ends in "..."

class ArgReader {
 public:
  explicit ArgReader(std::span<const std::string_view> words) noexcept : rest_(words) {}

  // True if no argument is left, or reading has failed.
  [[nodiscard]] bool AtEnd() const noexcept { return rest_.empty(); }

  // Takes the next word. `name` is its name in the documentation. Fails if no word is left:
  // "syntax error, <name> is missing".
  std::string_view Word(std::string_view name);

  // Takes the next word as an integer (see integer.h) from `min` to `max`, both included. Fails if
  // it is no such integer: "invalid <name> '<word>': value is not an integer or out of range (<min>
  // to <max>)". Requires: min <= max.
  std::int64_t Integer(std::string_view name, std::int64_t min, std::int64_t max);

  // Takes the next word if it is `keyword`, in upper or lower case. Returns whether it was.
  bool TryKeyword(std::string_view keyword);

  // Takes all words that are left, perhaps none.
  std::span<const std::string_view> Rest() noexcept;

  // Fails with a text of the handler's, unless reading has failed before. Requires: a text.
  void Fail(std::string_view text);

  // Returns the first failure. Where nothing has failed but arguments are left: "syntax error".
  [[nodiscard]] absl::Status Finish();

 private:
  std::span<const std::string_view> rest_;
  absl::Status failure_;
};

}  // namespace weir
