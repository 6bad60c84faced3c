// Goal: every command that stands alone runs over HTTP, its reply is that of the Redis protocol as
// JSON, and the others are refused before any of them runs. Method: conversations without sockets;
// every row of the command table; random replies.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "protocol/resp_writer.h"
#include "server/commands/command_table.h"
#include "server/json/json_body.h"
#include "server/json/json_reply.h"
#include "server/session/transaction.h"
#include "tests/random/property.h"
#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string Command(HttpConversation& client, std::string_view body) {
  return std::string(BodyOf(client.Post("/v1/command", body)));
}
std::string Pipeline(HttpConversation& client, std::string_view body) {
  return std::string(BodyOf(client.Post("/v1/pipeline", body)));
}

TEST(JsonCommandsTest, ACommandHasItsReply) {
  HttpConversation client;
  EXPECT_EQ(Command(client, R"(["PING"])"), R"({"result":"PONG"})");
  EXPECT_EQ(Command(client, R"(["RL.ALLOW","k","10/s","COST",2])"), R"({"result":[1,8,0,200,0]})");
  EXPECT_EQ(Command(client, R"(["client","getname"])"), R"({"result":null})");
  EXPECT_EQ(Command(client, R"(["ECHO","\u0000\"\u00e9"])"), "{\"result\":\"\\u0000\\\"\u00e9\"}");
  EXPECT_EQ(Command(client, R"(["ECHO",1.50])"), R"({"result":"1.50"})") << "as spelled";
  EXPECT_EQ(Command(client, R"(["ECHO",18446744073709551615])"),
            R"({"result":"18446744073709551615"})");
  EXPECT_EQ(Command(client, R"(["ECHO",-7])"), R"({"result":"-7"})");
}

// Clients of the REST API post a command to their base URL, and a pipeline below it.
TEST(JsonCommandsTest, TheDirectoryIsABaseUrl) {
  HttpConversation client;
  EXPECT_EQ(BodyOf(client.Post("/v1", R"(["PING"])")), R"({"result":"PONG"})");
  EXPECT_EQ(StatusOf(client.Post("/v1/", R"(["PING"])")), 404);
  EXPECT_EQ(StatusOf(client.Get("/v1")), 405);
}

TEST(JsonCommandsTest, AnErrorHasAStatus) {
  HttpConversation client;
  const std::string response = client.Post("/v1/command", R"(["NONE","a"])");
  EXPECT_EQ(StatusOf(response), 400);
  EXPECT_THAT(std::string(BodyOf(response)), StartsWith(R"({"error":"ERR unknown command 'NONE')"));
}

TEST(JsonCommandsTest, APipelineAnswersInItsOrder) {
  HttpConversation client;
  EXPECT_EQ(Pipeline(client, R"([["PING"],["RL.ALLOW","k","1/x"],["RL.ALLOW","k","1/h"]])"),
            R"x([{"result":"PONG"},{"error":"ERR invalid limit '1/x': unknown unit 'x' )x"
            R"x((us, ms, s, m, h, d, w, or day, week, month, year)"},)x"
            R"x({"result":[1,0,0,3600000,0]}])x");
  EXPECT_EQ(Pipeline(client, "[]"), "[]");
}

// The answer of a trim comes later, in the Redis protocol only.
TEST(JsonCommandsTest, ATrimIsRefused) {
  HttpConversation client;
  EXPECT_EQ(
      Pipeline(client, R"([["RL.POLICY","SET","p","1/s"],["RL.POLICY","SET","p","2/s","TRIM"],)"
                       R"(["RL.POLICY","GET","p"]])"),
      R"x([{"result":"OK"},{"error":"ERR TRIM is answered later: not in a transaction, )x"
      R"x(a script or over HTTP"},{"result":["1/s"]}])x");
}

TEST(JsonCommandsTest, BodiesOfOtherFormsAreRefused) {
  HttpConversation client;
  for (const char* const body : {"{}", "7", "[]", "[null]", "[true]", "[[]]", R"(["PING",{}])",
                                 R"([["PING"]])", R"({"a":["PING"]})", R"(["PING"] x)"}) {
    const std::string response = client.Post("/v1/command", body);
    EXPECT_EQ(StatusOf(response), 400) << body;
    EXPECT_THAT(std::string(BodyOf(response)), StartsWith(R"({"error":"ERR )")) << body;
  }
  for (const char* const body :
       {"{}", "7", "[7]", "[[]]", R"(["PING"])", R"([["PING"],[null]])", R"([[["PING"]]])",
        R"([{"a":"PING"}])", R"([["PING"],["PING",[]]])", R"([["PING"],7])"}) {
    EXPECT_EQ(StatusOf(client.Post("/v1/pipeline", body)), 400) << body;
  }
  EXPECT_EQ(client.server().worker.counters["total_commands_processed"].value(), 0U);
}

// Goal: no command may wait, open a transaction or change the connection, which may be that of a
// proxy. Method: the table has a row for each such command.
TEST(JsonCommandsTest, CommandsThatNeedAConnectionAreRefused) {
  std::vector<std::string_view> refused;
  for (const CommandSpec& spec : CommandTable()) {
    if (spec.Is(kContainer) && !spec.arity.Allows(1)) continue;
    HttpConversation client;
    client.server().services.request_shutdown = [](bool) {};
    json words = json::array();
    const std::size_t bar = spec.name.find('|');
    words.push_back(spec.name.substr(0, bar));
    if (bar != std::string_view::npos) words.push_back(spec.name.substr(bar + 1));
    while (words.size() < spec.arity.min) words.push_back("1");
    const std::string both = client.Post("/v1/pipeline", json{json{"PING"}, words}.dump());
    ASSERT_TRUE(json::accept(BodyOf(both))) << both;
    EXPECT_FALSE(client.closed()) << spec.name;
    if (StatusOf(both) == 200) continue;
    refused.push_back(spec.name);
    EXPECT_EQ(client.server().worker.counters["total_commands_processed"].value(), 0U);
    EXPECT_THAT(both, HasSubstr("ERR " + std::string(spec.name))) << both;
  }
  EXPECT_THAT(
      refused,
      ElementsAre("ACL|LOAD", "AUTH", "CLIENT|NO-EVICT", "CLIENT|REPLY", "CLIENT|SETINFO",
                  "CLIENT|SETNAME", "DISCARD", "EXEC", "HELLO", "MONITOR", "MULTI", "PSUBSCRIBE",
                  "PUNSUBSCRIBE", "QUIT", "RESET", "RL.BACKUP", "RL.BACKUPS", "RL.SYNC", "RL.WAIT",
                  "SHUTDOWN", "SUBSCRIBE", "UNSUBSCRIBE", "UNWATCH", "WAIT", "WATCH"));
}

TEST(JsonCommandsTest, APasswordIsASecret) {
  HttpConversation client;
  EXPECT_EQ(StatusOf(client.Post("/v1/command", R"(["AUTH","secret"])")), 400);
  EXPECT_TRUE(client.turn().had_secret);
  client.Post("/v1/command", R"(["CONFIG","SET","requirepass","x"])");
  EXPECT_TRUE(client.turn().had_secret);
  for (const char* const refused :
       {R"(["AUTH","secret")", R"(["AUTH",{"secret":1}])", R"([["MULTI"],["AUTH","secret"]])"}) {
    EXPECT_EQ(StatusOf(client.Post("/v1/pipeline", refused)), 400);
    EXPECT_TRUE(client.turn().had_secret) << refused;
  }
  const std::string_view secret = R"(["AUTH","secret"])";
  EXPECT_EQ(StatusOf(client.Request("POST", "/v1/command", "Content-Length: 17\r\n", secret)), 415);
  EXPECT_TRUE(client.turn().had_secret);
  client.Post("/v1/command", R"(["PING"])");
  EXPECT_FALSE(client.turn().had_secret);
}

TEST(JsonCommandsTest, APipelineIsBounded) {
  HttpConversation client;
  const auto pipeline = [](const std::string& command, std::size_t count) {
    std::string body = "[" + command;
    for (std::size_t i = 1; i < count; ++i) body += "," + command;
    return body + "]";
  };
  const auto status = [&](const std::string& command, std::size_t count) {
    return StatusOf(client.Post("/v1/pipeline", pipeline(command, count)));
  };
  EXPECT_EQ(status(R"(["PING"])", kJsonRequestsMax), 200);
  EXPECT_EQ(status(R"(["PING"])", kJsonRequestsMax + 1), 400);
  const std::size_t slow = Transaction::kUnitsMax / kWholeTableWork;
  EXPECT_EQ(status(R"(["COMMAND"])", slow), 200);
  EXPECT_EQ(status(R"(["COMMAND"])", slow + 1), 400);
}

TEST(JsonCommandsTest, TheResultsOfAPipelineAreBounded) {
  HttpConversation client;
  Policies& policies = client.server().services.policies;
  const PolicyLimits limits = *ParsePolicyLimits(std::array<std::string_view, 1>{"1/s"});
  ASSERT_TRUE(policies.Set("p", limits).ok());
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(
        policies.Override("p", std::string(20'000, static_cast<char>('a' + i)), limits).ok());
  }
  std::string body = R"([["RL.POLICY","OVERRIDES","p"])";
  for (int i = 1; i < 64; ++i) body += R"(,["RL.POLICY","OVERRIDES","p"])";
  const std::string response = client.Post("/v1/pipeline", body + "]");
  EXPECT_GT(response.size(), kJsonResultsBytesMax / 2);
  EXPECT_LT(response.size(), kJsonResultsBytesMax + 64 * 128);
  EXPECT_THAT(std::string(BodyOf(response)),
              EndsWith("results of this pipeline are too long to include this one\"}]"));
}

TEST(JsonCommandsTest, AnyBytesComeInBase64) {
  HttpConversation client;
  constexpr std::string_view kBase64 = "Upstash-Encoding: base64\r\n";
  EXPECT_EQ(BodyOf(client.Post("/v1/command", R"(["PING","\u00e9"])", kBase64)),
            R"({"result":"w6k="})");
  EXPECT_EQ(BodyOf(client.Post("/v1/command", R"(["RL.POLICY","SET","p","1/s"])", kBase64)),
            R"({"result":"OK"})");
  EXPECT_EQ(BodyOf(client.Post("/v1/pipeline", R"([["RL.POLICY","LIST"],["PING"]])", kBase64)),
            R"([{"result":["cA=="]},{"result":"UE9ORw=="}])");
}

// --- Replies ---

std::string Converted(std::string_view reply, JsonBytes bytes = JsonBytes::kText) {
  std::string out;
  AppendJsonReply(reply, bytes, out);
  return out;
}

TEST(JsonReplyTest, EachTypeHasAForm) {
  EXPECT_EQ(Converted(""), R"({"result":null})");
  EXPECT_EQ(Converted("+OK\r\n"), R"({"result":"OK"})");
  EXPECT_EQ(Converted("-ERR a \"b\"\r\n"), R"({"error":"ERR a \"b\""})");
  EXPECT_EQ(Converted(":-9223372036854775808\r\n"), R"({"result":-9223372036854775808})");
  EXPECT_EQ(Converted("$-1\r\n"), R"({"result":null})");
  EXPECT_EQ(Converted("*-1\r\n"), R"({"result":null})");
  EXPECT_EQ(Converted("$4\r\na\r\nb\r\n"), R"({"result":"a\r\nb"})");
  EXPECT_EQ(Converted("$2\r\n\xff\x61\r\n"), "{\"result\":\"\uFFFDa\"}");
  EXPECT_EQ(Converted("$2\r\n\xff\x61\r\n", JsonBytes::kBase64), R"({"result":"/2E="})");
  EXPECT_EQ(Converted("*2\r\n*0\r\n*1\r\n$0\r\n\r\n"), R"({"result":[[],[""]]})");
}

// Writes a random value as RESP; returns it as JSON.
json AnyValue(RespWriter& writer, int depth) {
  const int kind = *rc::gen::inRange(0, depth == 0 ? 3 : 4);
  if (kind == 0) {
    const auto number = *rc::gen::arbitrary<std::int64_t>();
    writer.Integer(number);
    return number;
  }
  if (kind == 1) {
    writer.Null();
    return nullptr;
  }
  if (kind == 2) {
    const auto text = *rc::gen::string<std::string>();
    writer.Bulk(text);
    return text;
  }
  const int values = *rc::gen::inRange(0, 4);
  writer.Array(static_cast<std::size_t>(values));
  json array = json::array();
  for (int i = 0; i < values; ++i) array.push_back(AnyValue(writer, depth - 1));
  return array;
}

TEST(JsonReplyTest, AnyReplyIsTheSameValue) {
  CheckLaw(2000, [] {
    std::string reply;
    RespWriter writer(reply);
    const json value = AnyValue(writer, 4);
    // Bytes that are not UTF-8 are replaced in both.
    const std::string expected =
        json{{"result", value}}.dump(-1, ' ', false, json::error_handler_t::replace);
    RC_ASSERT(json::parse(Converted(reply)) == json::parse(expected));
  });
}

}  // namespace
}  // namespace weir
