// Goal: requests are answered in their order, whatever the pieces in which they come, and a client
// over HTTP obeys the rules of all clients. Method: conversations without sockets, with a
// stopped clock.
#include "server/http/http_session.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Optional;
using testing::StartsWith;

constexpr std::string_view kLivez = "GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n";

TEST(HttpSessionTest, AProbeIsAnswered) {
  HttpConversation client;
  const std::string response = client.Send(kLivez);
  EXPECT_EQ(StatusOf(response), 200);
  EXPECT_EQ(BodyOf(response), "ok\n");
  EXPECT_THAT(FieldOf(response, "Content-Length"), Optional(std::string_view("3")));
  EXPECT_TRUE(FieldOf(response, "Date").has_value());
  EXPECT_FALSE(client.closed());
}

TEST(HttpSessionTest, HeadHasTheLengthAndNoBody) {
  HttpConversation client;
  const std::string response = client.Request("HEAD", "/livez", "", "");
  EXPECT_EQ(StatusOf(response), 200);
  EXPECT_THAT(FieldOf(response, "Content-Length"), Optional(std::string_view("3")));
  EXPECT_EQ(BodyOf(response), "");
}

TEST(HttpSessionTest, UnknownPathsAndMethodsAreRefusedAndTheConnectionStays) {
  HttpConversation client;
  EXPECT_EQ(StatusOf(client.Get("/nothing")), 404);
  EXPECT_EQ(StatusOf(client.Get("/livez/more")), 404);
  const std::string refused = client.Post("/livez", "{}");
  EXPECT_EQ(StatusOf(refused), 405);
  EXPECT_THAT(FieldOf(refused, "Allow"), Optional(std::string_view("GET, HEAD")));
  EXPECT_EQ(StatusOf(client.Send(kLivez)), 200);
}

// The requests of a stream, however it is cut in two or into single bytes, get the same responses.
TEST(HttpSessionTest, ThePiecesDoNotMatter) {
  const std::string stream =
      std::string(kLivez) +
      "POST /livez HTTP/1.1\r\nHost: weir\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n0\r\n\r\n"
      "PUT /other HTTP/1.1\r\nHost: weir\r\nContent-Length: 4\r\n\r\nbody"
      "HEAD /readyz HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n\r\n";
  HttpConversation whole;
  const std::string expected = whole.Send(stream);
  EXPECT_TRUE(whole.closed());
  EXPECT_THAT(expected, HasSubstr("405"));
  EXPECT_THAT(expected, HasSubstr("404"));
  for (std::size_t cut = 1; cut < stream.size(); ++cut) {
    HttpConversation client;
    std::string responses = client.Send(std::string_view(stream).substr(0, cut));
    responses += client.Send(std::string_view(stream).substr(cut));
    EXPECT_EQ(responses, expected) << "cut at " << cut;
    EXPECT_TRUE(client.closed());
  }
  HttpConversation client;
  std::string responses;
  for (const char byte : stream) responses += client.Send({&byte, 1});
  EXPECT_EQ(responses, expected);
}

TEST(HttpSessionTest, ABadRequestIsTheLast) {
  HttpConversation client;
  const std::string response = client.Send("GET /livez HTTP/1.1\r\n\r\n" + std::string(kLivez));
  EXPECT_EQ(StatusOf(response), 400);
  EXPECT_THAT(FieldOf(response, "Connection"), Optional(std::string_view("close")));
  EXPECT_THAT(std::string(BodyOf(response)), StartsWith("{\"error\":\"ERR "));
  EXPECT_EQ(response.rfind("HTTP/1.1"), 0U) << "one response";
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(client.server().worker.counters["protocol_errors"].value(), 1U);
}

TEST(HttpSessionTest, AnOldClientIsClosedUnlessItAsksToStay) {
  HttpConversation client;
  EXPECT_EQ(StatusOf(client.Send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")), 200);
  EXPECT_FALSE(client.closed());
  EXPECT_EQ(StatusOf(client.Send("GET /livez HTTP/1.0\r\n\r\n")), 200);
  EXPECT_TRUE(client.closed());
}

TEST(HttpSessionTest, AClientThatAsksMaySendItsBody) {
  HttpConversation client;
  EXPECT_EQ(client.Send("PUT /livez HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n"
                        "Expect: 100-continue\r\n\r\n"),
            "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(client.turn().in_request);
  EXPECT_FALSE(client.turn().completed);
  EXPECT_EQ(StatusOf(client.Send("ab")), 405);
  EXPECT_TRUE(client.turn().completed);
  EXPECT_FALSE(client.turn().in_request);
}

TEST(HttpSessionTest, ADroppedBodyIsBoundedAndNotKept) {
  HttpConversation client;
  const std::string head = "PUT /livez HTTP/1.1\r\nHost: weir\r\nContent-Length: ";
  EXPECT_EQ(client.Send(head + "65536\r\n\r\n"), "");
  EXPECT_EQ(client.Send(std::string(65'535, 'x')), "");
  EXPECT_LT(client.session().held_bytes(), 16U * 1024);
  EXPECT_EQ(StatusOf(client.Send("x")), 405);
  EXPECT_EQ(StatusOf(client.Send(head + "65537\r\n\r\n")), 413);
  EXPECT_TRUE(client.closed());
}

// A connection that lingers after an error, or that is killed, holds no half of a request.
TEST(HttpSessionTest, AnUnfinishedRequestIsDropped) {
  HttpConversation client;
  EXPECT_EQ(client.Send("POST /v1/allow HTTP/1.1\r\nHost: weir\r\nContent-Length: 900000\r\n\r\n" +
                        std::string(500'000, 'x')),
            "");
  EXPECT_GE(client.session().held_bytes(), 500'000U);
  client.session().DropUnfinished();
  EXPECT_LT(client.session().held_bytes(), 4U * 1024);
}

// Goal: no buffer keeps a password that has been read. Method: a request that is not complete, so
// its bytes may be anything.
TEST(HttpSessionTest, TheBytesOfAnUnfinishedRequestAreSecret) {
  HttpConversation client;
  client.Send(std::string(kLivez) +
              "POST /v1/command HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
              "Content-Length: 17\r\n\r\n");
  EXPECT_TRUE(client.turn().had_secret) << "the head may have the field Authorization";
  client.Send("[\"PING\",\"se");
  EXPECT_TRUE(client.turn().had_secret);
  EXPECT_EQ(StatusOf(client.Send("cret\"]")), 200);
  EXPECT_FALSE(client.turn().had_secret);
}

TEST(HttpSessionTest, ATurnEndsAfterItsWork) {
  HttpConversation client;
  std::string stream;
  for (std::size_t i = 0; i < 2 * kWorkPerTurn; ++i) stream += kLivez;
  std::string out;
  const ClientSession::Turn turn = client.session().Execute(stream, out);
  EXPECT_EQ(turn.next, ClientSession::Next::kContinue);
  EXPECT_LE(out.size(), kReplyBytesPerTurn + 1024);
  EXPECT_EQ(turn.consumed % kLivez.size(), 0U);
}

TEST(HttpSessionTest, AKilledClientGetsNothing) {
  HttpConversation client;
  client.record().killed = true;
  EXPECT_EQ(client.Send(kLivez), "");
  EXPECT_TRUE(client.closed());
}

TEST(HttpSessionTest, ResponsesAreCountedByGroupAndClass) {
  HttpConversation client;
  client.Send(kLivez);
  client.Get("/nothing");
  const HttpResponseCounters& responses = client.server().http.responses;
  EXPECT_EQ(responses.value(HttpRouteGroup::kHealth, 1), 1U);
  EXPECT_EQ(responses.value(HttpRouteGroup::kNone, 3), 1U);
}

}  // namespace
}  // namespace weir
