// Goal: holds are made and settled over HTTP as RL.RESERVE, RL.COMMIT and RL.CANCEL do it, and a
// settlement is an answer of its own kind. Method: conversations without sockets.
// json_limits_test.cc compares random ones with the replies in RESP.
#include <chrono>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::Optional;

constexpr std::string_view kReserved =
    R"({"key":"k","limits":["10/h","2,held"],"cost":1,"hold":"req-81","ttl_ms":60000})";

TEST(JsonHoldsTest, AReservationIsCommittedAtItsTrueCost) {
  HttpConversation client;
  const std::string_view reserved = R"({"key":"k","limits":["10/h"],"cost":4,"hold":"a",)"
                                    R"("ttl_ms":60000})";
  const std::string_view six_left =
      R"({"allowed":true,"remaining":6,"retry_after_ms":0,"reset_after_ms":1440000,"limit":0})";
  EXPECT_EQ(BodyOf(client.Post("/v1/reserve", reserved)), six_left);
  EXPECT_EQ(BodyOf(client.Post("/v1/reserve", reserved)), six_left) << "the same words again";
  const std::string_view settled =
      R"({"settled":true,"remaining":9,"retry_after_ms":0,"reset_after_ms":360000,"limit":0})";
  const std::string_view commit = R"({"key":"k","limits":["10/h"],"cost":1,"hold":"a"})";
  EXPECT_EQ(BodyOf(client.Post("/v1/commit", commit)), settled);
  EXPECT_EQ(BodyOf(client.Post("/v1/commit", commit)), settled);
  EXPECT_EQ(BodyOf(client.Post("/v1/reserve", reserved)), R"({"error":"ERR hold 'a' is settled"})");
}

TEST(JsonHoldsTest, ACommitNeedsNoLimitsAndACancelTakesNone) {
  HttpConversation client;
  for (const char* const path : {"/v1/commit", "/v1/cancel"}) {
    for (const char* const limits : {"", R"("limits":[],)"}) {
      client.Post("/v1/reserve", kReserved);
      const std::string settled =
          client.Post(path, absl::StrCat(R"({"key":"k",)", limits, R"("hold":"req-81"})"));
      EXPECT_EQ(json::parse(BodyOf(settled))["settled"], true) << settled;
      client.server().clock.Advance(std::chrono::hours{1});
    }
  }
  const std::string refused =
      client.Post("/v1/cancel", R"({"key":"k","limits":["10/h"],"hold":"req-81"})");
  EXPECT_EQ(StatusOf(refused), 400);
  EXPECT_EQ(BodyOf(refused), R"({"error":"ERR field 'limits' is not for cancel"})");
}

// A settlement admits nothing, so it has neither another status nor the fields of a decision.
TEST(JsonHoldsTest, ASettlementIsAnAnswerWhetherOrNotThereIsAHold) {
  HttpConversation client;
  for (const char* const path : {"/v1/commit?denied=429", "/v1/cancel?denied=429"}) {
    const std::string none = client.Post(path, R"({"key":"k","hold":"x","details":true})");
    EXPECT_EQ(StatusOf(none), 200);
    EXPECT_EQ(BodyOf(none),
              R"({"settled":false,"remaining":0,"retry_after_ms":0,"reset_after_ms":0,"limit":0,)"
              R"("limits":[]})");
    EXPECT_FALSE(FieldOf(none, "RateLimit").has_value());
  }
}

TEST(JsonHoldsTest, DetailsTellEachLimitOfAHold) {
  HttpConversation client;
  const std::string held =
      client.Post("/v1/reserve?denied=429",
                  R"({"key":"k","limits":["1,held,name=slots"],"hold":"a","ttl_ms":500,)"
                  R"("details":true})");
  EXPECT_EQ(StatusOf(held), 200);
  EXPECT_EQ(BodyOf(held),
            R"({"allowed":true,"remaining":0,"retry_after_ms":0,"reset_after_ms":500,"limit":0,)"
            R"("limits":[{"name":"slots","allowed":true,"limit":1,"remaining":0,)"
            R"("retry_after_ms":0,"reset_after_ms":500,"group":0,"cost":1,"keep":0}]})");
  const std::string denied =
      client.Post("/v1/reserve?denied=429",
                  R"({"key":"k","limits":["1,held,name=slots"],"hold":"b","ttl_ms":500})");
  EXPECT_EQ(StatusOf(denied), 429);
  EXPECT_THAT(FieldOf(denied, "RateLimit-Policy"), Optional(std::string_view("\"slots\";q=1")));
  EXPECT_THAT(FieldOf(denied, "Retry-After"), Optional(std::string_view("1")));
  EXPECT_EQ(BodyOf(client.Post("/v1/cancel", R"({"key":"k","hold":"a","details":true})")),
            R"({"settled":true,"remaining":1,"retry_after_ms":0,"reset_after_ms":0,"limit":0,)"
            R"("limits":[{"name":"1,held","allowed":true,"limit":1,"remaining":1,)"
            R"("retry_after_ms":0,"reset_after_ms":0,"group":0,"cost":1,"keep":0}]})");
}

TEST(JsonHoldsTest, ASliceThatIsHeldComesBack) {
  HttpConversation client;
  const auto ask = [&](const char* path, const char* body) {
    return json::parse(BodyOf(client.Post(path, body)));
  };
  const char* const slice = R"({"key":"k","limits":["10/h"],"upto":7,"hold":"a","ttl_ms":60000})";
  EXPECT_EQ(ask("/v1/take", slice)["granted"], 7);
  EXPECT_EQ(ask("/v1/take", slice)["granted"], 7) << "the same words again";
  EXPECT_EQ(ask("/v1/commit", R"({"key":"k","cost":2,"hold":"a"})")["remaining"], 8);
}

TEST(JsonHoldsTest, ABatchReservesAndSettles) {
  HttpConversation client;
  const std::string response = client.Post(
      "/v1/batch",
      R"({"requests":[{"do":"reserve","key":"k","limits":["1,held"],"hold":"a","ttl_ms":9000},)"
      R"({"do":"reserve","key":"k","limits":["1,held"],"hold":"b","ttl_ms":9000},)"
      R"({"key":"k","hold":"a","do":"cancel"},{"hold":"c","key":"k","do":"commit"},)"
      R"({"do":"reserve","key":"k","limits":["1,held"],"hold":"a","ttl_ms":9000}]})");
  EXPECT_EQ(json::parse(BodyOf(response))["results"], json::parse(R"([
      {"allowed":true,"remaining":0,"retry_after_ms":0,"reset_after_ms":9000,"limit":0},
      {"allowed":false,"remaining":0,"retry_after_ms":9000,"reset_after_ms":9000,"limit":0},
      {"settled":true,"remaining":1,"retry_after_ms":0,"reset_after_ms":0,"limit":0},
      {"settled":false,"remaining":0,"retry_after_ms":0,"reset_after_ms":0,"limit":0},
      {"error":"ERR hold 'a' is settled"}])"));
}

TEST(JsonHoldsTest, TooManyHoldsAreTheTroubleOfTheServer) {
  HttpTestServer server(DefaultOptions(), {.secret = TestServer::kSecret, .holds_max = 1});
  HttpConversation client(server);
  EXPECT_EQ(StatusOf(client.Post("/v1/reserve", kReserved)), 200);
  const std::string refused =
      client.Post("/v1/reserve", R"({"key":"l","limits":["1/h"],"hold":"a","ttl_ms":60000})");
  EXPECT_EQ(StatusOf(refused), 503);
  EXPECT_EQ(BodyOf(refused), R"({"error":"OOM too many holds"})");
}

TEST(JsonHoldsTest, OnlyAReservationTakesFromAHeldLimit) {
  HttpConversation client;
  for (const char* const path : {"/v1/allow", "/v1/charge", "/v1/refund"}) {
    const std::string response = client.Post(path, R"({"key":"k","limits":["5,held"]})");
    EXPECT_EQ(StatusOf(response), 400);
    EXPECT_EQ(BodyOf(response), R"({"error":"ERR a held limit needs RL.RESERVE"})");
  }
}

}  // namespace
}  // namespace weir
