// An incremental parser of Redis requests: takes the bytes that a connection delivers, in pieces of
// any size, and returns the words of one request after the other.
//
// Grammar
//
//     stream    = (request | empty)*
//     request   = multibulk | inline
//     multibulk = "*" count CRLF count * bulk         count: 1 .. args_max
//     bulk      = "$" length CRLF length * byte CRLF  length: 0 .. arg_bytes_max
//     inline    = line LF                             does not begin with "*"; see inline_words.h
//     empty     = "*" integer CRLF                    0 or less
//               | blank* LF
//
// Numbers are spelled as integer.h says. Nothing nests: a request is flat, so there is no recursion
// and no depth to limit. An empty request gets no reply and is skipped. We are stricter than Redis
// in four places: the CR of a length line must be followed by LF, and may not be preceded by one; a
// bulk must end in CRLF; NUL is a byte like any other.
//
// Use
//
//     RespParser parser(kRespCapsBeforeAuth);
//     std::string_view unread = ...;                  // all bytes received and not consumed yet
//     for (;;) {
//       const ParseResult result = parser.Parse(unread);
//       unread.remove_prefix(parser.consumed());
//       if (result == ParseResult::kCommand) {
//         Execute(parser.words());                    // views: gone with the next Parse()
//       } else {
//         break;                                      // receive more; after an error, close
//       }
//     }
//
// A command may change the caps (AUTH, RESET). A caller that has parsed further requests by then
// calls Restart() and parses those again.
//
// Caps
//
//     exceeding          is the error "Protocol error: ..."          decided at
//     line_bytes_max     too big inline request                      the first byte too many
//                        too big mbulk count string                  "
//                        too big bulk count string                   "
//     args_max           invalid multibulk length                    the end of the count's line
//                        unauthenticated multibulk length            " (before AUTH)
//                        too many arguments in inline request        the end of the line
//     arg_bytes_max      invalid bulk length                         the end of the length's line
//                        unauthenticated bulk length                 " (before AUTH)
//     request_bytes_max  too big request                             the length that leads there
//
// Before AUTH, a number above the cap is "unauthenticated", unless it is one that Redis refuses
// from every client (a count above 2^31-1, a length above 512 MiB): that is "invalid". Redis checks
// in this order.
//
// Other errors: invalid multibulk length, invalid bulk length (not an integer, or a line that does
// not end in CRLF), expected '$', got 'x', unbalanced quotes in request. An error ends the stream:
// every later Parse() repeats it.
//
// Guarantees
//
//   * The pieces do not matter. The commands, their order, the error and the bytes consumed depend
//     on the bytes of the stream alone, not on how they are divided among calls.
//   * A buffer of request_bytes_max bytes suffices: kNeedMore leaves fewer bytes than that
//     unconsumed.
//   * A number that a client declares allocates nothing. Memory grows with the bytes received. A
//     parser that has seen a request of some shape, whole and in pieces, allocates nothing for
//     further ones. It keeps at most 24 bytes for each word of its largest request, and as many
//     bytes as its longest quoted inline line has.
//   * Each byte is read once, as each call continues where the last one stopped. (Bytes that arrive
//     together with the first byte of their request are read twice at most.)
//
// Not thread safe. Tests: resp_parser_test.cc (cases, in every cut), resp_parser_caps_test.cc,
// resp_parser_memory_test.cc, resp_parser_model_test.cc (against a naive parser of the whole),
// fuzz/protocol/resp_parser_fuzz.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

// The bounds of a request.
struct RespCaps {
  std::size_t line_bytes_max;     // before the LF of an inline request, the CR of a length line
  std::int64_t args_max;          // words of a request, the command's name counted
  std::int64_t arg_bytes_max;     // bytes of one of them
  std::size_t request_bytes_max;  // all bytes of a request, from its first to its last line end
  bool authenticated;             // selects the error of a number above a cap
};

// True if exceeding a cap always gives that cap's error, and no offset overflows. Required of all
// caps given to a parser.
[[nodiscard]] constexpr bool IsConsistent(const RespCaps& caps) noexcept {
  return caps.line_bytes_max >= 4 && caps.args_max > 0 &&
         std::cmp_less_equal(caps.line_bytes_max, caps.arg_bytes_max) &&
         caps.line_bytes_max + 2 <= caps.request_bytes_max &&
         caps.request_bytes_max <= std::numeric_limits<std::uint32_t>::max();
}

// The largest request that makes sense has fewer than 400 words, and a key of up to 64 KiB.
inline constexpr RespCaps kRespCaps = {.line_bytes_max = 64 * 1024,
                                       .args_max = 1024,
                                       .arg_bytes_max = 64 * 1024,
                                       .request_bytes_max = 256 * 1024,
                                       .authenticated = true};

// A client that has not authenticated gets what AUTH and HELLO need.
inline constexpr RespCaps kRespCapsBeforeAuth = {.line_bytes_max = 8 * 1024,
                                                 .args_max = 10,
                                                 .arg_bytes_max = 16 * 1024,
                                                 .request_bytes_max = 16 * 1024,
                                                 .authenticated = false};

static_assert(IsConsistent(kRespCaps) && IsConsistent(kRespCapsBeforeAuth));

inline constexpr std::size_t kProtocolErrorBytesMax = 64;

enum class ParseResult {
  kNeedMore,         // no complete request is left
  kCommand,          // words() is the next request, and is not empty
  kProtocolError,    // reply error() and close
  kForeignProtocol,  // an HTTP client, perhaps a browser lured to this port: close, say nothing
};

class RespParser {
 public:
  explicit RespParser(const RespCaps& caps = kRespCaps) noexcept;

  // Sets the caps of the requests that follow. Requires: no request is half read: Parse() was not
  // called yet or has just returned kCommand.
  void set_caps(const RespCaps& caps) noexcept;

  // Forgets a half-read request and a failure: the next Parse() begins with the first byte of a
  // request.
  void Restart() noexcept;

  // Frees the memory of a large request that was executed. Invalidates words().
  void ShrinkBuffers() noexcept;

  // Overwrites the copies of words that it holds. Invalidates words().
  void Wipe() noexcept;

  // Reads on to the end of the next request. `unread` begins with the first byte that is not
  // consumed: it is what the last call left unconsumed, followed by what has arrived since. It may
  // have moved in memory. Requires: it is not shorter than the last call left it.
  //
  // kForeignProtocol: an inline request whose first word is POST or Host: in any case, or that has
  // " HTTP/1" in it.
  [[nodiscard]] ParseResult Parse(std::string_view unread);

  // After kCommand: the words. They are views into `unread` or, for words with quotes, into this
  // parser, and valid until the next Parse() and while `unread` stays in place. Otherwise empty.
  [[nodiscard]] std::span<const std::string_view> words() const noexcept { return words_; }

  // True if all words() are views into `unread`.
  [[nodiscard]] bool words_are_in_input() const noexcept { return words_are_in_input_; }

  // The number of bytes at the front of `unread` that are not needed any more: those of the command
  // and of the empty requests before it. With kNeedMore or an error only those of empty requests.
  [[nodiscard]] std::size_t consumed() const noexcept { return consumed_; }

  // After kProtocolError: "Protocol error: ...", at most kProtocolErrorBytesMax bytes. It may quote
  // one byte of the client's, for example a control byte. Otherwise empty.
  [[nodiscard]] std::string_view error() const noexcept { return error_; }

 private:
  struct LengthLine;  // the caps and errors by which "*3" differs from "$3"

  // A word of the multibulk request being read, relative to the request's first byte.
  struct Extent {
    std::uint32_t offset;
    std::uint32_t bytes;
  };

  // The result that Parse() must return now; nothing: reading continues.
  using Stop = std::optional<ParseResult>;

  // `request` is `unread` from the request's first byte on. All offsets below count from it.
  ParseResult ParseInline(std::string_view request);
  bool ReadPlain(std::string_view request);
  ParseResult ParseMultibulk(std::string_view request);
  Stop ReadLength(std::string_view request, const LengthLine& kind, std::int64_t& length);
  Stop ReadBulk(std::string_view request, std::size_t bytes);
  ParseResult FinishRequest(std::size_t request_bytes);
  [[nodiscard]] ParseResult NeedMore(std::string_view request) const;
  ParseResult Fail(ParseResult result, std::string_view what);

  static const LengthLine kCount;
  static const LengthLine kBulkLength;

  RespCaps caps_;

  // The request being read. Between requests the offsets are 0.
  std::size_t position_ = 0;  // of the next length line or bulk
  std::size_t scanned_ = 0;   // no line end lies between position_ and here
  std::int64_t words_missing_ = 0;
  std::int64_t bulk_bytes_ = -1;  // of the bulk at position_; -1: a length line is at position_
  std::vector<Extent> extents_;   // the words so far

  // The results of Parse().
  std::vector<std::string_view> words_;
  bool words_are_in_input_ = true;
  std::string unquoted_;  // the words with quotes of an inline request
  std::size_t consumed_ = 0;
  std::string error_;
  Stop failure_;
};

}  // namespace weir
