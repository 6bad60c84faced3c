// The HTTP requests that a parser finds in a stream of bytes that is cut into pieces, as a network
// might deliver it.
//
// Each piece arrives in a heap block of exactly the size of the unread input, which replaces the
// previous block; so AddressSanitizer finds a byte read too many, and a pointer into an old block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "protocol/http_request.h"

namespace weir {

// How the bodies of a stream are read.
struct BodyChoice {
  bool keep = true;
  std::uint64_t bytes_max = kHttpBodyBytesMax;
};

struct HttpTranscript {
  std::vector<std::string> requests;  // each as TextOf has it
  std::string ending;                 // "need more", or the error: "400 bare LF"
  std::size_t consumed = 0;           // bytes of the requests

  bool operator==(const HttpTranscript&) const = default;
};

inline constexpr std::string_view kHttpNeedsMore = "need more";

inline std::ostream& operator<<(std::ostream& out, const HttpTranscript& transcript) {
  for (const std::string& request : transcript.requests) out << request.substr(0, 400) << "\n";
  return out << transcript.ending << " after " << transcript.consumed << " bytes";
}

// "GET /a?b=c of a in 1.1, close [X: y] 'body'": all that is known about a request, but for what
// follows from it.
inline std::string TextOf(const HttpHead& head, std::string_view body) {
  std::string text = std::string(head.method) + " " + std::string(head.path);
  if (!head.query.empty()) text.append("?").append(head.query);
  text.append(" of ").append(head.host).append(" in 1.").append(std::to_string(head.minor_version));
  if (head.content_length) text.append(", length ").append(std::to_string(*head.content_length));
  if (head.chunked) text.append(", chunked");
  if (head.expects_continue) text.append(", expects");
  if (!head.keep_alive) text.append(", close");
  for (const HttpField& field : head.fields) {
    text.append(" [").append(field.name).append(": ").append(field.value).append("]");
  }
  return text.append(" '").append(body).append("'");
}

// Parses `unread` as far as possible, appends the results to `transcript`, and returns the bytes
// that are left. Checks the parser's promises about each result.
inline std::string_view ParseAvailable(HttpRequestParser& parser, const BodyChoice& choice,
                                       std::string_view unread, HttpTranscript& transcript,
                                       std::size_t& position) {
  for (;;) {
    const HttpResult result = parser.Parse(unread);
    WEIR_CHECK(parser.consumed() <= unread.size());
    unread.remove_prefix(parser.consumed());
    position += parser.consumed();
    WEIR_CHECK((parser.error_status() != 0) == (result == HttpResult::kError));
    WEIR_CHECK(parser.error().empty() == (result != HttpResult::kError));
    if (result == HttpResult::kHead) {
      WEIR_CHECK(parser.consumed() > 0);
      WEIR_CHECK(parser.head().chunked || parser.head().content_length.value_or(0) > 0);
      WEIR_CHECK(parser.body().empty());
      choice.keep ? parser.KeepBody(choice.bytes_max) : parser.DropBody(choice.bytes_max);
    } else if (result == HttpResult::kRequest) {
      WEIR_CHECK(parser.head().fields.size() <= kHttpFieldsMax);
      WEIR_CHECK(parser.body().size() <= choice.bytes_max);
      transcript.requests.push_back(TextOf(parser.head(), parser.body()));
      transcript.consumed = position;
    } else if (result == HttpResult::kNeedMore) {
      WEIR_CHECK(unread.size() < kHttpHeadBytesMax);
      transcript.ending = kHttpNeedsMore;
      return unread;
    } else {
      transcript.ending = std::to_string(parser.error_status()) + " " + std::string(parser.error());
      WEIR_CHECK(parser.Parse(unread) == HttpResult::kError);  // The same result every time.
      WEIR_CHECK(parser.consumed() == 0);
      return unread;
    }
  }
}

// Parses `bytes`, cut before each offset in `cuts`, which are ascending.
inline HttpTranscript ParseHttpInPieces(std::string_view bytes,
                                        const std::vector<std::size_t>& cuts,
                                        const BodyChoice& choice = {}) {
  HttpRequestParser parser;
  HttpTranscript transcript;
  transcript.ending = kHttpNeedsMore;
  std::unique_ptr<char[]> block;
  std::string_view unread;
  std::size_t position = 0;
  for (std::size_t i = 0, begin = 0; i <= cuts.size(); ++i) {
    const std::size_t end = i < cuts.size() ? cuts[i] : bytes.size();
    const std::string_view piece = bytes.substr(begin, end - begin);
    begin = end;
    std::unique_ptr<char[]> next(new char[unread.size() + piece.size()]);
    piece.copy(std::copy(unread.begin(), unread.end(), next.get()), piece.size());
    unread = {next.get(), unread.size() + piece.size()};
    block = std::move(next);
    unread = ParseAvailable(parser, choice, unread, transcript, position);
    if (transcript.ending != kHttpNeedsMore) break;
  }
  return transcript;
}

inline HttpTranscript ParseHttp(std::string_view bytes, const BodyChoice& choice = {}) {
  return ParseHttpInPieces(bytes, {}, choice);
}

}  // namespace weir
