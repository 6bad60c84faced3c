// Goal: /v1/allow and its siblings say in JSON what the Redis protocol says in RESP, and refuse
// what is no request. Method: conversations without sockets; the same random requests, asked of one
// server in RESP, of another one by one, and of a third in batches.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "core/base/status.h"
#include "core/commands/reply_numbers.h"
#include "server/commands/command_table.h"
#include "server/json/json_body.h"
#include "server/session/read_ahead.h"
#include "tests/random/property.h"
#include "tests/support/http_conversation.h"
#include "tests/support/reply_text.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Optional;
using testing::StartsWith;

constexpr std::string_view kOneAnHour = R"({"key":"k","limits":["1/h"]})";
constexpr std::string_view kAllowed =
    R"({"allowed":true,"remaining":0,"retry_after_ms":0,"reset_after_ms":3600000,"limit":0})";
constexpr std::string_view kDenied =
    R"({"allowed":false,"remaining":0,"retry_after_ms":3600000,"reset_after_ms":3600000,)"
    R"("limit":0})";

std::string Body(std::string_view response) { return std::string(BodyOf(response)); }

TEST(JsonLimitsTest, ADenialIsAnAnswer) {
  HttpConversation client;
  const std::string allowed = client.Post("/v1/allow", kOneAnHour);
  EXPECT_EQ(StatusOf(allowed), 200);
  EXPECT_THAT(FieldOf(allowed, "Content-Type"), Optional(std::string_view("application/json")));
  EXPECT_EQ(Body(allowed), kAllowed);
  const std::string denied = client.Post("/v1/allow", kOneAnHour);
  EXPECT_EQ(StatusOf(denied), 200);
  EXPECT_EQ(Body(denied), kDenied);
}

TEST(JsonLimitsTest, TheStatusOfADenialMayBeChosen) {
  HttpConversation client;
  EXPECT_EQ(StatusOf(client.Post("/v1/allow?denied=429", kOneAnHour)), 200);
  for (const int status : {400, 429, 499, 503, 200}) {
    const std::string denied =
        client.Post("/v1/allow?denied=" + std::to_string(status), kOneAnHour);
    EXPECT_EQ(StatusOf(denied), status);
    EXPECT_EQ(Body(denied), kDenied);
  }
  for (const char* const query :
       {"denied=399", "denied=500", "denied=", "denied", "denied=+429", "denied=429&denied=429",
        "denies=429", "denied=99999999999999999999"}) {
    EXPECT_EQ(StatusOf(client.Post(std::string("/v1/peek?") + query, kOneAnHour)), 400) << query;
  }
  EXPECT_THAT(Body(client.Post("/v1/peek?denied=9%20or%20more", kOneAnHour)),
              HasSubstr("invalid parameter denied='9%20or%20more': must be 200"));
}

TEST(JsonLimitsTest, TheFieldsOfACheckAreSet) {
  HttpConversation client;
  const std::string allowed = client.Post("/v1/allow", kOneAnHour);
  EXPECT_THAT(FieldOf(allowed, "RateLimit-Policy"),
              Optional(std::string_view("\"1/h\";q=1;w=3600")));
  EXPECT_FALSE(FieldOf(allowed, "Retry-After").has_value());
  const std::string denied = client.Post("/v1/allow", kOneAnHour);
  EXPECT_THAT(FieldOf(denied, "RateLimit"), Optional(std::string_view("\"1/h\";r=0;t=3600")));
  EXPECT_THAT(FieldOf(denied, "Retry-After"), Optional(std::string_view("3600")));
}

TEST(JsonLimitsTest, DetailsTellEachLimit) {
  HttpConversation client;
  EXPECT_EQ(Body(client.Post("/v1/allow",
                             R"({"key":"k","limits":["10/s,name=burst"],"cost":2,"details":true,)"
                             R"("and":[{"key":"l","limits":["5/h,keep=1"]}]})")),
            R"({"allowed":true,"remaining":4,"retry_after_ms":0,"reset_after_ms":720000,"limit":1,)"
            R"("limits":[{"name":"burst","allowed":true,"limit":10,"remaining":8,)"
            R"("retry_after_ms":0,"reset_after_ms":200,"group":0,"cost":2,"keep":0},)"
            R"({"name":"5/h","allowed":true,"limit":5,"remaining":4,"retry_after_ms":0,)"
            R"("reset_after_ms":720000,"group":1,"cost":1,"keep":1}]})");
}

TEST(JsonLimitsTest, EachPathIsItsCommand) {
  HttpConversation client;
  const auto ask = [&](const char* path, const char* rest) {
    return json::parse(
        Body(client.Post(path, std::string(R"({"key":"k","limits":["10/h"])") + rest + "}")));
  };
  EXPECT_EQ(ask("/v1/take", R"(,"upto":7)")["granted"], 7);
  EXPECT_EQ(ask("/v1/take", R"(,"upto":7)")["granted"], 3);
  const json none = ask("/v1/take", R"(,"upto":7)");
  EXPECT_EQ(none["granted"], 0);
  EXPECT_EQ(none["allowed"], false);
  EXPECT_EQ(ask("/v1/refund", R"(,"cost":5)")["remaining"], 5);
  EXPECT_EQ(ask("/v1/peek", "")["remaining"], 4);
  EXPECT_EQ(ask("/v1/peek", "")["remaining"], 4);
  const json charged = ask("/v1/charge", R"(,"cost":6)");
  EXPECT_EQ(charged["allowed"], false);
  EXPECT_EQ(charged["remaining"], 0);
  EXPECT_EQ(ask("/v1/allow", "")["allowed"], false);
}

TEST(JsonLimitsTest, AnErrorOfACommandHasItsText) {
  HttpConversation client;
  const std::string response = client.Post("/v1/allow", R"({"key":"k","limits":["10/x"]})");
  EXPECT_EQ(StatusOf(response), 400);
  EXPECT_THAT(Body(response), StartsWith(R"({"error":"ERR invalid limit '10/x')"));
  const std::string form = client.Post("/v1/allow", R"({"key":"k"})");
  EXPECT_EQ(StatusOf(form), 400);
  EXPECT_EQ(Body(form), R"({"error":"ERR field 'limits' is missing"})");
  EXPECT_EQ(client.server().worker.command_counters.Of(*FindCommand("RL.ALLOW")).failed.value(),
            1U);
}

TEST(JsonLimitsTest, ABodyMustSayThatItIsJson) {
  HttpConversation client;
  const auto status = [&](std::string_view type) {
    return StatusOf(client.Request(
        "POST", "/v1/allow", absl::StrCat(AbslView(type), "Content-Length: 28\r\n"), kOneAnHour));
  };
  EXPECT_EQ(status("Content-Type: application/json\r\n"), 200);
  EXPECT_EQ(status("Content-Type: Application/JSON ; charset=utf-8\r\n"), 200);
  EXPECT_EQ(status("Content-Type: application/x-www-form-urlencoded\r\n"), 415);
  EXPECT_EQ(status("Content-Type: text/plain;application/json\r\n"), 415);
  EXPECT_EQ(status("Content-Type: application/json-patch\r\n"), 415);
  EXPECT_EQ(status("Content-Type:\r\n"), 415);
  EXPECT_EQ(status(""), 415);
}

TEST(JsonLimitsTest, ABodyIsSentAsItIs) {
  HttpConversation client;
  const std::string_view body = R"({"key":"k","limits":["1000/h"]})";
  for (const auto& [coding, status] :
       std::initializer_list<std::pair<std::string_view, int>>{{"gzip", 415},
                                                               {"br", 415},
                                                               {"identity, gzip", 415},
                                                               {"identity", 200},
                                                               {"Identity", 200}}) {
    const std::string field = absl::StrCat("Content-Encoding: ", AbslView(coding), "\r\n");
    for (const char* const path : {"/v1/allow", "/v1/peek"}) {
      EXPECT_EQ(StatusOf(client.Post(path, body, field)), status) << coding;
    }
    EXPECT_EQ(StatusOf(client.Post("/v1/command", R"(["PING"])", field)), status) << coding;
    EXPECT_EQ(StatusOf(client.Post("/v1/pipeline", R"([["PING"]])", field)), status) << coding;
    EXPECT_EQ(StatusOf(client.Post("/v1/batch", R"({"requests":[]})", field)), status) << coding;
  }
  EXPECT_EQ(StatusOf(client.Post("/v1/allow", body,
                                 "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n")),
            415);
  EXPECT_EQ(nlohmann::json::parse(Body(client.Post("/v1/peek", body)))["remaining"], 997)
      << "those that were refused have taken nothing";
}

TEST(JsonLimitsTest, ABodyIsNeededAndBounded) {
  HttpConversation client;
  const std::string missing =
      client.Request("POST", "/v1/allow", "Content-Type: application/json\r\n", "");
  EXPECT_EQ(StatusOf(missing), 411);
  EXPECT_EQ(StatusOf(client.Post("/v1/allow", "")), 400);
  EXPECT_EQ(StatusOf(client.Request("POST", "/v1/peek",
                                    "Content-Type: application/json\r\n"
                                    "Transfer-Encoding: chunked\r\n",
                                    "1c\r\n" + std::string(kOneAnHour) + "\r\n0\r\n\r\n")),
            200);
  const std::string get = client.Get("/v1/allow");
  EXPECT_EQ(StatusOf(get), 405);
  EXPECT_THAT(FieldOf(get, "Allow"), Optional(std::string_view("POST")));
  EXPECT_EQ(StatusOf(client.Post("/v1/wait", kOneAnHour)), 404);
  EXPECT_EQ(StatusOf(client.Post("/v1/allow", std::string((1 << 20) + 1, ' '))), 413);
  EXPECT_TRUE(client.closed());
}

TEST(JsonLimitsTest, TheAdminPortDecidesNothing) {
  HttpTestServer server;
  HttpConversation client(server, Face::kAdmin);
  EXPECT_EQ(StatusOf(client.Post("/v1/allow", kOneAnHour)), 404);
}

TEST(JsonLimitsTest, UsersAndTheirRulesHold) {
  TemporaryDirectory directory;
  HttpTestServer server;
  ASSERT_TRUE(server.services.access
                  .Configure("", directory.Write("users",
                                                 "user app on >secret ~app:* +@limit\n"
                                                 "user default on >root ~* +@all\n"))
                  .ok());
  HttpConversation client(server);
  const auto status = [&](std::string_view authorization) {
    return StatusOf(client.Post("/v1/allow", kOneAnHour, authorization));
  };
  const std::string unknown = client.Post("/v1/allow", kOneAnHour);
  EXPECT_EQ(StatusOf(unknown), 401);
  EXPECT_TRUE(FieldOf(unknown, "WWW-Authenticate").has_value());
  EXPECT_EQ(status("Authorization: Bearer root\r\n"), 200);
  EXPECT_EQ(status("Authorization: Basic YXBwOnNlY3JldA==\r\n"), 403) << "not its key";
  EXPECT_EQ(StatusOf(client.Post("/v1/cancel", R"({"key":"app:1","and":[{"key":"k"}],"hold":"a"})",
                                 "Authorization: Basic YXBwOnNlY3JldA==\r\n")),
            403);
  EXPECT_EQ(StatusOf(client.Post("/v1/command", R"(["RL.STATS"])",
                                 "Authorization: Basic YXBwOnNlY3JldA==\r\n")),
            403);
  EXPECT_TRUE(client.turn().had_secret);
  EXPECT_EQ(status(""), 401) << "a login does not outlast its request";
  EXPECT_EQ(status("Authorization: Bearer wrong\r\n"), 401);
}

TEST(JsonLimitsTest, ABatchAnswersInItsOrderAndEachForItself) {
  HttpConversation client;
  const std::string response = client.Post(
      "/v1/batch", R"({"requests":[{"key":"k","limits":["1/h"]},{"key":"k","limits":["1/h"]},)"
                   R"({"key":"k"},{"key":"k","limits":["1/x"]},)"
                   R"({"do":"take","key":"l","limits":["5/h"],"upto":9}]})");
  EXPECT_EQ(StatusOf(response), 200);
  const json results = json::parse(Body(response))["results"];
  ASSERT_EQ(results.size(), 5U);
  EXPECT_EQ(results[0], json::parse(kAllowed));
  EXPECT_EQ(results[1], json::parse(kDenied));
  EXPECT_EQ(results[2], json::parse(R"({"error":"ERR field 'limits' is missing"})"));
  EXPECT_THAT(results[3]["error"].get<std::string>(), StartsWith("ERR invalid limit '1/x'"));
  EXPECT_EQ(results[4]["granted"], 5);
  EXPECT_EQ(Body(client.Post("/v1/batch", R"({"requests":[]})")), R"({"results":[]})");
}

// More requests than are read ahead at a time, with mistakes between them: each result is that of
// its own request.
TEST(JsonLimitsTest, ALongBatchAnswersInItsOrder) {
  constexpr std::size_t kRequests = 3 * ReadAhead::kCommandsMax + 5;
  HttpConversation client;
  std::string requests;
  for (std::size_t i = 0; i < kRequests; ++i) {
    const std::string_view limit = i % 7 == 3 ? "mistake" : i % 7 == 5 ? "" : "100/h";
    absl::StrAppend(&requests, i == 0 ? "" : ",", R"({"key":"k)", i / 2, R"(","limits":[)",
                    limit.empty() ? "" : absl::StrCat("\"", AbslView(limit), "\""), "]}");
  }
  const json results = json::parse(
      Body(client.Post("/v1/batch", absl::StrCat(R"({"requests":[)", requests, "]}"))))["results"];
  ASSERT_EQ(results.size(), kRequests);
  for (std::size_t i = 0; i < kRequests; ++i) {
    const bool is_mistake = i % 7 == 3 || i % 7 == 5;
    ASSERT_EQ(results[i].contains("error"), is_mistake) << i;
    if (is_mistake) continue;
    const bool is_second = i % 2 == 1 && (i - 1) % 7 != 3 && (i - 1) % 7 != 5;
    EXPECT_EQ(results[i]["remaining"], is_second ? 98 : 99) << i;
  }
}

// A body that is refused has changed nothing, however late its mistake stands.
TEST(JsonLimitsTest, ARefusedBatchHasDecidedNothing) {
  HttpConversation client;
  EXPECT_EQ(
      StatusOf(client.Post("/v1/batch", R"({"requests":[{"key":"k","limits":["1/h"]}],"x":1})")),
      400);
  EXPECT_EQ(Body(client.Post("/v1/allow", kOneAnHour)), kAllowed);
}

TEST(JsonLimitsTest, TheResultsOfABatchAreBounded) {
  HttpConversation client;
  std::string limits = R"("1000/h,name=00")";
  for (int i = 10; i < 73; ++i) limits += R"(,"1000/h,name=)" + std::to_string(i) + R"(")";
  std::string body;
  for (std::size_t i = 0; i < 600; ++i) {
    body += std::string(i == 0 ? "" : ",") + R"({"key":")" + std::to_string(i) + R"(","limits":[)" +
            limits + R"(],"details":true})";
  }
  const std::string response = client.Post("/v1/batch", R"({"requests":[)" + body + "]}");
  ASSERT_EQ(StatusOf(response), 200);
  EXPECT_GT(response.size(), kJsonResultsBytesMax / 2);
  EXPECT_LT(response.size(), kJsonResultsBytesMax + 600 * 128);
  EXPECT_THAT(Body(response),
              EndsWith("results of this batch are too long to include this one\"}]}"));
  const std::string last = client.Post("/v1/peek", R"({"key":"599","limits":["1000/h"]})");
  EXPECT_EQ(json::parse(Body(last))["remaining"], 1000 - 64 - 1) << "all were executed";
}

// Reading a batch is work, too, after which the turn ends.
TEST(JsonLimitsTest, ABodyIsChargedToItsTurn) {
  HttpConversation client;
  const std::string body = R"({"requests":[)" + std::string(kWorkPerTurn * 128, ' ') +
                           R"({"key":"k","limits":["1/s"]}]})";
  const std::string post =
      "POST /v1/batch HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  std::string out;
  EXPECT_EQ(client.session().Execute(post, out).next, ClientSession::Next::kContinue);
  EXPECT_EQ(out, "");
  EXPECT_EQ(client.session().Execute("", out).next, ClientSession::Next::kRead);
  EXPECT_EQ(StatusOf(out), 200);
}

// --- The same requests over RESP ---

struct Question {
  std::string_view name = "allow";
  std::vector<std::string> words;  // of the Redis protocol
  json object;                     // the request over HTTP, without "do"
};

std::string AnyKey() { return *rc::gen::element<std::string>("k", "l", "COST", "", "\u00e9 \"\n"); }

// Adds a field that is an option of the command, with a word of the same spelling behind its name.
template <typename Value>
void AddOption(Question& question, const char* option, const char* field, const Value& value) {
  question.words.emplace_back(option);
  question.words.push_back(absl::StrCat(value));
  question.object[field] = value;
}

// The rows tell which alternative was won.
void AddDetails(Question& question) {
  if (!question.object.contains("or") && !*rc::gen::arbitrary<bool>()) return;
  question.words.emplace_back("WITHLIMITS");
  question.object["details"] = true;
}

// Appends a key, its limits and its cost to both forms.
void AddGroup(Question& question, json& object) {
  const auto limit = rc::gen::element<std::string>(
      "5/s", "3/m,fixed", "20/h,keep=2", "4/d,sliding,name=day", "2/s,ban=1m", "@p", "unlimited",
      "none,shadow", "7/s,cost=3", "2,held");
  const auto no_limit = rc::gen::element<std::string>("10/x", "@unknown", "");
  const auto at_least_one = rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
      rc::gen::weightedOneOf<std::string>({{20, limit}, {1, no_limit}})));
  const std::string key = AnyKey();
  const bool settles = question.name == "commit" || question.name == "cancel";
  const bool has_limits = !settles || (question.name == "commit" &&
                                       *rc::gen::weightedElement<bool>({{3, true}, {2, false}}));
  std::vector<std::string> limits;
  if (has_limits) limits = *rc::gen::resize(4, at_least_one);
  question.words.push_back(key);
  question.words.insert(question.words.end(), limits.begin(), limits.end());
  object["key"] = key;
  if (has_limits || *rc::gen::arbitrary<bool>()) object["limits"] = limits;
  if (question.name == "cancel" || !*rc::gen::arbitrary<bool>()) return;
  const std::int64_t cost = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 6),
                                            NumberUpTo(std::numeric_limits<std::int64_t>::max()));
  question.words.insert(question.words.end(), {"COST", std::to_string(cost)});
  object["cost"] = cost;
}

// The words and the objects of a group and others that AND or OR joins to it.
void AddGroups(Question& question, json& object) {
  AddGroup(question, object);
  for (int others = *rc::gen::element(0, 0, 1, 2); others > 0; --others) {
    question.words.emplace_back("AND");
    object["and"].push_back(json::object());
    AddGroup(question, object["and"].back());
  }
}

Question AnyQuestion() {
  using Command = std::pair<const char*, const char*>;
  const Command command = *rc::gen::element<Command>(
      Command{"allow", "RL.ALLOW"}, Command{"peek", "RL.PEEK"}, Command{"take", "RL.TAKE"},
      Command{"charge", "RL.CHARGE"}, Command{"refund", "RL.REFUND"},
      Command{"reserve", "RL.RESERVE"}, Command{"reserve", "RL.RESERVE"},
      Command{"commit", "RL.COMMIT"}, Command{"cancel", "RL.CANCEL"});
  Question question{.name = command.first, .words = {command.second}, .object = json::object()};
  AddGroups(question, question.object);
  const bool may_choose =
      question.name == "allow" || question.name == "peek" || question.name == "reserve";
  for (int others = may_choose ? *rc::gen::element(0, 0, 1, 2) : 0; others > 0; --others) {
    question.words.emplace_back("OR");
    question.object["or"].push_back(json::object());
    AddGroups(question, question.object["or"].back());
  }
  const bool takes = question.name == "take";
  if (takes) AddOption(question, "UPTO", "upto", *rc::gen::inRange(1, 9));
  const bool reserves = question.name == "reserve" || (takes && *rc::gen::arbitrary<bool>());
  const bool settles = question.name == "commit" || question.name == "cancel";
  if (reserves || settles) {
    AddOption(question, "HOLD", "hold", *rc::gen::element<std::string>("a", "TTL", "\u00e9", ""));
  }
  if (reserves) {
    AddOption(question, "TTL", "ttl_ms",
              *rc::gen::element<std::int64_t>(1, 250, 60'000, 3'600'001));
  }
  AddDetails(question);
  return question;
}

// Settles the keys of a reservation; a commit names its limits, or none.
Question AnySettlementOf(const json& reserved) {
  const bool commits = *rc::gen::arbitrary<bool>();
  Question question{.name = commits ? "commit" : "cancel",
                    .words = {commits ? "RL.COMMIT" : "RL.CANCEL"},
                    .object = json::object()};
  const bool names_limits = commits && *rc::gen::arbitrary<bool>();
  const auto add = [&](const json& group, json& object) {
    object["key"] = group["key"];
    question.words.push_back(group["key"]);
    if (!names_limits) return;
    object["limits"] = group["limits"];
    for (const std::string limit : group["limits"]) question.words.push_back(limit);
    object["cost"] = *rc::gen::inRange(0, 6);
    question.words.insert(question.words.end(), {"COST", object["cost"].dump()});
  };
  add(reserved, question.object);
  for (const json& group : reserved.value("and", json::array())) {
    question.words.emplace_back("AND");
    question.object["and"].push_back(json::object());
    add(group, question.object["and"].back());
  }
  AddOption(question, "HOLD", "hold", reserved["hold"].get<std::string>());
  AddDetails(question);
  return question;
}

// The JSON that says what a reply says.
json Expected(const Question& question, const RespValue& reply) {
  if (reply.is_error()) return {{"error", reply.text}};
  json object;
  const bool settles = question.name == "commit" || question.name == "cancel";
  const auto& values = reply.elements;
  object[settles ? "settled" : "allowed"] = values[0].number != 0;
  if (question.name == "take") object["granted"] = values[0].number;
  for (std::size_t i = 1; i < kVerdictFields.size(); ++i) {
    object[kVerdictFields[i]] = values[i].number;
  }
  if (values.size() == kVerdictFields.size()) return object;
  object["limits"] = json::array();
  for (const RespValue& row : values[5].elements) {
    json limit = {{"name", row.elements[0].text}, {"allowed", row.elements[1].number != 0}};
    for (std::size_t i = 1; 1 + i < row.elements.size(); ++i) {
      limit[kDecisionFields[i]] = row.elements[1 + i].number;
    }
    object["limits"].push_back(limit);
  }
  if (question.object.contains("or")) {
    const auto decider = static_cast<std::size_t>(values[4].number);
    const bool is_won = values[0].number != 0;
    object["alternative"] = is_won ? object["limits"][decider]["alternative"] : json(-1);
  }
  return object;
}

TEST(JsonLimitsTest, JsonSaysWhatRespSays) {
  CheckLaw(300, [] {
    Conversation resp;
    HttpConversation http;
    HttpConversation batches;
    RC_ASSERT(resp.Run("RL.POLICY SET p 6/s 9/m") == "+OK\r\n");
    for (HttpConversation* const client : {&http, &batches}) {
      const std::string made =
          client->Post("/v1/command", R"(["RL.POLICY","SET","p","6/s","9/m"])");
      RC_ASSERT(BodyOf(made) == R"({"result":"OK"})");
    }
    json reserved;  // the last reservation that was admitted
    for (int round = 0; round < 4; ++round) {
      json batch = json::array();
      json expected = json::array();
      const int questions = *rc::gen::inRange(1, 6);
      for (int i = 0; i < questions; ++i) {
        const bool settles = !reserved.is_null() && *rc::gen::arbitrary<bool>();
        const Question question = settles ? AnySettlementOf(reserved) : AnyQuestion();
        const std::string replied = resp.Call(question.words);
        std::string_view stream = replied;
        const std::optional<RespValue> reply = ReadRespValue(stream);
        RC_ASSERT(reply.has_value());
        expected.push_back(Expected(question, *reply));
        const bool holds = question.object.contains("ttl_ms");
        if (holds && expected.back().value("allowed", false)) reserved = question.object;
        const std::string answer =
            http.Post(absl::StrCat("/v1/", AbslView(question.name)), question.object.dump());
        RC_ASSERT(json::parse(BodyOf(answer)) == expected.back());
        RC_ASSERT(StatusOf(answer) == (reply->is_error() ? 400 : 200));
        batch.push_back(question.object);
        batch.back()["do"] = question.name;
      }
      const std::string answer = batches.Post("/v1/batch", json{{"requests", batch}}.dump());
      RC_ASSERT(json::parse(BodyOf(answer))["results"] == expected);
      const Nanos later = std::chrono::milliseconds{*rc::gen::element(0, 1, 250, 60'000)};
      for (TestServer* const server : {&resp.server(), static_cast<TestServer*>(&http.server()),
                                       static_cast<TestServer*>(&batches.server())}) {
        server->clock.Advance(later);
      }
    }
  });
}

}  // namespace
}  // namespace weir
