// The requests that a parser finds in a stream of bytes that is cut into pieces, as a network might
// deliver it.
//
// Each piece arrives in a heap block of exactly the size of the unread input, which replaces the
// previous block. So AddressSanitizer finds a parser that reads one byte too many, or that keeps
// pointers into an old block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "protocol/resp_parser.h"

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

// Parses `unread` as far as possible, appends the results to `transcript`, and returns the bytes
// that are left. Checks the parser's promises about each result.
inline std::string_view ParseAvailable(const RespCaps& caps, RespParser& parser,
                                       std::string_view unread, Transcript& transcript) {
  for (;;) {
    const ParseResult result = parser.Parse(unread);
    WEIR_CHECK(parser.consumed() <= unread.size());
    unread.remove_prefix(parser.consumed());
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
      WEIR_CHECK(parser.Parse(unread) == result);  // The same result every time.
      WEIR_CHECK(parser.consumed() == 0);
    }
    return unread;
  }
}

// Parses `bytes`, cut before each offset in `cuts`, which are ascending.
inline Transcript ParseInPieces(const RespCaps& caps, std::string_view bytes,
                                const std::vector<std::size_t>& cuts) {
  RespParser parser(caps);
  Transcript transcript;
  transcript.ending = kNeedsMore;
  std::unique_ptr<char[]> block;
  std::string_view unread;
  for (std::size_t i = 0, begin = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : bytes.size();
    const std::string_view piece = bytes.substr(begin, end - begin);
    begin = end;
    std::unique_ptr<char[]> next(new char[unread.size() + piece.size()]);
    piece.copy(std::copy(unread.begin(), unread.end(), next.get()), piece.size());
    unread = {next.get(), unread.size() + piece.size()};
    block = std::move(next);
    unread = ParseAvailable(caps, parser, unread, transcript);
    if (transcript.ending != kNeedsMore) break;
  }
  return transcript;
}

inline Transcript ParseWhole(const RespCaps& caps, std::string_view bytes) {
  return ParseInPieces(caps, bytes, {});
}

// The cuts that deliver `bytes` bytes one by one.
inline std::vector<std::size_t> EveryByte(std::size_t bytes) {
  std::vector<std::size_t> cuts;
  for (std::size_t cut = 1; cut < bytes; ++cut) cuts.push_back(cut);
  return cuts;
}

}  // namespace weir
