// Goal: a turn over HTTP obeys the rules of one over RESP: its changes are sent to the replicas at
// once, a pause holds back what it would hold back there and nothing else, and long work leaves
// other clients their turns. Method: each path with each kind of command, without sockets and with
// a clock that does not advance; the same commands over RESP.
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/http/check_routes.h"
#include "server/http/metrics.h"
#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"
#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using testing::HasSubstr;

// A request, and whether it changes something.
struct TurnCase {
  std::string_view path;
  std::string_view body;  // empty: GET
  bool changes;
};

constexpr TurnCase kTurnCases[] = {
    {"/v1/allow", R"({"key":"k","limits":["1000/h"]})", true},
    {"/v1/take", R"({"key":"k","limits":["1000/h"],"upto":2})", true},
    {"/v1/charge", R"({"key":"k","limits":["1000/h"]})", true},
    {"/v1/refund", R"({"key":"k","limits":["1000/h"]})", true},
    {"/v1/reserve", R"({"key":"k","limits":["1000/h"],"hold":"h","ttl_ms":1000})", true},
    {"/v1/commit", R"({"key":"k","limits":["1000/h"],"hold":"h"})", true},
    {"/v1/cancel", R"({"key":"k","hold":"h"})", true},
    {"/v1/peek", R"({"key":"k","limits":["1000/h"]})", false},
    {"/v1/batch", R"({"requests":[{"do":"peek","key":"k","limits":["1000/h"]}]})", false},
    {"/v1/batch",
     R"({"requests":[{"do":"peek","key":"k","limits":["9/h"]},{"key":"k","limits":["9/h"]}]})",
     true},
    {"/v1/batch", R"({"requests":[{"key":"k"}]})", false},
    {"/v1/command", R"(["RL.PEEK","k","1000/h"])", false},
    {"/v1/command", R"(["PING"])", false},
    {"/v1/command", R"(["RL.ALLOW","k","1000/h"])", true},
    {"/v1/command", R"(["RL.POLICY","SET","p","1/h"])", true},
    {"/v1/pipeline", R"([["PING"],["EXISTS","k"]])", false},
    {"/v1/pipeline", R"([["PING"],["RL.ALLOW","k","1000/h"]])", true},
    {"/check?key=k&limit=1000/h", "", true},
    {"/check/api", "", true},
};

class HttpTurnsTest : public testing::Test {
 protected:
  HttpTurnsTest() {
    absl::StatusOr<CheckRoutes> routes =
        ParseCheckRoutes("[api]\nkey = \"k\"\nlimits = [\"1000/h\"]", "c.toml",
                         [](std::string_view) { return true; });
    client_.server().http.checks.Replace(*std::move(routes));
  }

  static std::string Ask(HttpConversation& client, const TurnCase& request) {
    return request.body.empty() ? client.Get(request.path)
                                : client.Post(request.path, request.body);
  }

  HttpConversation client_;
  Conversation operator_{client_.server()};
};

TEST_F(HttpTurnsTest, ChangesAreSentToReplicasAtOnce) {
  FakeReplication replication(client_.server().services);
  for (const TurnCase& request : kTurnCases) {
    // The things that the request changes exist.
    operator_.Show("FLUSHALL");
    operator_.Show("RL.ALLOW k 1000/h COST 5");
    if (request.path != "/v1/reserve") operator_.Show("RL.RESERVE k 1000/h HOLD h TTL 1000000");
    replication.SetIdle();
    replication.ticks_requested = 0;
    EXPECT_EQ(StatusOf(Ask(client_, request)), 200) << request.path;
    EXPECT_EQ(replication.ticks_requested, request.changes ? 1 : 0) << request.path << request.body;
  }
  operator_.Show("DEL k");
  for (const auto& [line, ticks] :
       {std::pair("RL.ALLOW k 1/h", 1), std::pair("RL.PEEK k 1/h", 0)}) {
    replication.SetIdle();
    replication.ticks_requested = 0;
    operator_.Show(line);
    EXPECT_EQ(replication.ticks_requested, ticks) << line;
  }
}

TEST_F(HttpTurnsTest, APauseOfChangesHoldsBackChangesAlone) {
  for (const TurnCase& request : kTurnCases) {
    HttpConversation client(client_.server());
    EXPECT_EQ(operator_.Show("CLIENT PAUSE 1000 WRITE"), "OK");
    const std::string at_once = Ask(client, request);
    EXPECT_EQ(at_once.empty(), request.changes) << request.path << request.body;
    EXPECT_EQ(client.turn().next,
              request.changes ? ClientSession::Next::kWait : ClientSession::Next::kRead);
    client_.server().clock.Advance(std::chrono::milliseconds{1000});
    const std::string later = client.Send("");
    EXPECT_EQ(StatusOf(request.changes ? later : at_once), 200) << request.path << later;
  }
}

TEST_F(HttpTurnsTest, APauseOfAllHoldsBackAllThatRuns) {
  for (const TurnCase& request : kTurnCases) {
    const bool runs = request.body.find("\"key\":\"k\"}") == std::string_view::npos;
    HttpConversation client(client_.server());
    operator_.Show("CLIENT PAUSE 1000 ALL");
    EXPECT_EQ(Ask(client, request).empty(), runs) << request.path << request.body;
    client_.server().clock.Advance(std::chrono::milliseconds{1000});
    client.Send("");
  }
  operator_.Show("CLIENT PAUSE 1000 ALL");
  EXPECT_EQ(StatusOf(client_.Get("/livez")), 200);
  EXPECT_EQ(StatusOf(client_.Get("/nothing")), 404);
  EXPECT_EQ(StatusOf(client_.Post("/v1/command", R"(["NOSUCH"])")), 400);
}

// The request has left the input, which may move meanwhile.
TEST_F(HttpTurnsTest, AHeldRequestIsKeptWholeAndBeforeTheNext) {
  operator_.Show("CLIENT PAUSE 1000 WRITE");
  const std::string body = R"({"key":"k","limits":["5/h"],"cost":2})";
  std::string stream =
      "POST /v1/allow?denied=429 HTTP/1.1\r\nHost: weir\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body +
      "GET /check?key=k&limit=5/h&cost=3 HTTP/1.1\r\nHost: weir\r\n\r\n"
      "GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n";
  std::string out;
  const ClientSession::Turn turn = client_.session().Execute(stream, out);
  EXPECT_EQ(turn.next, ClientSession::Next::kWait);
  EXPECT_EQ(out, "");
  std::string rest = stream.substr(turn.consumed);
  stream.assign(stream.size(), 'x');
  client_.session().OnSent();
  EXPECT_GE(client_.session().held_bytes(), body.size());
  operator_.Show("CLIENT UNPAUSE");
  EXPECT_EQ(client_.session().Execute(rest, out).next, ClientSession::Next::kRead);
  EXPECT_THAT(out, HasSubstr(R"({"allowed":true,"remaining":3,)"));
  EXPECT_THAT(out, HasSubstr("ok\n"));
  EXPECT_EQ(operator_.Show("RL.PEEK k 5/h COST 0"), "1 0 0 3600000 0");
}

TEST_F(HttpTurnsTest, TheEndOfTheServerEndsAPause) {
  operator_.Show("CLIENT PAUSE 1000 WRITE");
  EXPECT_EQ(Ask(client_, kTurnCases[0]), "");
  std::string out;
  client_.session().EndWait(ClientSession::WaitEnd::kClosing);
  EXPECT_EQ(client_.session().Execute("", out).next, ClientSession::Next::kRead);
  EXPECT_EQ(StatusOf(out), 200);
}

TEST_F(HttpTurnsTest, ChecksThatWaitCountOnce) {
  operator_.Show("CLIENT PAUSE 1000 WRITE");
  EXPECT_EQ(client_.Get("/check/api"), "");
  client_.server().clock.Advance(std::chrono::milliseconds{1000});
  EXPECT_EQ(StatusOf(client_.Send("")), 200);
  EXPECT_THAT(operator_.Ask("INFO weir").text, HasSubstr("\r\nchecks:1\r\n"));
}

// --- Long work ---

std::string PostOf(std::string_view path, std::string_view body) {
  return absl::StrCat("POST ", AbslView(path), " HTTP/1.1\r\nHost: weir\r\n",
                      "Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n",
                      AbslView(body));
}

// The work of each turn of a request in commands, until its response is there.
std::vector<std::size_t> TurnsOf(HttpConversation& client, const std::string& request,
                                 std::string& out) {
  const Counter& commands = client.server().worker.counters["total_commands_processed"];
  std::vector<std::size_t> turns;
  std::string_view unread = request;
  while (out.empty()) {
    const std::uint64_t before = commands.value();
    const ClientSession::Turn turn = client.session().Execute(unread, out);
    unread.remove_prefix(turn.consumed);
    client.session().OnSent();
    turns.push_back(commands.value() - before);
    EXPECT_TRUE(client.server().worker.read_ahead.empty());
    if (out.empty() && turn.next != ClientSession::Next::kContinue) break;
  }
  return turns;
}

// Each of the requests is 64 units of work and more: 63 limits beyond the first, and the rows.
TEST_F(HttpTurnsTest, ABatchGoesOnInTheNextTurns) {
  nlohmann::json request = {{"key", "k"}, {"details", true}};
  for (int i = 1; i <= 64; ++i) request["limits"].push_back(std::to_string(i * 1000) + "/h");
  nlohmann::json batch;
  for (int i = 0; i < 1000; ++i) batch["requests"].push_back(request);
  std::string out;
  const auto turns = TurnsOf(client_, PostOf("/v1/batch", batch.dump()), out);
  EXPECT_EQ(StatusOf(out), 200);
  EXPECT_GT(turns.size(), 1000 * 64 / kWorkPerTurn);
  for (const std::size_t commands : turns) EXPECT_LE(commands, kWorkPerTurn / 64 + 1);
  EXPECT_EQ(operator_.Show("RL.PEEK k 1000/h COST 0"), "1 0 0 3600000 0") << "all were executed";
}

TEST_F(HttpTurnsTest, APipelineGoesOnInTheNextTurns) {
  nlohmann::json command = {"RL.ALLOW", "k"};
  for (int i = 1; i <= 64; ++i) command.push_back(std::to_string(i * 1000) + "/h");
  nlohmann::json pipeline;
  for (int i = 0; i < 1000; ++i) pipeline.push_back(command);
  std::string out;
  const auto turns = TurnsOf(client_, PostOf("/v1/pipeline", pipeline.dump()), out);
  EXPECT_EQ(StatusOf(out), 200);
  for (const std::size_t commands : turns) EXPECT_LE(commands, kWorkPerTurn / 64 + 1);
  EXPECT_EQ(nlohmann::json::parse(BodyOf(out)).size(), 1000U);
  EXPECT_EQ(operator_.Show("RL.PEEK k 1000/h COST 0"), "1 0 0 3600000 0") << "all were executed";
}

// A line of the page is about a microsecond.
TEST(HttpMetricsTurnsTest, ThePageIsWrittenInParts) {
  constexpr std::size_t kLimits = 2000;
  Options options = DefaultOptions();
  options.metrics_max_limits = kLimits;
  HttpConversation admin(std::make_unique<HttpTestServer>(options), Face::kAdmin);
  Conversation redis(admin.server());
  for (std::size_t i = 1; i <= kLimits; ++i)
    redis.Show(absl::StrCat("RL.ALLOW k", i, " ", i, "/h"));
  const std::string whole =
      MetricsText(admin.server().services, admin.server().http, admin.server().clock.Now());
  std::string out;
  const auto turns = TurnsOf(admin, "GET /metrics HTTP/1.1\r\nHost: weir\r\n\r\n", out);
  EXPECT_EQ(StatusOf(out), 200);
  EXPECT_GE(turns.size(), 3 * kLimits / kWorkPerTurn);
  const auto lines_of = [](std::string_view page, std::string_view metric) {
    std::vector<std::string_view> lines;
    for (std::size_t begin = 0; begin < page.size();) {
      const std::string_view line = page.substr(begin, page.find('\n', begin) - begin);
      if (line.find(metric) != std::string_view::npos) lines.push_back(line);
      begin += line.size() + 1;
    }
    return lines;
  };
  for (const std::string_view metric :
       {"weir_limit_decisions_total", "weir_limit_near_total", "weir_bans_total", "weir_buckets"}) {
    EXPECT_EQ(lines_of(BodyOf(out), metric), lines_of(whole, metric));
  }
  EXPECT_EQ(lines_of(whole, "weir_limit_decisions_total").size(), 2 + 2 * kLimits);
  EXPECT_EQ(lines_of(whole, "weir_limit_near_total").size(), 2 + kLimits);
}

TEST_F(HttpTurnsTest, APauseStopsABatchInTheMiddle) {
  const std::string body =
      R"({"requests":[{"key":"k","limits":["9/h"]},{"key":"k","limits":["9/h"]}]})";
  operator_.Show("CLIENT PAUSE 1000 WRITE");
  EXPECT_EQ(client_.Post("/v1/batch", body), "");
  EXPECT_EQ(operator_.Show("RL.INSPECT k"), "[]");
  client_.server().clock.Advance(std::chrono::milliseconds{1000});
  EXPECT_THAT(client_.Send(""), HasSubstr(R"("remaining":7)"));
}

// The finished part of a long answer counts as memory of its client, and is freed with the request.
TEST_F(HttpTurnsTest, ALongAnswerIsMemoryOfItsClient) {
  nlohmann::json batch;
  for (int i = 0; i < 1000; ++i) {
    batch["requests"].push_back({{"key", "k"}, {"details", true}, {"limits", {"9/h", "8/h"}}});
  }
  const std::string request = PostOf("/v1/batch", batch.dump());
  std::string out;
  const ClientSession::Turn turn = client_.session().Execute(request, out);
  ASSERT_EQ(turn.next, ClientSession::Next::kContinue);
  EXPECT_EQ(turn.consumed, request.size());
  const std::size_t begun = client_.session().held_bytes();
  for (int i = 0; i < 3; ++i) static_cast<void>(client_.session().Execute("", out));
  const std::size_t held = client_.session().held_bytes();
  EXPECT_EQ(out, "");
  EXPECT_GT(held, begun);
  EXPECT_GT(held, batch.dump().size());
  client_.session().DropUnfinished();
  EXPECT_LT(client_.session().held_bytes(), 4U * 1024);
}

}  // namespace
}  // namespace weir
