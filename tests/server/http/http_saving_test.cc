// Goal: a response to a change waits for its save, and a failed save leaves no promise in it.
// Method: a server that saves every change, and a save that is said to have failed.
#include <chrono>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "server/http/http_session.h"
#include "tests/random/generators.h"
#include "tests/support/conversation.h"
#include "tests/support/http_conversation.h"
#include "tests/support/http_server_on_disk.h"

namespace weir {
namespace {

constexpr std::string_view kHeadEnd = " HTTP/1.1\r\nHost: weir\r\n\r\n";
constexpr std::string_view kProbe = "GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n";
constexpr std::string_view kSaveError = R"({"error":"MISCONF cannot save to disk: full"})";

// The response in place of one that was not saved; `fields`: whole lines.
std::string Replacement(std::string_view fields, std::string_view body) {
  return absl::StrCat("HTTP/1.1 503 Service Unavailable\r\n", AbslView(fields),
                      "Content-Type: application/json\r\nContent-Length: ", kSaveError.size(),
                      "\r\n\r\n", AbslView(body));
}

TEST(HttpSavingTest, AFailedSaveReplacesTheResponsesThatWaitedForIt) {
  HttpServerOnDisk on_disk(Durability::kAlways);
  on_disk.Load();
  HttpConversation client(on_disk.server());
  std::string livez;
  ASSERT_FALSE(client.session().Execute(kProbe, livez).delayed_from);
  const std::string body = R"({"key":"k","limits":["9/m"]})";
  const std::string stream =
      absl::StrCat(AbslView(kProbe), "GET /check?key=k&limit=9/m", AbslView(kHeadEnd),
                   AbslView(kProbe), "HEAD /check?key=k&limit=9/m", AbslView(kHeadEnd),
                   "POST /v1/allow HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n",
                   "Connection: close\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  std::string responses;
  const ClientSession::Turn turn = client.session().Execute(stream, responses);
  ASSERT_EQ(turn.delayed_from, livez.size());
  std::string unsaved = responses.substr(livez.size());
  std::string served = unsaved;
  client.session().FinishDelayed(served,
                                 {.saved = absl::UnavailableError("full"), .fails_changes = false});
  EXPECT_EQ(served, unsaved);
  client.session().FinishDelayed(unsaved,
                                 {.saved = absl::UnavailableError("full"), .fails_changes = true});
  const std::string_view no_store = "Cache-Control: no-store\r\n";
  EXPECT_EQ(unsaved,
            absl::StrCat(Replacement(no_store, kSaveError), livez, Replacement(no_store, ""),
                         Replacement("Connection: close\r\n", kSaveError)));
  const HttpResponseCounters& counted = on_disk.server().http.responses;
  EXPECT_EQ(counted.value(HttpRouteGroup::kCheck, 4), 2U);
  EXPECT_EQ(counted.value(HttpRouteGroup::kJson, 4), 1U);
  EXPECT_EQ(counted.value(HttpRouteGroup::kHealth, 4), 0U);
}

// A look that finds a hold expired settles it, and its answer must not be known before that is on
// disk; the looks after it depend on nothing new.
TEST(HttpSavingTest, ALookThatFindsAnExpiryWaitsForItsSave) {
  for (const Durability durability : {Durability::kAlways, Durability::kSnapshot}) {
    HttpServerOnDisk on_disk(durability);
    on_disk.Load();
    HttpConversation http(on_disk.server());
    Conversation resp(on_disk.server());
    const auto waits_over_http = [&] {
      const std::string body = R"({"key":"k","limits":["9/m"]})";
      EXPECT_EQ(StatusOf(http.Post("/v1/peek", body)), 200);
      return http.turn().delayed_from.has_value();
    };
    const auto waits_over_resp = [&] {
      EXPECT_TRUE(resp.Send("RL.PEEK k 9/m\r\n").starts_with("*5\r\n"));
      return resp.turn().delayed_from.has_value();
    };
    Limiter& limiter = *on_disk.server().limiter;
    FakeClock& clock = on_disk.server().clock;
    const Limit limit = LimitOf("9/m");
    const auto hold = [&] {
      const Request request = {{.key = "k", .limit = &limit, .hash = limiter.Hash("k")}};
      ASSERT_TRUE(
          limiter.DecideAndHold(request, {.id = "id", .ttl = std::chrono::seconds{1}}, clock.Now())
              .ok());
    };
    const bool always = durability == Durability::kAlways;
    hold();
    EXPECT_FALSE(waits_over_http());
    EXPECT_FALSE(waits_over_resp());
    clock.Advance(std::chrono::seconds{1});
    EXPECT_EQ(waits_over_http(), always);
    EXPECT_FALSE(waits_over_resp());
    hold();
    clock.Advance(std::chrono::seconds{1});
    EXPECT_EQ(waits_over_resp(), always);
    EXPECT_FALSE(waits_over_http());
  }
}

}  // namespace
}  // namespace weir
