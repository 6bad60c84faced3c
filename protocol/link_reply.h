// Requests in the Redis protocol, and replies to them, as a client of another server writes and
// reads them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

inline constexpr std::size_t kLinkReplyBytesMax = 4096;

// A reply: one text, or the elements of an array.
struct LinkReply {
  std::string error;  // without "-"; empty: the reply is no error
  std::vector<std::string> words;
  std::size_t bytes = 0;  // at the front of the input
};

// The reply at the front of the input; nothing if it is not complete. A reply that no primary gives
// is an error, too. Understands +, -, :, $ and arrays of these.
[[nodiscard]] std::optional<LinkReply> ReadLinkReply(std::string_view input);

// Appends the words of a request as an array. One of them may be a password: `out` grows once, so
// that no other buffer has had the bytes, unless it held some before.
void AppendRequest(std::span<const std::string_view> words, std::string& out);

}  // namespace weir
