// Replies of a server in RESP2 or RESP3, for a client that passes them on: where each one ends, and
// what it says.
//
//     switch (scanner.Scan(unread)) {
//       case ReplyScanner::Result::kReply:
//         Take(unread.substr(0, scanner.size()));
//         unread.remove_prefix(scanner.size());    // the next Scan begins another reply
//
// Pure and bounded, so the peer may send anything. Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace weir {

// The most bytes of a reply, of one of its lines, and the most aggregates around a value.
inline constexpr std::size_t kReplyBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kReplyLineBytesMax = 4096;
inline constexpr std::size_t kReplyDepthMax = 8;

// Finds the ends of replies that come in pieces. Looks at each value once, wherever it is cut.
class ReplyScanner {
 public:
  enum class Result : std::uint8_t {
    kNeedMore,
    kReply,
    kStrange  // no reply, or one beyond a bound; the stream cannot be read further
  };

  // `input`: what has come from the beginning of the reply on.
  [[nodiscard]] Result Scan(std::string_view input);
  // Forgets what it has read of a reply.
  void Restart() noexcept {
    at_ = 0;
    missing_.clear();
  }
  // The bytes of the reply. Requires: the last result was kReply.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  // Reads the value at at_, or the header of an aggregate.
  [[nodiscard]] Result ScanValue(std::string_view input);

  std::size_t at_ = 0;  // bytes that are read
  std::size_t size_ = 0;
  absl::InlinedVector<std::size_t, kReplyDepthMax> missing_;  // values, of each open aggregate
};

// A reply as a tree of views.
struct Reply {
  char kind = '_';          // the first byte: + - : , # $ = ( * % ~ > or _ for each kind of null
  std::string_view text{};  // of a value; without the "txt:" of a verbatim one
  std::int64_t number = 0;  // of an integer
  std::vector<Reply> elements{};  // of an aggregate; of a map: a key, its value, ...

  [[nodiscard]] bool is_error() const noexcept { return kind == '-'; }
};

// Requires: `whole` is a reply as Scan has found it. So does the other function.
[[nodiscard]] Reply ReadReply(std::string_view whole);

// Appends a reply of weir's in RESP3 as weir writes it in RESP2: a map is an array of its values
// (core/commands/replies.h), and a verbatim text or a number with a fraction is a bulk string.
void AppendAsResp2(std::string_view whole, std::string& out);

}  // namespace weir
