// Goal: the parser of HTTP allocates nothing for a length that a client merely declares, and
// nothing for requests of a kind that it has seen; the memory of an idle client does not depend on
// its earlier requests; the writers allocate nothing but their string. Method: an allocator that
// counts.
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "protocol/http_request.h"
#include "protocol/http_writer.h"
#include "protocol/structured_fields.h"
#include "tests/protocol/allocations.h"

namespace weir {
namespace {

constexpr std::string_view kPostHead = "POST / HTTP/1.1\r\nHost: w\r\n";

// Parses all of `bytes` in steps of `step` bytes, keeping bodies; returns the requests.
std::size_t ReadAll(HttpRequestParser& parser, std::string_view bytes, std::size_t step) {
  std::size_t requests = 0;
  std::size_t begin = 0;
  for (std::size_t end = step; begin < bytes.size(); end += step) {
    for (;;) {
      const HttpResult result = parser.Parse(bytes.substr(begin, end - begin));
      begin += parser.consumed();
      if (result == HttpResult::kHead) parser.KeepBody(kHttpBodyBytesMax);
      if (result == HttpResult::kRequest) ++requests;
      if (result == HttpResult::kNeedMore) break;
      if (result == HttpResult::kError) return requests;
    }
  }
  return requests;
}

std::string MixedHttpRequests() {
  std::string bytes = "GET /check/api?key=user:42&limit=10/s HTTP/1.1\r\nHost: weir:7381\r\n\r\n";
  bytes += "GET / HTTP/1.1\r\nHost: w\r\n";
  for (int i = 0; i < 30; ++i) bytes += "X-Field: of some length, to and fro\r\n";
  bytes += "\r\n";
  bytes.append(kPostHead).append("Content-Length: 300\r\n\r\n").append(300, 'x');
  bytes.append(kPostHead).append("Transfer-Encoding: chunked\r\n\r\nc8\r\n").append(200, 'x');
  return bytes + "\r\n0\r\nX: y\r\n\r\n";
}

TEST(HttpMemoryTest, DeclaredLengthsAllocateNothing) {
  const std::string plain = std::string(kPostHead) + "Content-Length: 1000000\r\n\r\n";
  const std::string chunked =
      std::string(kPostHead) + "Transfer-Encoding: chunked\r\n\r\nfffff\r\n";
  for (const std::string& bytes : {plain, chunked}) {
    HttpRequestParser parser;
    allocated_bytes = 0;
    EXPECT_EQ(ReadAll(parser, bytes, bytes.size()), 0U);
    EXPECT_LT(allocated_bytes, 1024U) << "the head";
    EXPECT_EQ(parser.error_status(), 0);
  }
}

TEST(HttpMemoryTest, AWarmParserAllocatesNothing) {
  const std::string bytes = MixedHttpRequests();
  for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
    HttpRequestParser parser;
    ASSERT_EQ(ReadAll(parser, bytes, step), 4U);
    allocations = 0;
    std::size_t requests = 0;
    for (int round = 0; round < 100; ++round) requests += ReadAll(parser, bytes, step);
    EXPECT_EQ(allocations, 0U) << "in steps of " << step;
    EXPECT_EQ(requests, 400U);
  }
}

TEST(HttpMemoryTest, FreesTheMemoryOfALargeRequest) {
  HttpRequestParser parser;
  const std::size_t idle = parser.held_bytes();
  EXPECT_LT(idle, 512U);
  const std::string large = std::string(kPostHead) + "X: " + std::string(10'000, 'x') +
                            "\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 'x');
  ASSERT_EQ(ReadAll(parser, large, 1'000), 1U);
  EXPECT_GE(parser.held_bytes(), 110'000U);
  parser.ShrinkBuffers();
  EXPECT_LE(parser.held_bytes(), idle + 1'536) << "a little is kept";
  ASSERT_EQ(ReadAll(parser, MixedHttpRequests(), 1'000), 4U);
  parser.ShrinkBuffers();
  EXPECT_LE(parser.held_bytes(), idle + 1'536);
}

TEST(HttpMemoryTest, KeepsTheMemoryOfAnUnfinishedRequest) {
  HttpRequestParser parser;
  const std::string bytes =
      std::string(kPostHead) + "Content-Length: 600\r\n\r\n" + std::string(599, 'x') + "y";
  std::size_t begin = 0;
  HttpResult result = HttpResult::kNeedMore;
  for (std::size_t end = 1; end <= bytes.size(); ++end) {
    result = parser.Parse(std::string_view(bytes).substr(begin, end - begin));
    begin += parser.consumed();
    if (result == HttpResult::kHead) parser.KeepBody(600);
    if (end < bytes.size()) parser.ShrinkBuffers();
  }
  ASSERT_EQ(result, HttpResult::kRequest);
  EXPECT_EQ(parser.body(), std::string(599, 'x') + "y");
  EXPECT_EQ(parser.head().Field("content-length"), "600");
}

TEST(HttpMemoryTest, AbandonsAnUnfinishedRequest) {
  const std::string chunk = "9c40\r\n" + std::string(40'000, 'x');
  const std::string bytes = std::string(kPostHead) + "X: " + std::string(10'000, 'x') +
                            "\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + "\r\n" + chunk;
  for (const std::string_view end : {"", "no line end"}) {
    HttpRequestParser parser;
    const std::size_t idle = parser.held_bytes();
    EXPECT_EQ(ReadAll(parser, bytes + std::string(end), 1'000), 0U);
    EXPECT_EQ(parser.error_status(), end.empty() ? 0 : 400);
    EXPECT_GE(parser.held_bytes(), 90'000U);
    parser.Abandon();
    EXPECT_LE(parser.held_bytes(), idle + 1'536);
  }
}

TEST(HttpMemoryTest, WipesItsCopies) {
  HttpRequestParser parser;
  const std::string secret = "Authorization: Basic cGFzc3dvcmQ=\r\n";
  const std::string bytes =
      std::string(kPostHead) + secret + "Content-Length: 300\r\n\r\n" + std::string(300, 'x');
  std::string_view unread = bytes;
  ASSERT_EQ(parser.Parse(unread), HttpResult::kHead);
  unread.remove_prefix(parser.consumed());
  parser.KeepBody(300);
  ASSERT_EQ(parser.Parse(unread.substr(0, 200)), HttpResult::kNeedMore);
  const std::string_view held = parser.head().Field("Authorization").value();
  ASSERT_EQ(held, "Basic cGFzc3dvcmQ=");
  ASSERT_EQ(parser.Parse(unread.substr(200)), HttpResult::kRequest);
  const std::string_view body = parser.body();
  parser.Wipe();
  EXPECT_EQ(held, std::string(held.size(), '\0')) << "the copy is still there, and empty";
  EXPECT_EQ(body, std::string(body.size(), '\0'));
  EXPECT_TRUE(parser.body().empty());
  ASSERT_EQ(ReadAll(parser, bytes, 50), 1U);
}

TEST(HttpWriterMemoryTest, ARoomyStringIsNotReallocated) {
  std::string out;
  out.reserve(100'000);
  std::string value;
  value.reserve(1'000);
  const std::string body(1'000, 'x');
  HttpWriter writer(out);
  allocations = 0;
  writer.Continue();
  writer.Begin(429, {.keep_alive = false, .date = "Tue, 15 Nov 1994 08:12:31 GMT"});
  StructuredList list(value);
  list.String("burst");
  list.Parameter("r", 50);
  writer.Field("RateLimit", value);
  writer.Field("Retry-After", 1'000'000);
  writer.End(body);
  EXPECT_EQ(allocations, 0U);
}

}  // namespace
}  // namespace weir
