// An incremental parser of HTTP/1.1 and HTTP/1.0 requests: takes the bytes that a connection
// delivers, in pieces of any size, and returns one request after the other. It knows no socket and
// no route.
//
// The grammar of a head and of chunks is that of Boost.Beast's basic_parser, which only
// http_request.cc includes. It gets whole heads, whole chunk lines and whole trailers; we find
// where these end, and refuse what it lets pass.
//
// Use
//
//     HttpRequestParser parser;
//     std::string_view unread = ...;                  // all bytes received and not consumed yet
//     for (;;) {
//       const HttpResult result = parser.Parse(unread);
//       unread.remove_prefix(parser.consumed());
//       if (result == HttpResult::kHead) {            // a body follows the head
//         parser.KeepBody(kHttpBodyBytesMax);         // or DropBody(), by parser.head().path
//       } else if (result == HttpResult::kRequest) {
//         Answer(parser.head(), parser.body());       // views: gone with the next Parse()
//       } else {
//         break;                // kNeedMore: receive more; kError: answer error_status() and close
//       }
//     }
//     if (parser.TakeContinue()) writer.Continue();   // only after kNeedMore
//
// A request without a body is kRequest at once, without kHead. After a request that is not
// keep_alive the caller parses no further one.
//
// Bounds
//
//     exceeding                    is     decided at
//     kHttpHeadBytesMax            414    the first byte too many, within the request line
//                                  431    ", behind it
//     kHttpFieldsMax               431    the end of the head, or of the trailers
//     the limit of KeepBody or     413    the end of the head (Content-Length), or of the line of
//     DropBody                            the chunk that leads there
//     kHttpChunkLineBytesMax       400    the first byte too many
//     kHttpChunkExtraBytesMax      400    the end of the chunk's line
//     kHttpTrailerBytesMax         431    the first byte too many
//
// Other errors
//
//     400  a request line, field, chunk or trailer that does not follow the grammar; a bare CR or
//          LF, a NUL or another control byte; a line that begins with a blank (obs-fold); a blank
//          before a colon; a second Content-Length, and one that integer.h would not spell;
//          Content-Length with Transfer-Encoding; a second Transfer-Encoding, or one that has more
//          than "chunked" in it, or is of an HTTP/1.0 request; no Host in HTTP/1.1, a second one,
//          or one that is no host; a second Authorization; a target that http_target.h does not
//          split; "*" without OPTIONS
//     417  Expect: other than 100-continue
//     501  CONNECT; a Transfer-Encoding without "chunked" in it
//     505  another version of HTTP
//
// An error ends the stream: every later Parse() repeats it. The length of a body is never guessed:
// without Content-Length and Transfer-Encoding it is empty. (A caller that insists on a length
// answers 411; see content_length and chunked.)
//
// Allowed: one empty line before a request; a line of a head or of a chunk ends in CRLF, always.
// Extensions of chunks and trailers are checked and dropped.
//
// Guarantees
//
//   * The pieces do not matter. The requests, their order, the error and the bytes consumed up to
//     each request depend on the bytes of the stream alone.
//   * A buffer of kHttpHeadBytesMax bytes suffices: kNeedMore leaves fewer bytes than that
//     unconsumed. (Bytes of a body are consumed as they come.)
//   * A length that a client declares allocates nothing. A parser that has seen a request of some
//     shape allocates nothing for further ones. It holds a copy of a head that a body follows, the
//     kept body unless it arrived whole and not in chunks, and 32 bytes a field; see held_bytes().
//
// Not thread safe. Tests: http_request_test.cc (cases, in every cut), http_smuggling_test.cc (bad
// heads, with nginx's answer to each), http_memory_test.cc, fuzz/protocol/http_request_fuzz.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/http_head.h"

namespace weir {

inline constexpr std::size_t kHttpHeadBytesMax = 16 * 1024;  // request line, fields, empty line
inline constexpr std::size_t kHttpFieldsMax = 100;          // of the head and the trailers together
inline constexpr std::size_t kHttpChunkLineBytesMax = 256;  // the CRLF before and behind it counted
inline constexpr std::size_t kHttpTrailerBytesMax = 4096;   // with the line of the last chunk
// Bytes of all chunk lines of a request beyond the 20 that a size of 64 bits needs.
inline constexpr std::size_t kHttpChunkExtraBytesMax = 4096;

// The limits on bodies, which a caller chooses once it knows the head.
inline constexpr std::uint64_t kHttpBodyBytesMax = std::uint64_t{1024} * 1024;  // kept
inline constexpr std::uint64_t kHttpDroppedBodyBytesMax = std::uint64_t{64} * 1024;

enum class HttpResult {
  kNeedMore,  // no complete request is left
  kHead,      // head() is there, a body follows: call KeepBody or DropBody, or answer and close
  kRequest,   // head() and body() are the next request
  kError,     // answer error_status() and close
};

class HttpRequestParser {
 public:
  HttpRequestParser();
  ~HttpRequestParser();

  // Reads on to the next head that a body follows, or to the end of the request. `unread` begins
  // with the first byte that is not consumed, as for RespParser: it may have moved in memory, and
  // is not shorter than the last call left it. Requires: after kHead, a call of KeepBody or
  // DropBody.
  [[nodiscard]] HttpResult Parse(std::string_view unread);

  // After kHead: keeps the body, or drops it as it comes; more than `bytes_max` bytes are an error,
  // which the next Parse() returns.
  void KeepBody(std::uint64_t bytes_max) noexcept { ChooseBody(true, bytes_max); }
  void DropBody(std::uint64_t bytes_max) noexcept { ChooseBody(false, bytes_max); }

  // After kNeedMore: true, once a request, if the client waits for "100 Continue" before it sends
  // its body, of which no byte has arrived.
  [[nodiscard]] bool TakeContinue() noexcept;

  // After kHead or kRequest. The views point into `unread` or into this parser, and are valid until
  // the next Parse() and while `unread` stays in place.
  [[nodiscard]] const HttpHead& head() const noexcept { return head_; }

  // After kRequest: the body, without the lines of its chunks; empty if it was dropped.
  [[nodiscard]] std::string_view body() const noexcept { return body_; }

  // After kRequest: makes head() and body() last until the next Parse(), wherever `unread` moves.
  // Cost: a copy of the parts that point into it.
  void Hold();

  // The number of bytes at the front of `unread` that are not needed any more.
  [[nodiscard]] std::size_t consumed() const noexcept { return consumed_; }

  // After kError: the status to answer, and why, in a few words of our own: "bare LF". Else 0, "".
  [[nodiscard]] int error_status() const noexcept { return error_status_; }
  [[nodiscard]] std::string_view error() const noexcept { return error_; }

  // Between two requests: frees the memory of a large one, or overwrites the copies of bytes of the
  // last one. Both invalidate head() and body(), and do nothing while a body is being read.
  void ShrinkBuffers() noexcept;
  void Wipe() noexcept;

  // Overwrites and frees what an unfinished request holds. Parse() must not be called any more.
  void Abandon() noexcept;

  // Heap bytes held.
  [[nodiscard]] std::size_t held_bytes() const noexcept;

 private:
  class Grammar;  // Beast's parser, and where it puts what it finds

  enum class Stage { kHead, kChoice, kPlainBody, kChunkLine, kChunkData, kTrailers };

  // The result that Parse() must return now; nothing: reading continues.
  using Stop = std::optional<HttpResult>;

  HttpResult ParseHead(std::string_view unread);
  HttpResult FinishHead(std::string_view head);
  void CopyHead(std::string_view head);
  void ChooseBody(bool keep, std::uint64_t bytes_max) noexcept;
  HttpResult ParsePlainBody(std::string_view unread);
  HttpResult ParseChunks(std::string_view unread);
  Stop ReadChunkLine(std::string_view unread);
  Stop ReadChunkData(std::string_view data);
  Stop ReadTrailers(std::string_view unread);

  // Scans `lines` on from line_begin_ to the end of the empty line, which `end` becomes.
  Stop FindEmptyLine(std::string_view lines, std::size_t& end);
  Stop CheckLine(std::string_view line);
  // Forgets where lines were looked for: the next byte that is not consumed begins one.
  void BeginLines() noexcept;

  HttpResult FinishRequest();
  HttpResult Fail(int status, std::string_view what) noexcept;

  std::unique_ptr<Grammar> grammar_;
  Stage stage_ = Stage::kHead;

  // The lines being read, relative to the first byte not consumed.
  std::size_t line_begin_ = 0;
  std::size_t scanned_ = 0;  // no LF lies between line_begin_ and here
  bool skipped_empty_line_ = false;

  // The body being read.
  bool keeps_body_ = false;
  bool may_continue_ = false;  // TakeContinue() may still be true
  std::uint64_t body_bytes_max_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t chunk_bytes_left_ = 0;
  std::size_t chunk_extra_bytes_ = 0;

  // The results of Parse().
  HttpHead head_;
  std::string_view body_;
  std::vector<HttpField> fields_;
  std::string_view head_bytes_;  // of head_: in `unread`, or head_copy_
  std::string head_copy_;        // of a head that a body follows, or that is held
  std::string body_copy_;        // of a kept body that has not arrived whole, or that is held
  std::size_t consumed_ = 0;
  int error_status_ = 0;
  std::string_view error_;
};

}  // namespace weir
