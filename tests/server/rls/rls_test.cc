// Goal: Envoy's rate limit service answers over gRPC and in JSON, waits as commands do, and follows
// its files. Method: conversations without sockets, with files of rules. The table of calls is in
// tests/e2e/rls/.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "rls/rls.pb.h"
#include "server/http/metrics.h"
#include "server/rls/rls_rules.h"
#include "tests/support/conversation.h"
#include "tests/support/fake_replication.h"
#include "tests/support/grpc_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;

constexpr std::string_view kMethod = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
constexpr std::string_view kRules =
    "domain: shop\n"
    "descriptors:\n"
    "- {key: user, rate_limit: {unit: hour, requests_per_unit: 2, name: per_user}}\n";

std::string Asking(std::string_view user) {
  rls::RateLimitRequest request;
  request.set_domain("shop");
  rls::Entry& entry = *request.add_descriptors()->add_entries();
  entry.set_key("user");
  entry.set_value(std::string(user));
  return Framed(request.SerializeAsString());
}

// "OK 1", or "OVER 0": the verdict, and what is left of the first limit.
std::string VerdictIn(std::string_view body) {
  rls::RateLimitResponse response;
  if (body.size() < 5 || !response.ParseFromString(std::string(body.substr(5)))) return "none";
  return (response.overall_code() == 1 ? "OK " : "OVER ") +
         std::to_string(response.statuses(0).limit_remaining());
}

class RlsTest : public testing::Test {
 protected:
  RlsTest() {
    Options options = DefaultOptions();
    options.rls_config = directory_.Write("rules.yaml", kRules);
    server_ = std::make_unique<HttpTestServer>(options);
    replication_ = std::make_unique<FakeReplication>(server_->services);
    rules_ = std::make_unique<RlsRules>(server_->services);
    EXPECT_TRUE(rules_->Load().ok());
    EXPECT_TRUE(rules_->MakePolicies().ok());
    server_->http.rls = rules_.get();
    client_ = std::make_unique<GrpcConversation>(*server_);
  }

  void Write(std::string_view rules) const { directory_.Write("rules.yaml", rules); }
  std::string Verdict(std::string_view user) {
    return VerdictIn(client_->Call(kMethod, Asking(user)).body);
  }

  TemporaryDirectory directory_;
  std::unique_ptr<HttpTestServer> server_;
  std::unique_ptr<FakeReplication> replication_;
  std::unique_ptr<RlsRules> rules_;
  std::unique_ptr<GrpcConversation> client_;
};

TEST_F(RlsTest, AnswersCalls) {
  EXPECT_EQ(Verdict("a"), "OK 1");
  EXPECT_EQ(Verdict("a"), "OK 0");
  EXPECT_EQ(Verdict("a"), "OVER 0");
  EXPECT_EQ(Verdict("b"), "OK 1");
  EXPECT_EQ(server_->services.rls.calls.load(), 4U);
  EXPECT_EQ(server_->services.rls.over_limit.load(), 1U);
  Conversation redis(*server_);
  EXPECT_THAT(redis.Show("RL.STATS"), HasSubstr("@rls:shop.user#0"));
  EXPECT_THAT(redis.Show("RL.TOP"), HasSubstr("rls:shop:user=a"));
}

TEST_F(RlsTest, ACallWaitsForAcknowledgements) {
  Conversation redis(*server_);
  redis.Run("CONFIG SET ack-replicas 2");
  replication_->AdmitUntil(FakeClock::kStart + std::chrono::hours{1});
  Http2Client& client = client_->client;
  ClientSession& session = client_->session();
  const auto begin_call = [&](std::string& out) {
    const std::int32_t call = client.Call(kMethod, Asking("a"));
    const ClientSession::Turn turn = session.Execute(client.TakeOutput(), out);
    EXPECT_EQ(turn.awaited.acks, 2U);
    EXPECT_EQ(turn.delayed_from, out.size());
    EXPECT_EQ(turn.next, ClientSession::Next::kContinue);
    return call;
  };
  client_->Talk();
  std::string out;
  const std::size_t held = session.held_bytes();
  const std::int32_t acknowledged = begin_call(out);
  EXPECT_GT(session.held_bytes(), held) << "the answer that waits";
  static_cast<void>(session.Execute("", out));
  client.Receive(out);
  EXPECT_EQ(VerdictIn(client.answers[acknowledged].body), "OK 1");
  out.clear();
  const std::int32_t missed = begin_call(out);
  std::string delayed;
  session.FinishDelayed(delayed, {.acks_missed = 2});
  static_cast<void>(session.Execute("", out));
  client.Receive(out);
  EXPECT_EQ(client.answers[missed].trailers["grpc-status"], "14");
  EXPECT_THAT(client.answers[missed].trailers["grpc-message"], HasSubstr("NOACK charged"));
}

TEST_F(RlsTest, ACallThatChangesNothingDoesNotWait) {
  for (int i = 0; i < 3; ++i) Verdict("a");  // The last one marks.
  Conversation redis(*server_);
  redis.Run("CONFIG SET ack-replicas 2");
  replication_->AdmitUntil(FakeClock::kStart + std::chrono::hours{1});
  const auto acks_awaited = [&](std::string_view user) {
    client_->client.Call(kMethod, Asking(user));
    std::string out;
    return client_->session().Execute(client_->client.TakeOutput(), out).awaited.acks;
  };
  EXPECT_EQ(acks_awaited("a"), 0U);
  EXPECT_EQ(acks_awaited("b"), 2U);
}

TEST_F(RlsTest, WithoutALeaseACallIsRefused) {
  replication_->AdmitUntil(Instant{});
  EXPECT_EQ(client_->Call(kMethod, Asking("b")).trailers["grpc-status"], "14");
  EXPECT_EQ(server_->services.rls.errors(), 1U);
}

TEST_F(RlsTest, APauseHoldsACallBack) {
  Conversation redis(*server_);
  redis.Run("CLIENT PAUSE 1000 WRITE");
  const std::int32_t call = client_->client.Call(kMethod, Asking("a"));
  client_->Talk();
  EXPECT_FALSE(client_->client.answers[call].is_ended);
  EXPECT_FALSE(client_->session().has_news());
  EXPECT_TRUE(client_->session().wants_ticks());
  server_->clock.Advance(std::chrono::seconds{1});
  EXPECT_TRUE(client_->session().has_news());
  client_->Talk();
  EXPECT_EQ(VerdictIn(client_->client.answers[call].body), "OK 1");
}

TEST_F(RlsTest, LooksTwiceBeforeItLoads) {
  Write("domain: market\n");
  rules_->Look();
  EXPECT_EQ(server_->services.rls.loads.load(), 1U);
  rules_->Look();
  EXPECT_EQ(server_->services.rls.loads.load(), 2U);
  rules_->Look();
  rules_->Look();
  EXPECT_EQ(server_->services.rls.loads.load(), 2U);
  EXPECT_EQ(server_->services.rls.rules.load(), 0U);
  EXPECT_TRUE(server_->services.policies.Find("rls:shop.user")->retired);
  Write("domain:\n");
  rules_->Look();
  rules_->Look();
  rules_->Look();
  EXPECT_EQ(server_->services.rls.load_errors.load(), 1U);
  EXPECT_THAT(server_->services.rls.load_error(), HasSubstr("domain is missing or empty"));
  Write(kRules);
  rules_->Look();
  rules_->Look();
  EXPECT_EQ(server_->services.rls.load_error(), "");
  rules_->Look();
  EXPECT_FALSE(server_->services.policies.Find("rls:shop.user")->retired);
}

constexpr std::string_view kTwoRules =
    "domain: shop\n"
    "descriptors:\n"
    "- {key: user, rate_limit: {unit: hour, requests_per_unit: 2, name: per_user}}\n"
    "- {key: path, rate_limit: {unit: hour, requests_per_unit: 5}}\n";

TEST_F(RlsTest, EachLoadMakesItsPolicies) {
  EXPECT_TRUE(rules_->Load().ok());
  Write(kTwoRules);
  EXPECT_TRUE(rules_->Load().ok());
  EXPECT_FALSE(server_->services.policies.Find("rls:shop.path")->retired);
  EXPECT_EQ(Verdict("a"), "OK 1");
}

TEST_F(RlsTest, AReplicaMakesNoPolicies) {
  replication_->BecomeReplica();
  Write(kTwoRules);
  EXPECT_TRUE(rules_->Load().ok());
  EXPECT_EQ(server_->services.policies.Find("rls:shop.path"), nullptr);
  rules_->Look();
  replication_->BecomePrimary();
  const auto health = [&] {
    return client_->Call("/grpc.health.v1.Health/Check", Framed("\n\x09ratelimit")).body;
  };
  EXPECT_EQ(health(), Framed("\x08\x02"));
  rules_->Look();
  EXPECT_NE(server_->services.policies.Find("rls:shop.path"), nullptr);
  EXPECT_EQ(health(), Framed("\x08\x01"));
}

// A server that followed another one between two looks has other policies.
TEST_F(RlsTest, PoliciesThatAreLostAreMadeAgain) {
  EXPECT_TRUE(server_->services.ReplaceRulePolicies({}).ok());
  EXPECT_EQ(client_->Call(kMethod, Asking("a")).trailers["grpc-status"], "14");
  rules_->Look();
  EXPECT_EQ(Verdict("a"), "OK 1");
}

TEST_F(RlsTest, PoliciesOfRulesThatHaveLeftAreDeletedWhenTheirBucketsAreFull) {
  const auto find = [&](std::string_view name) { return server_->services.policies.Find(name); };
  Write(
      "domain: shop\ndescriptors:\n"
      "- {key: minute, rate_limit: {unit: minute, requests_per_unit: 2}}\n"
      "- {key: day, rate_limit: {unit: day, requests_per_unit: 2}}\n"
      "- {key: own, rate_limit: {unit: minute, requests_per_unit: 2}}\n"
      "- {key: back, rate_limit: {unit: minute, requests_per_unit: 2}}\n");
  ASSERT_TRUE(rules_->Load().ok());
  rules_->Look();
  Conversation redis(*server_);
  redis.Run("RL.POLICY OVERRIDE rls:shop.own k 5/s");
  Write(kRules);
  ASSERT_TRUE(rules_->Load().ok());
  rules_->Look();
  EXPECT_TRUE(find("rls:shop.minute")->retired);
  server_->clock.Advance(std::chrono::minutes{59});
  rules_->Look();
  EXPECT_NE(find("rls:shop.minute"), nullptr);
  Write(absl::StrCat(AbslView(kRules),
                     "- {key: back, rate_limit: {unit: minute, requests_per_unit: 2}}\n"));
  ASSERT_TRUE(rules_->Load().ok());
  server_->clock.Advance(std::chrono::minutes{2});
  rules_->Look();
  EXPECT_EQ(find("rls:shop.minute"), nullptr);
  EXPECT_FALSE(find("rls:shop.back")->retired);
  server_->clock.Advance(std::chrono::hours{25});
  rules_->Look();
  EXPECT_EQ(find("rls:shop.day"), nullptr);
  EXPECT_TRUE(find("rls:shop.own")->retired) << "it has an override";
  EXPECT_EQ(Verdict("a"), "OK 1");
}

TEST_F(RlsTest, ManyRulesAreReplacedByOthersAgainAndAgain) {
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    std::string rules = "domain: shop\ndescriptors:\n";
    for (int i = 0; i < 9'000; ++i) {
      absl::StrAppend(&rules, "- {key: ", std::string(1, letter), i,
                      ", rate_limit: {unit: day, requests_per_unit: 2}}\n");
    }
    Write(rules);
    ASSERT_TRUE(rules_->Load().ok());
    rules_->Look();
  }
  const auto find = [&](std::string_view name) { return server_->services.policies.Find(name); };
  EXPECT_EQ(find("rls:shop.a1"), nullptr) << "the oldest had to leave";
  EXPECT_TRUE(find("rls:shop.c1")->retired);
  EXPECT_FALSE(find("rls:shop.d1")->retired);
}

TEST_F(RlsTest, AReloadOfTheSameRulesChangesNothing) {
  const std::uint64_t version = server_->services.policies.version();
  ASSERT_TRUE(rules_->Load().ok());
  rules_->Look();
  EXPECT_EQ(server_->services.policies.version(), version);
}

TEST_F(RlsTest, AClientsPolicyIsAnErrorOfTheRules) {
  EXPECT_TRUE(server_->services.policies.ReplaceFile({}, FilePart::kAll).ok());
  Conversation redis(*server_);
  redis.Run("RL.POLICY DEL rls:shop.user");
  redis.Run("RL.POLICY SET rls:shop.user 3/s");
  rules_->Look();
  EXPECT_THAT(server_->services.rls.load_error(), HasSubstr("RL.POLICY DEL"));
  redis.Run("RL.POLICY DEL rls:shop.user");
  rules_->Look();
  EXPECT_EQ(server_->services.rls.load_error(), "");
}

TEST_F(RlsTest, ACallIsShownAsACommand) {
  Conversation redis(*server_);
  Conversation monitor(*server_);
  Conversation listener(*server_);
  monitor.Run("MONITOR");
  listener.Run("SUBSCRIBE weir:denied");
  redis.Run("CONFIG SET slowlog-log-slower-than 0");
  for (int i = 0; i < 3; ++i) Verdict("a");
  EXPECT_THAT(monitor.Send(""), HasSubstr(R"("rls" "shop" "user=a")"));
  EXPECT_THAT(listener.Send(""), HasSubstr("@rls:shop.user#0 "));
  EXPECT_THAT(redis.Show("SLOWLOG GET 20"), HasSubstr("user=a"));
  EXPECT_THAT(redis.Show("INFO commandstats"), HasSubstr("cmdstat_rls:calls=3"));
  EXPECT_THAT(redis.Show("LATENCY HISTOGRAM rls"), HasSubstr("calls"));
  client_->Call(kMethod, Framed(""));
  EXPECT_EQ(server_->services.rls.errors(RlsError::kInvalid), 1U);
}

TEST_F(RlsTest, MetricsCountCallsByDomain) {
  for (int i = 0; i < 3; ++i) Verdict("a");
  rls::RateLimitRequest request;
  request.set_domain("other");
  request.add_descriptors();
  client_->Call(kMethod, Framed(request.SerializeAsString()));
  request.set_domain("shop");
  client_->Call(kMethod, Framed(request.SerializeAsString()));
  client_->Call(kMethod, Framed("?"));
  const std::string page =
      MetricsText(server_->services, server_->http, server_->services.clock.Now());
  for (const std::string_view line :
       {R"(weir_requests_total{face="rls",result="allowed"} 4)",
        R"(weir_requests_total{face="rls",result="denied"} 1)",
        R"(weir_requests_total{face="rls",result="error"} 1)",
        R"(weir_requests_total{face="resp",result="allowed"} 0)",
        R"(weir_rls_calls_total{domain="shop",code="ok"} 3)",
        R"(weir_rls_calls_total{domain="shop",code="over_limit"} 1)",
        R"x(weir_rls_calls_total{domain="(unknown)",code="ok"} 1)x",
        R"(weir_rls_no_match_total{domain="shop"} 1)",
        R"(weir_rls_errors_total{code="invalid_argument"} 1)",
        R"(weir_rls_config_loads_total{result="success"} 1)",
        R"(weir_rls_duration_seconds_count 5)", R"(weir_commands_total{command="rls"} 5)"}) {
    EXPECT_THAT(page, HasSubstr(std::string(line)));
  }
}

TEST_F(RlsTest, StatisticsHaveTheValueWhereARuleSaysSo) {
  Write(
      "domain: shop\ndescriptors:\n"
      "- {key: user, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 2}}\n");
  ASSERT_TRUE(rules_->Load().ok());
  rules_->Look();
  EXPECT_EQ(Verdict("a"), "OK 1");
  EXPECT_EQ(Verdict("a"), "OK 0");
  EXPECT_EQ(Verdict("b c"), "OK 1");
  const std::string stats = Conversation(*server_).Show("RL.STATS");
  EXPECT_THAT(stats, HasSubstr("@rls:shop.user=a#0"));
  EXPECT_THAT(stats, HasSubstr("@rls:shop.user=b%20c#0"));
}

TEST_F(RlsTest, ManyValuesLeaveARowAndASeriesForAPolicy) {
  Write(
      "domain: shop\ndescriptors:\n"
      "- {key: user, detailed_metric: true, rate_limit: {unit: day}}\n");
  ASSERT_TRUE(rules_->Load().ok());
  Conversation redis(*server_);
  for (int i = 0; i < 5'000; ++i) Verdict(absl::StrCat("u", i));
  redis.Run("RL.STATS");
  for (int i = 0; i < 5'000; ++i) Verdict(absl::StrCat("v", i));
  EXPECT_THAT(redis.Show("RL.STATS"), HasSubstr("@rls:shop.user=u0#0"));
  redis.Run("RL.POLICY SET new none");
  redis.Run("RL.ALLOW key @new");
  EXPECT_THAT(MetricsText(server_->services, server_->http, server_->services.clock.Now()),
              HasSubstr(R"(limit="@new#0",result="denied"} 1)"));
}

TEST_F(RlsTest, PoliciesOfAnotherServerAreNotInForce) {
  EXPECT_TRUE(server_->services.policies.ReplaceFile({}, FilePart::kAll).ok());
  Conversation redis(*server_);
  redis.Run("RL.POLICY SET rls:shop.user 5,held");
  redis.Run("RL.POLICY SET rls:inline 3/s");
  EXPECT_EQ(client_->Call(kMethod, Asking("a")).trailers["grpc-status"], "14");
  rls::RateLimitRequest request;
  ASSERT_TRUE(request.ParseFromString(Asking("a").substr(5)));
  request.mutable_descriptors(0)->mutable_limit()->set_requests_per_unit(9);
  request.mutable_descriptors(0)->mutable_limit()->set_unit(6);
  const std::string call = Framed(request.SerializeAsString());
  EXPECT_EQ(client_->Call(kMethod, call).trailers["grpc-status"], "14");
}

TEST_F(RlsTest, AnswersInJson) {
  HttpConversation http(*server_);
  constexpr std::string_view kCall =
      R"({"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"a"}]},)"
      R"({"entries":[{"key":"free","value":"a"}],"hits_addend":"3","limit":null}]})";
  EXPECT_EQ(StatusOf(http.Post("/json", kCall, "Sec-Fetch-Site: cross-site\r\n")), 403);
  const std::string first = http.Post("/json", kCall);
  EXPECT_EQ(StatusOf(first), 200);
  EXPECT_THAT(std::string(BodyOf(first)),
              testing::MatchesRegex(
                  R"(\{"overallCode":"OK","statuses":\[\{"code":"OK","currentLimit":)"
                  R"(\{"requestsPerUnit":2,"unit":"HOUR","name":"per_user"\},)"
                  R"("limitRemaining":1,"durationUntilReset":"[0-9]+s"\},\{"code":"OK"\}\]\})"));
  EXPECT_EQ(StatusOf(http.Post("/json", kCall)), 200);
  const std::string over = http.Post("/json", kCall);
  EXPECT_EQ(StatusOf(over), 429);
  EXPECT_THAT(over, HasSubstr(R"({"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT")"));
  EXPECT_EQ(server_->http.responses.value(HttpRouteGroup::kRls, 1), 2U);
}

TEST_F(RlsTest, RefusesJsonThatIsNoCall) {
  HttpConversation http(*server_);
  struct Case {
    std::string_view body;
    std::string_view error;
  };
  const Case cases[] = {
      {"", "ERR "},
      {"[]", "ERR a call is an object"},
      {"{}", "ERR rate limit domain must not be empty"},
      {R"({"domain":"a"})", "ERR rate limit descriptor list must not be empty"},
      {R"({"domain":1})", "ERR invalid field 'domain'"},
      {R"({"Domain":"a"})", "ERR unknown field 'Domain'"},
      {R"({"descriptors":{}})", "ERR invalid field 'descriptors'"},
      {R"({"descriptors":[[]]})", "ERR invalid field 'descriptors'"},
      {R"({"descriptors":[1]})", "ERR invalid field 'descriptors'"},
      {R"({"descriptors":[{"entries":[{"key":{}}]}]})", "ERR invalid field 'key'"},
      {R"({"descriptors":[{"entries":[{"domain":""}]}]})", "ERR unknown field 'domain'"},
      {R"({"descriptors":[{"limit":{"unit":"AGE"}}]})", "ERR invalid field 'unit'"},
      {R"({"descriptors":[{"limit":[]}]})", "ERR invalid field 'limit'"},
      {R"({"hitsAddend":-1})", "ERR invalid field 'hitsAddend'"},
      {R"({"hitsAddend":4294967296})", "ERR invalid field 'hitsAddend'"},
      {R"({"descriptors":[{"isNegativeHits":1}]})", "ERR invalid field 'isNegativeHits'"},
      {R"({"domain":"a","domain":"a"})", "ERR field 'domain' stands twice"},
      {R"({"descriptors":[],"descriptors":[]})", "ERR field 'descriptors' stands twice"},
      {R"({"hitsAddend":1,"hits_addend":1})", "ERR field 'hits_addend' stands twice"},
      {R"({"hitsAddend":1.5})", "ERR invalid field 'hitsAddend'"},
      {R"({"hitsAddend":1e10})", "ERR invalid field 'hitsAddend'"},
  };
  for (const Case& row : cases) {
    const std::string response = http.Post("/json", row.body);
    EXPECT_EQ(StatusOf(response), 400) << row.body;
    EXPECT_THAT(response, HasSubstr(std::string(row.error))) << row.body;
  }
}

TEST_F(RlsTest, ReadsWholeNumbersOfAnyForm) {
  HttpConversation http(*server_);
  for (const std::string_view number : {"0", "0.0", "\"0\"", "\"0.0\"", "0e3"}) {
    const std::string response = http.Post(
        "/json", absl::StrCat(R"({"domain":"shop","descriptors":[{"entries":[{"key":"user",)"
                              R"("value":"a"}],"hitsAddend":)",
                              AbslView(number), "}]}"));
    EXPECT_THAT(response, HasSubstr(R"("limitRemaining":2)")) << number;
  }
}

TEST_F(RlsTest, AnswersHaveHeaders) {
  Conversation redis(*server_);
  const auto headers = [&](std::string_view user) {
    rls::RateLimitResponse response;
    EXPECT_TRUE(response.ParseFromString(client_->Call(kMethod, Asking(user)).body.substr(5)));
    std::string text;
    for (const rls::Header& header : response.response_headers_to_add()) {
      absl::StrAppend(&text, header.key(), ": ", header.value(), "\n");
    }
    return text;
  };
  EXPECT_EQ(headers("a"), "");
  redis.Run("CONFIG SET rls-headers reference");
  EXPECT_THAT(headers("a"), testing::MatchesRegex("RateLimit-Limit: 2\nRateLimit-Remaining: 0\n"
                                                  "RateLimit-Reset: [0-9]+\n"));
  redis.Run("CONFIG SET rls-headers ratelimit");
  EXPECT_THAT(headers("b"), testing::MatchesRegex("RateLimit-Policy: .per_user.;q=2;w=3600\n"
                                                  "RateLimit: .per_user.;r=1;t=[0-9]+\n"));
  EXPECT_THAT(headers("a"),
              testing::MatchesRegex("RateLimit-Policy: .per_user.;q=2;w=3600\n"
                                    "RateLimit: .per_user.;r=0;t=[0-9]+\nRetry-After: [0-9]+\n"));
}

TEST_F(RlsTest, AnswersHaveMetadata) {
  Conversation redis(*server_);
  redis.Run("CONFIG SET rls-metadata true");
  redis.Run("CONFIG SET rls-headers reference");
  Write("domain: shop\ndescriptors:\n- {key: user, metadata: {'a\"b': [1, 2.5, null, yes]}}\n");
  ASSERT_TRUE(rules_->Load().ok());
  HttpConversation http(*server_);
  constexpr std::string_view kCall =
      R"({"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})";
  EXPECT_EQ(BodyOf(http.Post("/json", kCall)),
            R"({"overallCode":"OK","statuses":[{"code":"OK"}],"dynamicMetadata":{"domain":"shop",)"
            R"("descriptors":[{"entries":["user=a"],"code":"OK"}],)"
            R"("metadata":{"a\"b":[1,2.5,null,true]}}})");
}

TEST_F(RlsTest, TellsItsHealth) {
  HttpConversation http(*server_);
  EXPECT_EQ(BodyOf(http.Get("/healthcheck")), "OK");
  EXPECT_EQ(StatusOf(http.Get("/healthcheck?ready")), 200);
  replication_->BecomeReplica();
  EXPECT_EQ(StatusOf(http.Get("/healthcheck")), 200);
  EXPECT_EQ(StatusOf(http.Get("/healthcheck?ready")), 500);
  EXPECT_EQ(client_->Call("/grpc.health.v1.Health/Check", Framed("\n\x09ratelimit")).body,
            Framed("\x08\x02"));
  EXPECT_EQ(StatusOf(http.Post("/json", R"({"domain":"a","descriptors":[{}]})")), 503);
}

TEST(WithoutRulesTest, ThereIsNoService) {
  HttpConversation http;
  EXPECT_EQ(StatusOf(http.Get("/healthcheck")), 404);
  EXPECT_EQ(StatusOf(http.Post("/json", "{}")), 404);
  GrpcConversation client(http.server());
  EXPECT_EQ(client.Call(kMethod, Asking("a")).trailers["grpc-status"], "12");
}

}  // namespace
}  // namespace weir
