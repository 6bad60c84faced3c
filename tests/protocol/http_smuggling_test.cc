// Goal: a request that a proxy might end elsewhere than we do, or might send elsewhere, is refused.
// Method: a table of such requests, each whole and in every cut, with the status that weir answers.
//
// Beside it stands the first status of nginx 1.22.1 (Debian 12), asked the same bytes once by hand:
// `proxy_pass` over HTTP/1.1 to an upstream that says 200, header buffers of 16 KiB. Each group
// says how nginx differs: a 200 means that it is more lenient than we are.
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "protocol/http_request.h"
#include "tests/protocol/http_transcript.h"
#include "tests/protocol/pieces.h"

namespace weir {
namespace {

using namespace std::string_literals;

struct BadHead {
  std::string_view name;
  std::string bytes;
  int status;        // that weir answers
  int nginx_status;  // that nginx answers
};

const std::string kGet = "GET / HTTP/1.1\r\nHost: a\r\n";
const std::string kPost = "POST / HTTP/1.1\r\nHost: a\r\n";
const std::string kChunked = kPost + "Transfer-Encoding: chunked\r\n\r\n";

// The length of the body. nginx reads 02 as 2. To a coding other than chunked it says 501; so
// do we, unless "chunked" is in it.
std::vector<BadHead> BadLengths() {
  return {
      {"Content-Length, then Transfer-Encoding",
       kPost + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s, 400, 400},
      {"Transfer-Encoding, then Content-Length",
       kPost + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"s, 400, 400},
      {"two lengths that differ", kPost + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nab"s, 400,
       400},
      {"two lengths that agree", kPost + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nab"s, 400,
       400},
      {"a list of lengths", kPost + "Content-Length: 2, 2\r\n\r\nab"s, 400, 400},
      {"length with a plus", kPost + "Content-Length: +2\r\n\r\nab"s, 400, 400},
      {"negative length", kPost + "Content-Length: -2\r\n\r\nab"s, 400, 400},
      {"hexadecimal length", kPost + "Content-Length: 0x2\r\n\r\nab"s, 400, 400},
      {"length with a leading zero", kPost + "Content-Length: 02\r\n\r\nab"s, 400, 200},
      {"length of two words", kPost + "Content-Length: 2 2\r\n\r\nab"s, 400, 400},
      {"empty length", kPost + "Content-Length:\r\n\r\n"s, 400, 400},
      {"length above 2^64", kPost + "Content-Length: 18446744073709551618\r\n\r\nab"s, 400, 400},
      {"length of 2^63-1", kPost + "Content-Length: 9223372036854775807\r\n\r\nab"s, 413, 413},
      {"coding identity", kPost + "Transfer-Encoding: identity\r\n\r\n"s, 501, 501},
      {"coding xchunked", kPost + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"s, 400, 501},
      {"gzip before chunked", kPost + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"s, 400,
       501},
      {"chunked before identity", kPost + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"s,
       400, 501},
      {"chunked twice in one field",
       kPost + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"s, 400, 501},
      {"chunked in two fields",
       kPost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s, 400,
       400},
      {"gzip in a field before chunked",
       kPost + "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s, 501, 400},
      {"chunked in quotes", kPost + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"s, 400, 501},
      {"chunked with a parameter", kPost + "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"s, 400,
       501},
      {"chunked behind a comma", kPost + "Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n"s, 400, 501},
      {"chunked in HTTP/1.0",
       "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"s, 400, 400},
      {"chunked behind a vertical tab", kPost + "Transfer-Encoding: \013chunked\r\n\r\n0\r\n\r\n"s,
       400, 501},
      {"chunked on the next line", kPost + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"s, 400,
       400},
  };
}

// Lines. nginx also ends a line with LF or CR CR LF, takes control bytes in a value, and
// ignores a field whose name it does not like.
std::vector<BadHead> BadLines() {
  return {
      {"blank before a colon", kPost + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"s, 400, 400},
      {"tab before a colon", kPost + "Content-Length\t: 2\r\n\r\nab"s, 400, 400},
      {"obs-fold", kGet + "X: a\r\n b\r\n\r\n"s, 400, 400},
      {"obs-fold with a tab", kGet + "X: a\r\n\tb\r\n\r\n"s, 400, 400},
      {"blank before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n"s, 400, 400},
      {"bare LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n"s, 400, 200},
      {"bare LF behind a field", "GET / HTTP/1.1\r\nHost: a\n\r\n"s, 400, 200},
      {"bare LF for the empty line", kGet + "\n"s, 400, 200},
      {"bare CR in a value", kGet + "X: a\rb\r\n\r\n"s, 400, 400},
      {"two CR before LF", kGet + "X: a\r\r\n\r\n"s, 400, 200},
      {"bare CR in a name", kGet + "X\r: a\r\n\r\n"s, 400, 400},
      {"NUL in a value", kGet + "X: a\000b\r\n\r\n"s, 400, 400},
      {"NUL in a name", kGet + "X\000: a\r\n\r\n"s, 400, 400},
      {"NUL in the target", "GET /\000 HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"control byte in a value", kGet + "X: a\001b\r\n\r\n"s, 400, 200},
      {"DEL in a value", kGet + "X: a\177b\r\n\r\n"s, 400, 200},
      {"field without a colon", kGet + "X\r\n\r\n"s, 400, 200},
      {"field without a name", kGet + ": a\r\n\r\n"s, 400, 400},
      {"parenthesis in a name", kGet + "X(: a\r\n\r\n"s, 400, 200},
      {"byte above 0x7f in a name", kGet + "X\351: a\r\n\r\n"s, 400, 200},
  };
}

// Host. nginx takes a user in it.
std::vector<BadHead> BadHosts() {
  return {
      {"no Host", "GET / HTTP/1.1\r\n\r\n"s, 400, 400},
      {"two Hosts", kGet + "Host: b\r\n\r\n"s, 400, 400},
      {"two Hosts that agree", kGet + "Host: a\r\n\r\n"s, 400, 400},
      {"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"s, 400, 400},
      {"blank in Host", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"s, 400, 400},
      {"slash in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"s, 400, 400},
      {"user in Host", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"s, 400, 200},
  };
}

// The request line. nginx takes each minor version of 1, more blanks than one, a request
// without a version (as HTTP/0.9: it answers with a body only), any scheme, and cuts off a
// fragment. RFC 9112 asks for one empty line to be allowed; nginx allows any number.
std::vector<BadHead> BadRequestLines() {
  return {
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n"s, 505, 200},
      {"HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n"s, 505, 505},
      {"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s, 505, 400},
      {"HTTP/0.9 by name", "GET / HTTP/0.9\r\nHost: a\r\n\r\n"s, 505, 400},
      {"no version", "GET /\r\nHost: a\r\n\r\n"s, 400, 200},
      {"version in lower case", "GET / http/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"version of four digits", "GET / HTTP/1.10\r\nHost: a\r\n\r\n"s, 400, 200},
      {"tab in the request line", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"two blanks in the request line", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 200},
      {"blank behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n"s, 400, 200},
      {"blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"method that is no token", "G(T / HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 200},
      {"bare LF first", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 200},
      {"CONNECT", "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"s, 501, 400},
      {"asterisk of GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"target without a slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"fragment in the target", "GET /#a HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 200},
      {"absolute target without a host", "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"user in an absolute target", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 400},
      {"another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"s, 400, 200},
  };
}

// Fields with a meaning. nginx ignores an Expect that it does not know, and looks for "close"
// and "keep-alive" anywhere in Connection.
std::vector<BadHead> BadMeanings() {
  return {
      {"another expectation", kPost + "Content-Length: 2\r\nExpect: 200-ok\r\n\r\nab"s, 417, 200},
      {"two Authorizations", kGet + "Authorization: Basic YQ==\r\nauthorization: b\r\n\r\n"s, 400,
       400},
      {"Connection that is no list", kGet + "Connection: a b\r\n\r\n"s, 400, 200},
      {"ClientHello of TLS", "\026\003\001\002\000\001\000\001\374\003\003"s, 400, 400},
  };
}

// Chunks. nginx skips what follows a size, ends its lines with LF, too, and skips trailers
// unread.
std::vector<BadHead> BadChunks() {
  return {
      {"chunk size with a blank", kChunked + "2 \r\nab\r\n0\r\n\r\n"s, 400, 200},
      {"chunk size with a blank before", kChunked + " 2\r\nab\r\n0\r\n\r\n"s, 400, 400},
      {"chunk size with a plus", kChunked + "+2\r\nab\r\n0\r\n\r\n"s, 400, 400},
      {"negative chunk size", kChunked + "-2\r\nab\r\n0\r\n\r\n"s, 400, 400},
      {"chunk size with 0x", kChunked + "0x2\r\nab\r\n0\r\n\r\n"s, 400, 400},
      {"no chunk size", kChunked + "\r\nab\r\n0\r\n\r\n"s, 400, 400},
      {"chunk size of 68 bits", kChunked + "10000000000000002\r\nab\r\n0\r\n\r\n"s, 400, 400},
      {"chunk size of 2^64-1", kChunked + "ffffffffffffffff\r\nab\r\n0\r\n\r\n"s, 413, 400},
      {"bare LF behind a chunk size", kChunked + "2\nab\r\n0\r\n\r\n"s, 400, 200},
      {"bare CR behind a chunk size", kChunked + "2\rab\r\n0\r\n\r\n"s, 400, 400},
      {"chunk longer than its size", kChunked + "2\r\nabc\r\n0\r\n\r\n"s, 400, 400},
      {"bare LF behind a chunk", kChunked + "2\r\nab\n0\r\n\r\n"s, 400, 200},
      {"chunk extension without a name", kChunked + "2;\r\nab\r\n0\r\n\r\n"s, 400, 200},
      {"chunk extension with an open quote", kChunked + "2;a=\"\r\nab\r\n0\r\n\r\n"s, 400, 200},
      {"bare LF in a chunk extension", kChunked + "2;\nab\r\n0\r\n\r\n"s, 400, 200},
      {"bad extension of the last chunk", kChunked + "0;=\r\n\r\n"s, 400, 200},
      {"length in a trailer", kChunked + "0\r\nContent-Length: 2\r\n\r\n"s, 400, 200},
      {"coding in a trailer", kChunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n"s, 400, 200},
      {"obs-fold in a trailer", kChunked + "0\r\nX: a\r\n b\r\n\r\n"s, 400, 200},
      {"bare LF in a trailer", kChunked + "0\r\nX: a\n\r\n"s, 400, 200},
      {"bare LF behind the last chunk", kChunked + "0\n\r\n"s, 400, 200},
      {"trailer without a colon", kChunked + "0\r\nX\r\n\r\n"s, 400, 200},
  };
}

std::vector<BadHead> BadHeads() {
  std::vector<BadHead> all;
  for (const auto& group :
       {BadLengths(), BadLines(), BadHosts(), BadRequestLines(), BadMeanings(), BadChunks()}) {
    all.insert(all.end(), group.begin(), group.end());
  }
  return all;
}

int StatusOf(const HttpTranscript& transcript) {
  return transcript.ending == kHttpNeedsMore ? 0 : std::stoi(transcript.ending);
}

TEST(HttpSmugglingTest, RefusesEachBadHeadInEveryCut) {
  for (const BadHead& bad : BadHeads()) {
    SCOPED_TRACE(bad.name);
    const HttpTranscript whole = ParseHttp(bad.bytes);
    EXPECT_EQ(StatusOf(whole), bad.status) << whole;
    EXPECT_TRUE(whole.requests.empty()) << whole;
    for (std::size_t cut = 1; cut < bad.bytes.size(); ++cut) {
      ASSERT_EQ(ParseHttpInPieces(bad.bytes, {cut}), whole) << "cut at " << cut;
    }
    ASSERT_EQ(ParseHttpInPieces(bad.bytes, EveryByte(bad.bytes.size())), whole);
  }
}

// An error ends the stream: no request behind it is read, however innocent it looks.
TEST(HttpSmugglingTest, ReadsNothingBehindABadHead) {
  for (const BadHead& bad : BadHeads()) {
    const HttpTranscript transcript =
        ParseHttp(bad.bytes + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(transcript.requests.empty()) << bad.name << "\n" << transcript;
    EXPECT_EQ(StatusOf(transcript), bad.status) << bad.name;
  }
}

// Requests that look odd and are taken, with what nginx says.
TEST(HttpSmugglingTest, TakesWhatIsOddButClear) {
  const std::string head = "Host: a\r\n\r\n";
  const std::vector<BadHead> odd = {
      {"absolute target of another host", "GET http://b/ HTTP/1.1\r\n" + head, 200, 200},
      {"one empty line first", "\r\nGET / HTTP/1.1\r\n" + head, 200, 200},
      {"no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 200, 200},
      {"bytes above 0x7f in the target", "GET /\xe9 HTTP/1.1\r\n" + head, 200, 200},
      {"bytes above 0x7f in a value", "GET / HTTP/1.1\r\nX: \xe9\r\n" + head, 200, 200},
      {"method in lower case", "get / HTTP/1.1\r\n" + head, 200, 400},
      {"method with a !", "PURGE! / HTTP/1.1\r\n" + head, 200, 400},
      // An empty Host is what RFC 9112 asks of a client that has no name for the server.
      {"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 200, 400},
      {"asterisk of OPTIONS", "OPTIONS * HTTP/1.1\r\n" + head, 200, 400},
  };
  for (const BadHead& request : odd) {
    const HttpTranscript transcript = ParseHttp(request.bytes);
    EXPECT_EQ(transcript.requests.size(), 1U) << request.name << "\n" << transcript;
    EXPECT_EQ(transcript.consumed, request.bytes.size()) << request.name;
  }
}

}  // namespace
}  // namespace weir
