// Goal: a request counts for the face that it came by. Method: the same commands over both, and a
// reader that comes between two counts.
#include "server/http/request_tally.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/http_request.h"
#include "server/http/http_exchange.h"
#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using testing::ElementsAre;

// Runs commands as a route does.
void RunOverHttp(HttpTestServer& server, const std::vector<std::vector<std::string_view>>& lines) {
  const auto record = server.services.clients.Add("127.0.0.1:50001", "127.0.0.1:7381", 8,
                                                  server.clock.HostNow(), Face::kHttp);
  Session session(server.worker, record);
  HttpRequestParser parser;
  EXPECT_EQ(parser.Parse("GET / HTTP/1.1\r\nHost: weir\r\n\r\n"), HttpResult::kRequest);
  std::string out;
  const HttpAnswerTo answer_to;
  RememberedLogin login;
  HttpExchange exchange(parser, answer_to, server.http, session, login, server.clock.Now(), out);
  for (const auto& words : lines) static_cast<void>(exchange.Run(words));
  server.services.clients.Remove(*record);
}

TEST(RequestTallyTest, RequestsAreCountedByFace) {
  HttpTestServer server;
  Conversation client(server);
  client.Run("RL.ALLOW k 2/h");
  RunOverHttp(server, {{"RL.ALLOW", "k", "2/h"},
                       {"RL.ALLOW", "k", "2/h"},
                       {"RL.ALLOW", "k", "2/h"},
                       {"RL.PEEK", "k", "2/h"},
                       {"RL.ALLOW", "k", "nonsense"},
                       {"RL.ALLOW", "k"},
                       {"RL.PEEK", "k"},
                       {"NOTHING"}});
  client.Run("RL.ALLOW k 2/h");
  client.Run("RL.ALLOW k 2/x");
  const RequestTally::ByFace results = server.http.requests.Read(server.services);
  EXPECT_THAT(results.resp, ElementsAre(1, 1, 1));
  EXPECT_THAT(results.http, ElementsAre(1, 2, 2));
}

// Prometheus would take a count that falls for a restart, and add all of it again.
TEST(RequestTallyTest, NoCountFallsWhileARequestIsBeingCounted) {
  HttpTestServer server;
  server.worker.request_counters.allowed.Add(5);  // one of them over HTTP, on another thread
  EXPECT_EQ(server.http.requests.Read(server.services).resp[0], 5U);
  server.http.requests.Add(RequestTally::Result::kAllowed);
  EXPECT_EQ(server.http.requests.Read(server.services).resp[0], 5U);
  server.worker.request_counters.allowed.Add(2);
  EXPECT_EQ(server.http.requests.Read(server.services).resp[0], 6U);
}

}  // namespace
}  // namespace weir
