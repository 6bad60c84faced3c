// Goal: a response has exactly the bytes that its status, its fields and the request ask for, and
// no value can end its field. Method: whole responses, and values of every byte.
#include "protocol/http_writer.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "protocol/http_status.h"

namespace weir {
namespace {

// The response of this status to a request, with a field and a body.
std::string Response(int status, const HttpAnswerTo& request, std::string_view body) {
  std::string out;
  HttpWriter writer(out);
  writer.Begin(status, request);
  writer.Field("X-Weir-Limit", "burst");
  writer.End(body);
  return out;
}

TEST(HttpWriterTest, WritesAResponse) {
  std::string out = "before";
  HttpWriter writer(out);
  writer.Begin(429, {.date = "Tue, 15 Nov 1994 08:12:31 GMT"});
  writer.Field("Retry-After", 3);
  writer.Field("Content-Type", "application/problem+json");
  writer.End("{\"title\":1}");
  EXPECT_EQ(out,
            "beforeHTTP/1.1 429 Too Many Requests\r\nDate: Tue, 15 Nov 1994 08:12:31 GMT\r\n"
            "Retry-After: 3\r\nContent-Type: application/problem+json\r\nContent-Length: 11\r\n\r\n"
            "{\"title\":1}");
}

TEST(HttpWriterTest, WritesOneResponseAfterTheOther) {
  std::string out;
  HttpWriter writer(out);
  writer.Continue();
  writer.Begin(200, {});
  writer.End();
  writer.Begin(200, {});
  writer.End("a");
  EXPECT_EQ(out,
            "HTTP/1.1 100 Continue\r\n\r\n"
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
}

TEST(HttpWriterTest, SaysWhatTheVersionDoesNotSay) {
  EXPECT_EQ(Response(200, {.minor_version = 1, .keep_alive = false}, "a"),
            "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Weir-Limit: burst\r\nContent-Length: 1\r\n"
            "\r\na");
  EXPECT_EQ(Response(200, {.minor_version = 0, .keep_alive = true}, "a"),
            "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nX-Weir-Limit: burst\r\n"
            "Content-Length: 1\r\n\r\na");
  EXPECT_EQ(Response(200, {.minor_version = 0, .keep_alive = false}, "a"),
            "HTTP/1.1 200 OK\r\nX-Weir-Limit: burst\r\nContent-Length: 1\r\n\r\na");
}

TEST(HttpWriterTest, AnswersHeadWithTheLengthOnly) {
  EXPECT_EQ(Response(200, {.head_only = true}, "abc"),
            "HTTP/1.1 200 OK\r\nX-Weir-Limit: burst\r\nContent-Length: 3\r\n\r\n");
}

TEST(HttpWriterTest, HasNoLengthWhereThereIsNoBody) {
  EXPECT_EQ(Response(204, {}, ""), "HTTP/1.1 204 No Content\r\nX-Weir-Limit: burst\r\n\r\n");
  EXPECT_EQ(Response(304, {}, ""), "HTTP/1.1 304 Not Modified\r\nX-Weir-Limit: burst\r\n\r\n");
}

TEST(HttpWriterTest, WritesAStatusWithoutWords) {
  EXPECT_EQ(Response(418, {}, ""),
            "HTTP/1.1 418 \r\nX-Weir-Limit: burst\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(Response(503, {}, "").substr(0, 34), "HTTP/1.1 503 Service Unavailable\r\n");
  EXPECT_EQ(ReasonPhrase(200), "OK");
  EXPECT_EQ(ReasonPhrase(505), "HTTP Version Not Supported");
  EXPECT_EQ(ReasonPhrase(199), "");
  EXPECT_EQ(ReasonPhrase(599), "");
}

TEST(HttpWriterTest, NoByteOfAValueEndsItsField) {
  for (int code = 0; code < 256; ++code) {
    const char byte = static_cast<char>(code);
    std::string out;
    HttpWriter writer(out);
    writer.Begin(200, {});
    writer.Field("X", std::string("a") + byte + "b");
    writer.End();
    const bool control = (code < 0x20 && byte != '\t') || code == 0x7f;
    EXPECT_EQ(out, std::string("HTTP/1.1 200 OK\r\nX: a") + (control ? ' ' : byte) +
                       "b\r\nContent-Length: 0\r\n\r\n")
        << code;
  }
}

TEST(HttpWriterTest, WritesNumbers) {
  std::string out;
  HttpWriter writer(out);
  writer.Begin(200, {});
  writer.Field("X", std::int64_t{-9'223'372'036'854'775'807 - 1});
  writer.End();
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nX: -9223372036854775808\r\nContent-Length: 0\r\n\r\n");
}

TEST(HttpWriterDeathTest, RefusesTheWrongOrder) {
  std::string out;
  HttpWriter writer(out);
  EXPECT_DEATH(writer.End(), "check failed");
  EXPECT_DEATH(writer.Field("X", "a"), "check failed");
  writer.Begin(204, {});
  EXPECT_DEATH(writer.Begin(200, {}), "check failed");
  EXPECT_DEATH(writer.Continue(), "check failed");
  EXPECT_DEATH(writer.End("a"), "check failed");
}

}  // namespace
}  // namespace weir
