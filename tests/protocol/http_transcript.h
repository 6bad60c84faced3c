// The HTTP requests that a parser finds in a stream of bytes that is cut into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "protocol/http_request.h"
#include "tests/protocol/pieces.h"
#include "tests/support/unread_bytes.h"

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

// "GET /a?b=c of a in 1.1, close [X: y] 'body'": all that is known about a request, except for
// what follows from it.
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

// Parses `unread` as far as possible, and appends the results to `transcript`. Checks the parser's
// promises about each result. `position`: the bytes that it has consumed so far.
inline void ParseAvailable(HttpRequestParser& parser, const BodyChoice& choice, UnreadBytes& unread,
                           HttpTranscript& transcript, std::size_t& position) {
  for (;;) {
    const HttpResult result = parser.Parse(unread.bytes());
    unread.Consume(parser.consumed());
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
      return;
    } else {
      transcript.ending = std::to_string(parser.error_status()) + " " + std::string(parser.error());
      WEIR_CHECK(parser.Parse(unread.bytes()) ==
                 HttpResult::kError);  // The same result every time.
      WEIR_CHECK(parser.consumed() == 0);
      return;
    }
  }
}

inline HttpTranscript ParseHttpInPieces(std::string_view bytes, const Cuts& cuts,
                                        const BodyChoice& choice = {}) {
  HttpRequestParser parser;
  HttpTranscript transcript;
  std::size_t position = 0;
  DeliverInPieces(bytes, cuts, [&](UnreadBytes& unread) {
    ParseAvailable(parser, choice, unread, transcript, position);
    return transcript.ending == kHttpNeedsMore;
  });
  return transcript;
}

inline HttpTranscript ParseHttp(std::string_view bytes, const BodyChoice& choice = {}) {
  return ParseHttpInPieces(bytes, {}, choice);
}

}  // namespace weir
