// Goal: requests are read as RFC 9112 has them, however the network cuts them, and each bound holds
// to the byte. Method: a table of requests, each in every cut into two and byte by byte; requests
// of exactly a bound, and of one more.
#include "protocol/http_request.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/protocol/http_transcript.h"
#include "tests/protocol/pieces.h"

namespace weir {
namespace {

using namespace std::string_literals;

struct HttpCase {
  std::string bytes;
  std::vector<std::string> requests;
};

const std::vector<HttpCase>& HttpCases() {
  static const std::vector<HttpCase> kCases = {
      {"GET /check/api?key=a&b HTTP/1.1\r\nHost: w\r\n\r\n",
       {"GET /check/api?key=a&b of w in 1.1 [Host: w] ''"}},
      // Any token is a method; names and values stay as they were spelled.
      {"pUrge! / HTTP/1.1\r\nhOST:w:7381\r\nX-Y_z.1: \t a\tb  c \t \r\nx:\r\nX: \xd0\xb6\r\n\r\n",
       {"pUrge! / of w:7381 in 1.1 [hOST: w:7381] [X-Y_z.1: a\tb  c] [x: ] [X: \xd0\xb6] ''"}},
      {"HEAD /\xd0\xb6?%20\"{}|\\^ HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
       {"HEAD /\xd0\xb6?%20\"{}|\\^ of [::1]:80 in 1.1 [Host: [::1]:80] ''"}},
      {"GET / HTTP/1.0\r\n\r\n", {"GET / of  in 1.0, close ''"}},
      {"GET / HTTP/1.1\r\nHost:\r\n\r\n", {"GET / of  in 1.1 [Host: ] ''"}},
      {"GET / HTTP/1.0\r\nHost: w\r\nConnection: Keep-Alive\r\nExpect: x\r\n\r\n",
       {"GET / of w in 1.0 [Host: w] [Connection: Keep-Alive] [Expect: x] ''"}},
      {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
       {"GET / of  in 1.0, close [Connection: keep-alive, close] ''"}},
      {"GET / HTTP/1.1\r\nHost: w\r\nConnection: te, cLose\r\nConnection: keep-alive\r\n\r\n",
       {"GET / of w in 1.1, close [Host: w] [Connection: te, cLose] [Connection: keep-alive] ''"}},
      {"GET / HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n",
       {"GET / of  in 1.0, close [Proxy-Connection: keep-alive] ''"}},
      {"GET / HTTP/1.1\r\nHost: w\r\nConnection: disclose\r\n\r\n",
       {"GET / of w in 1.1 [Host: w] [Connection: disclose] ''"}},
      // The three forms of a target.
      {"OPTIONS * HTTP/1.1\r\nHost: w\r\n\r\n", {"OPTIONS * of w in 1.1 [Host: w] ''"}},
      {"GET hTTp://u:1/a?b HTTP/1.1\r\nHost: w\r\n\r\n", {"GET /a?b of u:1 in 1.1 [Host: w] ''"}},
      {"GET https://u?b HTTP/1.1\r\nHost: w\r\n\r\n", {"GET /?b of u in 1.1 [Host: w] ''"}},
      {"PUT http://u HTTP/1.1\r\nHost: w\r\nContent-Length: 1\r\n\r\nx",
       {"PUT / of u in 1.1, length 1 [Host: w] [Content-Length: 1] 'x'"}},
      // Bodies.
      {"POST /v1/allow HTTP/1.1\r\nHost: w\r\nContent-Length: 5\r\n\r\nab\0cd"s,
       {"POST /v1/allow of w in 1.1, length 5 [Host: w] [Content-Length: 5] 'ab\0cd'"s}},
      {"POST / HTTP/1.1\r\nHost: w\r\nContent-Length: 0\r\n\r\n",
       {"POST / of w in 1.1, length 0 [Host: w] [Content-Length: 0] ''"}},
      {"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n\r\n",
       {"POST / of  in 1.0, length 2, close [Content-Length: 2] '\r\n'"}},
      {"POST / HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: Chunked\r\n\r\n"
       "5\r\nhello\r\n00001\r\n,\r\nB;x;y=z;q=\"a;\\\"b\"\r\n 0\r\n\r\n\r\n wo\r\n3 ; x\r\nrld\r\n"
       "000;last\r\nX-Trailer: a\r\nY:\r\n\r\n",
       {"POST / of w in 1.1, chunked [Host: w] [Transfer-Encoding: Chunked]"
        " 'hello, 0\r\n\r\n\r\n world'"}},
      {"POST / HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       {"POST / of w in 1.1, chunked [Host: w] [Transfer-Encoding: chunked] ''"}},
      {"PUT / HTTP/1.1\r\nHost: w\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\nab",
       {"PUT / of w in 1.1, length 2, expects [Host: w] [Expect: 100-Continue]"
        " [Content-Length: 2] 'ab'"}},
      // One empty line before each request.
      {"\r\nGET /a HTTP/1.1\r\nHost: w\r\n\r\n\r\nGET /b HTTP/1.1\r\nHost: w\r\n\r\n",
       {"GET /a of w in 1.1 [Host: w] ''", "GET /b of w in 1.1 [Host: w] ''"}},
  };
  return kCases;
}

// The transcripts of `bytes` in all cuts into two, and byte by byte, are `expected`.
void ExpectHttpInEveryCut(std::string_view bytes, const HttpTranscript& expected) {
  ASSERT_EQ(ParseHttp(bytes), expected);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    ASSERT_EQ(ParseHttpInPieces(bytes, {cut}), expected) << "cut at " << cut;
  }
  ASSERT_EQ(ParseHttpInPieces(bytes, EveryByte(bytes.size())), expected);
}

TEST(HttpRequestTest, ReadsEachRequestInEveryCut) {
  for (const HttpCase& test : HttpCases()) {
    SCOPED_TRACE(test.bytes);
    ExpectHttpInEveryCut(test.bytes, {.requests = test.requests,
                                      .ending = std::string(kHttpNeedsMore),
                                      .consumed = test.bytes.size()});
  }
}

TEST(HttpRequestTest, ReadsPipelinedRequestsInEveryCut) {
  std::string bytes;
  HttpTranscript expected;
  for (const HttpCase& test : HttpCases()) {
    bytes += test.bytes;
    expected.requests.insert(expected.requests.end(), test.requests.begin(), test.requests.end());
  }
  expected.ending = kHttpNeedsMore;
  expected.consumed = bytes.size();
  ExpectHttpInEveryCut(bytes, expected);
}

TEST(HttpRequestTest, NeedsEveryByteOfARequest) {
  for (const HttpCase& test : HttpCases()) {
    const std::string_view less = std::string_view(test.bytes).substr(0, test.bytes.size() - 1);
    const HttpTranscript transcript = ParseHttp(less);
    EXPECT_EQ(transcript.requests.size(), test.requests.size() - 1) << test.bytes;
    EXPECT_EQ(transcript.ending, kHttpNeedsMore) << test.bytes;
  }
}

TEST(HttpRequestTest, DropsBodiesAndStillFindsTheNextRequest) {
  const std::string bytes =
      "POST /a HTTP/1.1\r\nHost: w\r\nContent-Length: 4\r\n\r\nabcd"
      "POST /b HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n"
      "\r\nGET /c HTTP/1.1\r\nHost: w\r\n\r\n";
  const BodyChoice drop = {.keep = false, .bytes_max = 4};
  const HttpTranscript whole = ParseHttp(bytes, drop);
  EXPECT_EQ(whole.requests,
            (std::vector<std::string>{
                "POST /a of w in 1.1, length 4 [Host: w] [Content-Length: 4] ''",
                "POST /b of w in 1.1, chunked [Host: w] [Transfer-Encoding: chunked] ''",
                "GET /c of w in 1.1 [Host: w] ''"}));
  EXPECT_EQ(ParseHttpInPieces(bytes, EveryByte(bytes.size()), drop), whole);
}

TEST(HttpRequestTest, FindsFieldsInAnyCase) {
  constexpr std::string_view kBytes =
      "GET / HTTP/1.1\r\nHost: w\r\nX-Real-Ip: 1\r\nx-real-ip: 2\r\nEmpty:\r\n\r\n";
  HttpRequestParser parser;
  ASSERT_EQ(parser.Parse(kBytes), HttpResult::kRequest);
  EXPECT_EQ(parser.head().Field("x-REAL-ip"), "1");
  EXPECT_EQ(parser.head().Field("empty"), "");
  EXPECT_EQ(parser.head().Field("X-Real"), std::nullopt);
}

// The head of a request with `fields` fields, of `bytes` bytes in all.
std::string HeadOf(std::size_t fields, std::size_t bytes) {
  std::string head = "GET / HTTP/1.1\r\nHost: w\r\n";
  for (std::size_t i = 1; i + 1 < fields; ++i) head += "X: y\r\n";
  head += "X: ";
  head.append(bytes - head.size() - 4, 'y');
  return head + "\r\n\r\n";
}

TEST(HttpRequestTest, BoundsTheHead) {
  const std::string largest = HeadOf(2, kHttpHeadBytesMax);
  EXPECT_EQ(ParseHttp(largest + largest).requests.size(), 2U);
  EXPECT_EQ(ParseHttp("\r\n" + largest).requests.size(), 1U);
  const std::string too_large = HeadOf(2, kHttpHeadBytesMax + 1);
  EXPECT_EQ(ParseHttp(too_large).ending, "431 too large a head");
  EXPECT_EQ(ParseHttpInPieces(too_large, EveryByte(too_large.size())).ending,
            "431 too large a head");
  // The error is decided at the first byte that leaves no room for the end.
  EXPECT_EQ(ParseHttp(too_large.substr(0, kHttpHeadBytesMax - 1)).ending, kHttpNeedsMore);
  EXPECT_EQ(ParseHttp(too_large.substr(0, kHttpHeadBytesMax)).ending, "431 too large a head");
}

TEST(HttpRequestTest, BoundsTheRequestLine) {
  const std::string target(kHttpHeadBytesMax, 'a');
  EXPECT_EQ(ParseHttp("GET /" + target + " HTTP/1.1\r\n").ending, "414 too long a request line");
  const std::string bytes = "GET /" + target;
  EXPECT_EQ(ParseHttpInPieces(bytes, EveryByte(bytes.size())).ending,
            "414 too long a request line");
  const std::string fits = "GET /" + target.substr(0, 16'000) + " HTTP/1.1\r\nHost: w\r\n\r\n";
  EXPECT_EQ(ParseHttp(fits).requests.size(), 1U);
}

TEST(HttpRequestTest, BoundsTheFields) {
  EXPECT_EQ(ParseHttp(HeadOf(kHttpFieldsMax, 8'000)).requests.size(), 1U);
  EXPECT_EQ(ParseHttp(HeadOf(kHttpFieldsMax + 1, 8'000)).ending, "431 too many fields");
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  std::string trailers;
  for (std::size_t i = 2; i < kHttpFieldsMax; ++i) trailers += "X: y\r\n";
  EXPECT_EQ(ParseHttp(chunked + trailers + "\r\n").requests.size(), 1U);
  EXPECT_EQ(ParseHttp(chunked + trailers + "X: y\r\n\r\n").ending, "431 too many fields");
}

TEST(HttpRequestTest, BoundsTheBody) {
  const std::string plain = "POST / HTTP/1.1\r\nHost: w\r\nContent-Length: ";
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
  for (const bool keep : {true, false}) {
    const BodyChoice four = {.keep = keep, .bytes_max = 4};
    EXPECT_EQ(ParseHttp(plain + "4\r\n\r\nabcd", four).requests.size(), 1U);
    EXPECT_EQ(ParseHttp(plain + "5\r\n\r\n", four).ending, "413 too large a body");
    EXPECT_EQ(ParseHttp(chunked + "2\r\ncd\r\n0\r\n\r\n", four).requests.size(), 1U);
    EXPECT_EQ(ParseHttp(chunked + "3\r\n", four).ending, "413 too large a body");
    EXPECT_EQ(ParseHttp(chunked + "fffffffffffffffe\r\n", four).ending, "413 too large a body");
  }
}

TEST(HttpRequestTest, BoundsChunkLines) {
  const std::string head = "POST / HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto line = [](std::size_t bytes) {  // of a chunk of 1 byte, its CRLF counted
    return "1;" + std::string(bytes - 4, 'x') + "\r\n";
  };
  const std::string end = "0\r\n\r\n";
  EXPECT_EQ(ParseHttp(head + line(kHttpChunkLineBytesMax) + "a\r\n" + end).requests.size(), 1U);
  const std::string too_long = head + line(kHttpChunkLineBytesMax + 1);
  EXPECT_EQ(ParseHttp(too_long).ending, "400 too long a chunk line");
  EXPECT_EQ(ParseHttpInPieces(too_long, EveryByte(too_long.size())).ending,
            "400 too long a chunk line");

  // Each line but the first has a CRLF before it.
  std::string lines = head + line(20 + 96) + "a";
  for (std::size_t extra = 96; extra < kHttpChunkExtraBytesMax; extra += 200) {
    lines += "\r\n" + line(20 + 200 - 2) + "a";
  }
  const std::string last = "\r\n" + line(20 - 2) + "a\r\n" + end;
  EXPECT_EQ(ParseHttp(lines + last).requests.size(), 1U);
  EXPECT_EQ(ParseHttp(lines + "\r\n" + line(21 - 2)).ending, "400 too many chunk extensions");
}

TEST(HttpRequestTest, BoundsTrailers) {
  const std::string head = "POST / HTTP/1.1\r\nHost: w\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto trailers = [](std::size_t bytes) {
    const std::string begin = "0\r\nX: ";
    return begin + std::string(bytes - begin.size() - 4, 'y') + "\r\n\r\n";
  };
  EXPECT_EQ(ParseHttp(head + trailers(kHttpTrailerBytesMax)).requests.size(), 1U);
  const std::string too_large = head + trailers(kHttpTrailerBytesMax + 1);
  EXPECT_EQ(ParseHttp(too_large).ending, "431 too large trailers");
  EXPECT_EQ(ParseHttpInPieces(too_large, EveryByte(too_large.size())).ending,
            "431 too large trailers");
}

class ContinueTest : public testing::Test {
 protected:
  // Gives `bytes` to the parser after those that it left; true if it then asks for 100 Continue.
  bool AsksAfter(std::string_view bytes) {
    unread_ += bytes;
    for (;;) {
      const HttpResult result = parser_.Parse(unread_);
      unread_.erase(0, parser_.consumed());
      if (result == HttpResult::kHead) parser_.KeepBody(10);
      if (result == HttpResult::kNeedMore || result == HttpResult::kError) break;
    }
    return parser_.TakeContinue();
  }

  HttpRequestParser parser_;
  std::string unread_;
};

TEST_F(ContinueTest, IsAskedForOnceWhenTheHeadIsThere) {
  EXPECT_FALSE(AsksAfter("PUT / HTTP/1.1\r\nHost: w\r\nContent-Length: 2\r\n"));
  EXPECT_TRUE(AsksAfter("Expect: 100-continue\r\n\r\n"));
  EXPECT_FALSE(AsksAfter(""));
  EXPECT_FALSE(AsksAfter("a"));
  EXPECT_FALSE(AsksAfter("b"));
  EXPECT_FALSE(AsksAfter("PUT / HTTP/1.1\r\nHost: w\r\nContent-Length: 2\r\n\r\n")) << "no Expect";
}

TEST_F(ContinueTest, IsNotAskedForOnceTheBodyComes) {
  constexpr std::string_view kHead =
      "PUT / HTTP/1.1\r\nHost: w\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_FALSE(AsksAfter(std::string(kHead) + "1"));
  EXPECT_FALSE(AsksAfter("\r\na\r\n0\r\n\r\n"));
  EXPECT_TRUE(AsksAfter(kHead));
}

TEST_F(ContinueTest, IsNotAskedForATooLargeBody) {
  EXPECT_FALSE(
      AsksAfter("PUT / HTTP/1.1\r\nHost: w\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n"));
  EXPECT_EQ(parser_.error_status(), 413);
}

}  // namespace
}  // namespace weir
