// A writer of HTTP/1.1 responses, which appends them to a string: the connection's output.
//
//     HttpWriter writer(out);
//     writer.Begin(429, {.keep_alive = true});
//     writer.Field("Retry-After", 3);
//     writer.Field("Content-Type", "application/problem+json");
//     writer.End(body);
//
// writes
//
//     HTTP/1.1 429 Too Many Requests CRLF
//     Retry-After: 3 CRLF
//     Content-Type: application/problem+json CRLF
//     Content-Length: 13 CRLF
//     CRLF
//     the 13 bytes of `body`
//
// A response always says its length, so that the next one is found. The answer to HEAD has the
// length that the body would have, and no body; 204 and 304 have neither. Connection is written
// where it says what the version does not: "close" to HTTP/1.1, "keep-alive" to HTTP/1.0.
//
// No byte of a value can end its field: control bytes (below 0x20, except for the tab, and 0x7f)
// become spaces. Values are escaped here and nowhere else.
//
// Not thread safe. Each call is a few appends; nothing else is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocol/http_head.h"

namespace weir {

// The request that a response is for, as far as its form depends on it.
struct HttpAnswerTo {
  bool head_only = false;      // the method is HEAD
  int minor_version = 1;       // of the request's HTTP/1.x
  bool keep_alive = true;      // the connection stays open after the response
  std::string_view date = {};  // of the field Date, ready to be sent; empty: there is none
  std::span<const HttpField> fields = {};  // what every response has, whatever its status
};

class HttpWriter {
 public:
  // Appends to `out`, which must outlive the writer.
  explicit HttpWriter(std::string& out) noexcept : out_(out) {}
  HttpWriter(const HttpWriter&) = delete;
  HttpWriter& operator=(const HttpWriter&) = delete;

  // The interim response for which a client with "Expect: 100-continue" waits. Requires: no
  // response is begun.
  void Continue();

  // Begins a final response. Requires: 200 <= status <= 599, and no response is begun.
  void Begin(int status, const HttpAnswerTo& request);

  // Requires: a response is begun; `name` is a token, and none that Begin() or End() writes:
  // Content-Length, Connection, Date, those of HttpAnswerTo::fields.
  void Field(std::string_view name, std::string_view value);
  void Field(std::string_view name, std::int64_t number);

  // Ends the response. Requires: a response is begun; for 204 and 304 `body` is empty.
  void End(std::string_view body = {});

 private:
  void Line(std::string_view name, std::string_view value);
  void Line(std::string_view name, std::int64_t number);

  std::string& out_;
  int status_ = 0;  // of the response that is begun; 0: none is
  bool head_only_ = false;
};

}  // namespace weir
