// Reads a command's arguments from left to right, and keeps the first failure: a handler reads all
// it wants and looks for an error once.
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
// After a failure the reader is at its end and hands out harmless values (an empty word, the least
// integer), so loops like this one end and nothing needs a check in between. Nothing may be acted
// on before Finish() has said that all is well.
//
// Failures are InvalidArgument; the texts begin as those that clients of Redis match on, without
// the prefix "ERR ". A client's word is quoted with at most kArgQuotedBytesMax of its bytes,
// unescaped: RespWriter::Error() escapes.
//
// Copyable, cheap, not thread safe. The words must outlive the reader, and are where its views
// point. Allocates only for a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace weir {

inline constexpr std::size_t kArgQuotedBytesMax = 128;  // what is longer ends in "..."

class ArgReader {
 public:
  explicit ArgReader(std::span<const std::string_view> words) noexcept : rest_(words) {}

  // No argument is left, or reading has failed.
  [[nodiscard]] bool AtEnd() const noexcept { return rest_.empty(); }

  // Takes the next word. None is left: "syntax error, <name> is missing". `name` is what the
  // documentation calls it.
  std::string_view Word(std::string_view name);

  // Takes the next word as an integer (see integer.h) between `min` and `max`, both included. It is
  // none: "invalid <name> '<word>': value is not an integer or out of range (<min> to <max>)".
  std::int64_t Integer(std::string_view name, std::int64_t min, std::int64_t max);

  // Takes the next word if it spells `keyword`, in any case.
  bool TryKeyword(std::string_view keyword);

  // Takes all words that are left, perhaps none.
  std::span<const std::string_view> Rest() noexcept;

  // Fails with a text of the handler's own, unless something failed before.
  void Fail(std::string_view text);

  // The first failure; "syntax error" if there was none but arguments are left.
  [[nodiscard]] absl::Status Finish();

 private:
  std::span<const std::string_view> rest_;
  absl::Status failure_;
};

}  // namespace weir
