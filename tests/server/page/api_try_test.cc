// Goal: /api/peek says what RL.PEEK says; /api/simulate says what RL.ALLOW would have said to each
// arrival at its time, and touches nothing.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "core/base/check.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/server/page/page_client.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// --- Peek
// -----------------------------------------------------------------------------------------

TEST(ApiPeekTest, TheAnswerIsThatOfPeek) {
  PageClient client;
  (void)client.Run("RL.ALLOW k 10/s COST 9");
  const json verdict = JsonOf(client.Post("/api/peek", R"(["k","10/s","60/h","COST","2"])"));
  EXPECT_EQ(verdict["allowed"], false);
  EXPECT_EQ(verdict["retry_after_ms"], 100);
  EXPECT_EQ(verdict["limits"].size(), 2U);
  EXPECT_EQ(verdict["limits"][0]["name"], "10/s");
  EXPECT_EQ(verdict["limits"][1]["allowed"], true);
  EXPECT_EQ(client.Run("RL.PEEK k 10/s 60/h COST 2").substr(0, 7), "0 1 100");
}

TEST(ApiPeekTest, WithLimitsMayBeSaid) {
  PageClient client;
  EXPECT_EQ(JsonOf(client.Post("/api/peek", R"(["k","10/s","withlimits"])"))["limits"].size(), 1U);
}

TEST(ApiPeekTest, MistakesAreErrors) {
  PageClient client;
  for (const std::string_view body :
       {"", "{}", "[]", R"(["k"])", R"(["k","x/s"])", R"(["k","10/s",null])", R"([["k","10/s"]])",
        R"(["k","10/s","UPTO","3"])"}) {
    EXPECT_EQ(StatusOf(client.Post("/api/peek", body)), 400) << body;
  }
  EXPECT_EQ(StatusOf(client.Get("/api/peek")), 405);
}

TEST(ApiPeekTest, TheUserNeedsTheKey) {
  PageClient client("user app on >pw ~app:* +rl.peek\n");
  EXPECT_EQ(StatusOf(client.Post("/api/peek", R"(["app:1","10/s"])", Basic("app", "pw"))), 200);
  EXPECT_EQ(StatusOf(client.Post("/api/peek", R"(["x","10/s"])", Basic("app", "pw"))), 403);
  EXPECT_EQ(StatusOf(client.Post("/api/peek", R"(["app:1","10/s"])")), 401);
}

// --- Simulate
// -------------------------------------------------------------------------------------

std::string Simulation(const std::vector<std::string>& limits,
                       const std::vector<std::int64_t>& arrivals, std::int64_t cost = 1) {
  return json({{"limits", limits}, {"arrivals_ms", arrivals}, {"cost", cost}}).dump();
}

TEST(ApiSimulateTest, ThreeASecondPassFiveInTheFirstSecond) {
  PageClient client;
  const std::string response =
      client.Post("/api/simulate", Simulation({"3/s"}, {0, 0, 0, 0, 400, 800, 1000, 1000}));
  EXPECT_EQ(BodyOf(response), R"({"allowed":"11101110","remaining":[2,1,0,0,0,0,0,0],)"
                              R"("retry_after_ms":[0,0,0,334,0,0,0,334]})");
}

TEST(ApiSimulateTest, NothingIsTouched) {
  PageClient client;
  (void)client.Run("RL.POLICY SET free 2/s");
  (void)client.Run("RL.POLICY OVERRIDE free k 100/s");
  const json simulated = JsonOf(client.Post("/api/simulate", Simulation({"@free"}, {0, 0, 0})));
  EXPECT_EQ(simulated["allowed"], "110");
  EXPECT_EQ(client.server().services.upkeep.size().buckets, 0U);
  EXPECT_EQ(client.server().services.upkeep.size().limits, 0U);
  EXPECT_EQ(client.server().worker.request_counters.allowed.value(), 0U);
  // The limit has the same meaning as before.
  EXPECT_EQ(client.Run("RL.ALLOW other @free").substr(0, 3), "1 1");
}

TEST(ApiSimulateTest, EachArrivalHasTheVerdictOfAllow) {
  PageClient client = PageClient::WithExplicitTime();
  Conversation redis(client.server());
  (void)redis.Show("RL.POLICY SET free 5/s,keep=1 30/m,cost=2");
  int key = 0;
  CheckLaw(300, [&] {
    const auto limits = *rc::gen::resize(
        4, rc::gen::nonEmpty(
               rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
                   "3/s", "10/s,burst=1", "7/11ms", "5/2s,fixed", "4/s,sliding", "2/s,ban=3s",
                   "6/s,shadow", "@free", "9/s,keep=2", "8/s,cost=3", "unlimited",
                   "100/day,tz=Europe/Berlin", "20/m,fixed,aligned"))));
    auto arrivals = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::int64_t>>(Between<std::int64_t>(0, 8000)));
    std::ranges::sort(arrivals);
    const std::int64_t cost = *Between<std::int64_t>(0, 4);
    const std::string response = client.Post("/api/simulate", Simulation(limits, arrivals, cost));
    RC_ASSERT(StatusOf(response) == 200);
    const json simulated = json::parse(BodyOf(response));
    ++key;
    for (std::size_t i = 0; i < arrivals.size(); ++i) {
      const Instant at = client.server().clock.Now() + std::chrono::milliseconds{arrivals[i]};
      const RespValue allow =
          redis.Ask(absl::StrCat("RL.ALLOW key", key, " ", absl::StrJoin(limits, " "), " COST ",
                                 cost, " AT ", at.time_since_epoch().count()));
      RC_ASSERT(allow.elements.size() == 5U);
      RC_ASSERT((simulated["allowed"].get<std::string>().at(i) == '1') ==
                (allow.elements[0].number == 1));
      RC_ASSERT(simulated["remaining"].at(i) == allow.elements[1].number);
      RC_ASSERT(simulated["retry_after_ms"].at(i) == allow.elements[2].number);
    }
  });
}

// A new window of a calendar costs as much as some decisions, and counts as such.
TEST(ApiSimulateTest, WindowsOfCalendarsCountAsWork) {
  PageClient client;
  std::vector<std::string> limits;
  for (int i = 10; i < 74; ++i) {
    limits.push_back(absl::StrCat("9/day,from=1", i / 60, ":", i % 60 < 10 ? "0" : "", i % 60));
  }
  const auto status_of = [&](std::size_t days) {
    std::vector<std::int64_t> arrivals;
    for (std::size_t day = 0; day < days; ++day) {
      arrivals.push_back(static_cast<std::int64_t>(day) * 24 * 3600 * 1000);
    }
    return StatusOf(client.Post("/api/simulate", Simulation(limits, arrivals)));
  };
  EXPECT_EQ(status_of(120), 200);
  EXPECT_EQ(status_of(140), 400);
  limits = {"9/day"};
  EXPECT_EQ(status_of(366), 200);
  const std::vector<std::int64_t> of_one_day(10'000, 5);
  EXPECT_EQ(StatusOf(client.Post("/api/simulate", Simulation(limits, of_one_day))), 200);
}

TEST(ApiSimulateTest, TenThousandArrivalsAreTheMost) {
  PageClient client;
  std::vector<std::int64_t> arrivals(10'000, 5);
  const json simulated = JsonOf(client.Post("/api/simulate", Simulation({"3/s"}, arrivals)));
  EXPECT_EQ(simulated["allowed"].get<std::string>().size(), 10'000U);
  EXPECT_EQ(simulated["remaining"].size(), 10'000U);
  const std::string many =
      client.Post("/api/simulate", Simulation({"1/s", "2/s", "3/s", "4/s", "5/s"}, arrivals));
  EXPECT_EQ(StatusOf(many), 400);
  EXPECT_THAT(many, HasSubstr("too much to simulate"));
  arrivals.push_back(5);
  const std::string response = client.Post("/api/simulate", Simulation({"3/s"}, arrivals));
  EXPECT_EQ(StatusOf(response), 400);
  EXPECT_THAT(response, HasSubstr("1 to 10000 whole numbers"));
}

TEST(ApiSimulateTest, MistakesAreErrors) {
  PageClient client;
  const auto error = [&](std::string_view body) {
    const std::string response = client.Post("/api/simulate", body);
    EXPECT_EQ(StatusOf(response), 400) << body;
    return std::string(BodyOf(response));
  };
  EXPECT_THAT(error(R"({"limits":["3/parsec"],"arrivals_ms":[0]})"), HasSubstr("3/parsec"));
  EXPECT_THAT(error(R"({"limits":["@none"],"arrivals_ms":[0]})"), HasSubstr("unknown policy"));
  EXPECT_THAT(error(R"({"limits":["AND"],"arrivals_ms":[0]})"), HasSubstr("invalid limit"));
  EXPECT_THAT(error(R"({"limits":["3/s"]})"), HasSubstr("arrivals_ms"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[]})"), HasSubstr("arrivals_ms"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[1,0]})"), HasSubstr("none below"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[-1]})"), HasSubstr("arrivals_ms"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[0.5]})"), HasSubstr("arrivals_ms"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[31622400001]})"), HasSubstr("arrivals_ms"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[[0]]})"), HasSubstr("arrivals_ms"));
  EXPECT_THAT(error(R"({"limits":[3],"arrivals_ms":[0]})"), HasSubstr("limits"));
  EXPECT_THAT(error(R"({"limits":[],"arrivals_ms":[0]})"), HasSubstr("limits"));
  EXPECT_THAT(error(R"({"arrivals_ms":[0]})"), HasSubstr("limits"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[0],"cost":-1})"), HasSubstr("cost"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[0],"cost":"1"})"), HasSubstr("cost"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"limits":["3/s"],"arrivals_ms":[0]})"),
              HasSubstr("twice"));
  EXPECT_THAT(error(R"({"limits":["3/s"],"arrivals_ms":[0],"key":"k"})"),
              HasSubstr("known are limits, arrivals_ms, cost"));
  EXPECT_THAT(error("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(error("null"), HasSubstr("must be an object"));
  EXPECT_THAT(error(""), HasSubstr("empty"));
}

TEST(ApiSimulateTest, ABodyMayBeTooLarge) {
  PageClient client;
  const std::string body(1024 * 1024 + 1, ' ');
  EXPECT_EQ(StatusOf(client.Post("/api/simulate", body)), 413);
}

TEST(ApiSimulateTest, TheUserNeedsPeekAndNoKey) {
  PageClient client(
      "user app on >pw ~app:* +rl.peek\n"
      "user blind on >pw ~app:* +rl.allow\n");
  const std::string body = Simulation({"3/s"}, {0});
  EXPECT_EQ(StatusOf(client.Post("/api/simulate", body, Basic("app", "pw"))), 200);
  EXPECT_EQ(StatusOf(client.Post("/api/simulate", body, Basic("blind", "pw"))), 403);
}

}  // namespace
}  // namespace weir
