// The requests that a parser finds in a stream of bytes that is cut into pieces.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "protocol/resp_parser.h"
#include "tests/protocol/pieces.h"
#include "tests/support/unread_bytes.h"

namespace weir {

struct Transcript {
  std::vector<std::vector<std::string>> commands;
  std::string ending;        // "need more", "foreign protocol", or the error
  std::size_t consumed = 0;  // bytes of the commands and of empty requests

  bool operator==(const Transcript&) const = default;
};

inline constexpr std::string_view kNeedsMore = "need more";
inline constexpr std::string_view kForeign = "foreign protocol";

inline std::ostream& operator<<(std::ostream& out, const Transcript& transcript) {
  for (const std::vector<std::string>& words : transcript.commands) {
    out << "[";
    for (const std::string& word : words) out << " '" << word.substr(0, 64) << "'";
    out << " ] ";
  }
  return out << transcript.ending << " after " << transcript.consumed << " bytes";
}

// Parses `unread` as far as possible, and appends the results to `transcript`. Checks the parser's
// promises about each result.
inline void ParseAvailable(const RespCaps& caps, RespParser& parser, UnreadBytes& unread,
                           Transcript& transcript) {
  for (;;) {
    const ParseResult result = parser.Parse(unread.bytes());
    unread.Consume(parser.consumed());
    transcript.consumed += parser.consumed();
    WEIR_CHECK(parser.words().empty() == (result != ParseResult::kCommand));
    WEIR_CHECK(parser.error().empty() == (result != ParseResult::kProtocolError));
    WEIR_CHECK(parser.error().size() <= 64);
    if (result == ParseResult::kCommand) {
      WEIR_CHECK(parser.consumed() > 0);
      WEIR_CHECK(parser.words().size() <= static_cast<std::size_t>(caps.args_max));
      for (const std::string_view word : parser.words()) {
        WEIR_CHECK(word.size() <= static_cast<std::size_t>(caps.arg_bytes_max));
      }
      transcript.commands.emplace_back(parser.words().begin(), parser.words().end());
      continue;
    }
    if (result == ParseResult::kNeedMore) {
      WEIR_CHECK(unread.size() < caps.request_bytes_max);
      transcript.ending = kNeedsMore;
    } else {
      transcript.ending = result == ParseResult::kForeignProtocol ? kForeign : parser.error();
      WEIR_CHECK(parser.Parse(unread.bytes()) == result);  // The same result every time.
      WEIR_CHECK(parser.consumed() == 0);
    }
    return;
  }
}

inline Transcript ParseInPieces(const RespCaps& caps, std::string_view bytes, const Cuts& cuts) {
  RespParser parser(caps);
  Transcript transcript;
  DeliverInPieces(bytes, cuts, [&](UnreadBytes& unread) {
    ParseAvailable(caps, parser, unread, transcript);
    return transcript.ending == kNeedsMore;
  });
  return transcript;
}

inline Transcript ParseWhole(const RespCaps& caps, std::string_view bytes) {
  return ParseInPieces(caps, bytes, {});
}

}  // namespace weir
