// Goal: the numbers of the page are those of RL.STATS, RL.TOP and INFO, in JSON that any parser
// reads, and need the rights to these commands. Method: conversations without sockets, with a
// stopped clock; each answer is parsed by a library.
#include "server/page/api_numbers.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/status.h"
#include "server/config/version.h"
#include "server/health/health_watch.h"
#include "server/measures/measure.h"
#include "server/os/process.h"
#include "tests/server/page/page_client.h"
#include "tests/support/fake_replication.h"
#include "tests/support/http_conversation.h"

namespace weir {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::Eq;
using testing::MatchesRegex;
using testing::Optional;

class ApiNumbersTest : public testing::Test {
 protected:
  json Get(std::string_view target) {
    const std::string response = page_.Get(target);
    EXPECT_EQ(StatusOf(response), 200) << response;
    EXPECT_THAT(FieldOf(response, "Content-Type"), Optional(Eq("application/json")));
    EXPECT_THAT(FieldOf(response, "Cache-Control"), Optional(Eq("no-store")));
    return json::parse(BodyOf(response));
  }
  std::string Error(std::string_view target) {
    const std::string response = page_.Get(target);
    EXPECT_EQ(StatusOf(response), 400) << response;
    return json::parse(BodyOf(response)).at("error");
  }
  void Advance(std::int64_t time) { server_.clock.Advance(seconds{time}); }
  std::int64_t Now() {
    return std::chrono::floor<seconds>(server_.clock.Now().time_since_epoch()).count();
  }

  PageClient page_;
  HttpTestServer& server_ = page_.server();
  Conversation client_{server_};
};

TEST_F(ApiNumbersTest, NowHasTheNumbersOfInfoAndStats) {
  server_.services.port = 7379;
  HealthWatch watch(server_.services);
  watch.Look();
  server_.clock.set_lap(std::chrono::microseconds{3});
  client_.Run("RL.POLICY SET free 5/s");
  client_.Run("RL.ALLOW k 2/s,ban=1m COST 2");
  client_.Run("RL.ALLOW k 2/s,ban=1m 1/s,shadow");
  client_.Run("RL.CHARGE k 9/s COST 10");
  client_.Run("RL.ALLOW k nonsense");
  Advance(7);
  watch.Look();
  const json now = Get("/api/now");
  const json expected = {
      {"time_ms", Now() * 1000},
      {"uptime_s", 7},
      {"version", kVersion},
      {"role", "primary"},
      {"server", absl::StrCat(NameOfHost(), ":7379")},
      {"verdict", {{"state", "ok"}, {"reasons", json::array()}}},
      {"replication",
       {{"term", 0},
        {"offset", 0},
        {"loss_bound_ms", nullptr},
        {"link", nullptr},
        {"replicas", json::array()}}},
      {"port", 7379},
      {"user", "default"},
      {"can_change", false},
      {"read_only_because", "no users are configured"},
      {"durability", "none"},
      {"loss_bound_ms", nullptr},
      {"last_save_age_ms", nullptr},
      {"last_save_ok", true},
      {"buckets", server_.services.upkeep.size().buckets},
      {"holds", 0},
      {"memory_bytes", server_.services.upkeep.size().table_bytes},
      {"process_memory_bytes", now["process_memory_bytes"]},
      {"max_memory_bytes", 0},
      {"memory_permille", nullptr},
      {"connections", 1},
      {"http_connections", 1},
      {"commands", now["commands"]},
      {"latency_us", now["latency_us"]},
      {"last_minute",
       {{"window_s", 7}, {"errors", 1}, {"rejected_connections", 0}, {"evicted", 0}}},
      {"total",
       {{"allowed", 1},
        {"denied", 2},
        {"shadow_denied", 0},
        {"near_limit", 1},
        {"bans", 1},
        {"charged_beyond", 1}}},
      {"limits", server_.services.upkeep.size().limits},
      {"policies", 1}};
  EXPECT_EQ(now, expected) << json::diff(expected, now);
  EXPECT_GE(now["latency_us"]["p50"], 3.0);
  EXPECT_LE(now["latency_us"]["p99"], 3.0 * 9 / 8);
  EXPECT_EQ(now["latency_us"]["window_s"], 7);
  EXPECT_GT(now["process_memory_bytes"], now["memory_bytes"]);
}

TEST_F(ApiNumbersTest, NowHasTheReplicasOfAPrimaryAndTheLinkOfAReplica) {
  FakeReplication replication(server_.services);
  replication.shown.term = 3;
  replication.shown.offset = 1000;
  replication.shown.loss_bound = std::chrono::milliseconds{4};
  replication.shown.replicas = {{.ip = "10.0.0.2",
                                 .port = 7379,
                                 .online = true,
                                 .offset = 900,
                                 .lag = std::chrono::milliseconds{5}}};
  EXPECT_EQ(Get("/api/now")["replication"],
            json::parse(R"({"term":3,"offset":1000,"loss_bound_ms":4,"link":null,"replicas":
              [{"address":"10.0.0.2:7379","online":true,"offset":900,"lag_ms":5}]})"));
  replication.shown.replicas.clear();
  replication.BecomeReplica();
  replication.shown.link->data_age = std::chrono::milliseconds{6};
  const json now = Get("/api/now");
  EXPECT_EQ(now["role"], "replica");
  EXPECT_EQ(now["replication"]["link"],
            json::parse(R"({"primary":"10.0.0.1:7379","state":"connected","up":true,"down_ms":0,
              "complete":true,"data_age_ms":6})"));
  for (const Measure& measure : Measures()) {
    const std::string path = absl::StrReplaceAll(AbslView(measure.names.json), {{".", "/"}});
    EXPECT_TRUE(path.empty() || now.contains(json::json_pointer("/" + path))) << path;
  }
}

// The watch is asked, not the state of the moment: INFO and the page say one thing.
TEST_F(ApiNumbersTest, NowHasTheVerdictWithTimesOfTheWallClock) {
  server_.services.host_clock_offset = [] { return Nanos{seconds{-5}}; };
  HealthWatch watch(server_.services);
  FakeReplication replication(server_.services);
  replication.Gate();
  EXPECT_EQ(Get("/api/now")["verdict"]["state"], "ok");
  watch.Look();
  const std::int64_t since = Now() * 1000 - 5'000;
  Advance(3);
  watch.Look();
  const json reason = {
      {"code", "gated"}, {"text", "the start waits for Sentinel"}, {"since_ms", since}};
  const json expected = {{"state", "bad"}, {"reasons", json::array({reason})}};
  EXPECT_EQ(Get("/api/now")["verdict"], expected);
  replication.BecomePrimary();
  watch.Look();
  EXPECT_EQ(Get("/api/now")["verdict"]["state"], "ok");
}

TEST_F(ApiNumbersTest, NowHasTheShareOfMemoryThatIsInUse) {
  client_.Run("CONFIG SET max-memory 32mb");
  EXPECT_EQ(Get("/api/now")["memory_permille"], 0);
}

TEST_F(ApiNumbersTest, NowSaysWhyAServerAdmitsNothing) {
  FakeReplication replication(server_.services);
  replication.Gate();
  EXPECT_EQ(Get("/api/now")["role"], "gated");
  replication.Depose();
  EXPECT_EQ(Get("/api/now")["role"], "deposed");
}

TEST_F(ApiNumbersTest, NowHasTheLatencyOfTheLastMinute) {
  EXPECT_EQ(Get("/api/now")["latency_us"], nullptr) << "without a watch";
  HealthWatch watch(server_.services);
  watch.Look();
  client_.Run("PING");
  watch.Look();
  EXPECT_EQ(Get("/api/now")["latency_us"], nullptr) << "PING asks for no tokens";
  client_.Run("RL.ALLOW k 2/s");
  watch.Look();
  EXPECT_NE(Get("/api/now")["latency_us"], nullptr);
  for (int i = 0; i < 80; ++i) {
    Advance(1);
    watch.Look();
  }
  const json now = Get("/api/now");
  EXPECT_EQ(now["latency_us"], nullptr) << "nothing has been asked for a minute";
  EXPECT_GE(now["last_minute"]["window_s"], 60);
}

// The sums are over the time that the page has seen.
TEST_F(ApiNumbersTest, HistoryAddsUpToStats) {
  Get("/api/history");
  for (int i = 0; i < 25; ++i) {
    client_.Run("RL.ALLOW a 10/m 100/h,shadow");
    client_.Run("RL.ALLOW b 10/m COST 9");
    Advance(i % 3);
    Get("/api/history");
  }
  Advance(1);
  const json all = Get(absl::StrCat("/api/history?step=1&limit=*&from=", Now() - 100));
  EXPECT_EQ(all["step"], 1);
  EXPECT_EQ(all["from"], Now() - 100);
  std::map<std::string, std::vector<std::int64_t>> sums;
  for (const json& series : all["series"]) {
    for (const char* name : {"allowed", "denied", "shadow_denied", "near_limit"}) {
      const json& counts = series[name];
      EXPECT_EQ(counts.size(), 100U);
      EXPECT_EQ(counts[0], nullptr) << "before the start";
      std::int64_t sum = 0;
      for (const json& count : counts) sum += count.is_null() ? 0 : count.get<std::int64_t>();
      sums[series["limit"]].push_back(sum);
    }
  }
  std::map<std::string, std::vector<std::int64_t>> stats;
  for (const RespValue& row : client_.Ask("RL.STATS").elements) {
    for (std::size_t i = 1; i <= 4; ++i) {
      stats[row.elements[0].text].push_back(row.elements[i].number);
    }
  }
  EXPECT_EQ(sums, stats);
  EXPECT_EQ(stats.size(), 3U);
}

TEST_F(ApiNumbersTest, HistoryOfOneLimitOrTheTotal) {
  Get("/api/history");
  client_.Run("RL.ALLOW a 2/s");
  client_.Run("RL.ALLOW a 9/s,name=\"\"");
  Advance(1);
  const std::string from = absl::StrCat("&from=", Now() - 1);
  EXPECT_EQ(Get("/api/history?limit=2%2Fs" + from)["series"],
            json::parse(R"([{"limit":"2/s","allowed":[1],"denied":[0],"shadow_denied":[0],)"
                        R"("near_limit":[0]}])"));
  EXPECT_EQ(Get("/api/history?step=1" + from)["series"][0]["limit"], "(total)");
  EXPECT_EQ(Get("/api/history?limit=none" + from)["series"], json::array());
  EXPECT_EQ(Get("/api/history?step=300")["series"][0]["allowed"].size(), 287U);
}

TEST_F(ApiNumbersTest, LimitsAreTheBusiestFirst) {
  Get("/api/limits");
  for (int i = 0; i < 3; ++i) client_.Run("RL.ALLOW a 2/h,name=\"two\" 1/h,shadow");
  client_.Run("RL.ALLOW a 2/h,name=\"two\"");
  client_.Run("RL.ALLOW b 9/m COST 9");
  Advance(2);
  const json answer = Get("/api/limits");
  EXPECT_EQ(answer["time_ms"], Now() * 1000);
  EXPECT_EQ(answer["more"], 0);
  const json expected = json::parse(R"([
      {"limit":"two","allowed":2,"denied":2,"shadow_denied":0,"near_limit":1,"bans":0,
       "charged_beyond":0,"shadow":false,"recent":[[0,0,0,0],[2,2,0,1]]},
      {"limit":"1/h,shadow","allowed":1,"denied":0,"shadow_denied":2,"near_limit":1,"bans":0,
       "charged_beyond":0,"shadow":true,"recent":[[0,0,0,0],[1,0,2,1]]},
      {"limit":"9/m","allowed":1,"denied":0,"shadow_denied":0,"near_limit":1,"bans":0,
       "charged_beyond":0,"shadow":false,"recent":[[0,0,0,0],[1,0,0,1]]}])");
  EXPECT_EQ(answer["limits"], expected) << json::diff(expected, answer["limits"]);
}

TEST_F(ApiNumbersTest, LimitsAreBounded) {
  for (std::size_t i = 0; i < kApiLimitsMax + 7; ++i) {
    client_.Run(absl::StrCat("RL.ALLOW a 9/s,name=l", i));
  }
  Advance(100);
  const json answer = Get("/api/limits");
  EXPECT_EQ(answer["limits"].size(), kApiLimitsMax);
  EXPECT_EQ(answer["more"], 7);
  std::size_t with_recent = 0;
  for (const json& limit : answer["limits"]) {
    if (!limit["recent"].is_null()) ++with_recent;
  }
  EXPECT_LE(with_recent, kHistoryLimitsMax);
}

TEST_F(ApiNumbersTest, TopHasKeysOfAnyBytes) {
  client_.Call({"RL.ALLOW", "\xff <&\"%+a~", "none"});
  client_.Run("RL.ALLOW n 1/s");
  const std::string longest(200, 'x');
  client_.Call({"RL.ALLOW", longest, "none"});
  client_.Call({"RL.ALLOW", longest, "none"});
  const json denied = Get("/api/top?n=2&by=denied");
  EXPECT_EQ(denied["by"], "denied");
  const std::string mark = denied["keys"][0]["hash"];
  EXPECT_THAT(mark, MatchesRegex("[0-9a-f]{32}"));
  EXPECT_EQ(denied["keys"], json({{{"key", longest.substr(0, 128)},
                                   {"k", longest.substr(0, 128)},
                                   {"cut", true},
                                   {"hash", mark},
                                   {"count", 2},
                                   {"error", 0},
                                   {"limits", {"none"}}},
                                  {{"key", "\uFFFD <&\"%+a~"},
                                   {"k", "%FF%20%3C%26%22%25%2Ba~"},
                                   {"cut", false},
                                   {"hash", nullptr},
                                   {"count", 1},
                                   {"error", 0},
                                   {"limits", {"none"}}}}));
  EXPECT_EQ(Get("/api/top?n=1")["keys"].size(), 1U);
  EXPECT_EQ(Get("/api/top?by=near")["keys"][0]["key"], "n");
}

TEST_F(ApiNumbersTest, BadParameters) {
  EXPECT_EQ(Error("/api/history?step=2"), "ERR step must be 1, 10 or 300");
  EXPECT_EQ(Error("/api/history?from=-1"),
            absl::StrCat("ERR invalid from '-1': value is not an integer or out of range (0 to ",
                         std::chrono::floor<seconds>(kInstantMax.time_since_epoch()).count(), ")"));
  EXPECT_EQ(Error("/api/top?by=x"), "ERR by must be denied or near");
  EXPECT_EQ(Error("/api/top?n=1001"),
            "ERR invalid n '1001': value is not an integer or out of range (1 to 1000)");
  EXPECT_EQ(Error("/api/top?n=1&n=2"), "ERR the parameter n is given more than once");
  EXPECT_EQ(Error("/api/now?x=1"), "ERR unknown parameter 'x'");
  EXPECT_EQ(Error("/api/limits?n=1"), "ERR unknown parameter 'n'");
  EXPECT_EQ(Error("/api/history?limit=%2"), "ERR a parameter is not encoded as a URL needs it");
}

TEST_F(ApiNumbersTest, ALimitHasItsMeaningAndTheKeysThatItDenies) {
  client_.Run("RL.POLICY SET free 1/s,name=burst 5/h");
  for (const char* key : {"a", "a", "b"})
    client_.Run(absl::StrCat("RL.ALLOW ", key, " @free COST 2"));
  client_.Run("RL.ALLOW a 9/s COST 10");
  client_.Run("RL.ALLOW a 9/s,name=api COST 10");
  const auto row = [](const char* key, int count) {
    return json{{"key", key},      {"k", key},       {"cut", false},
                {"hash", nullptr}, {"count", count}, {"error", 0}};
  };
  EXPECT_EQ(Get("/api/limit?name=@free%230+burst&n=1"),
            (json{{"limit", "@free#0 burst"},
                  {"definition", "1/s,name=burst"},
                  {"policy", "free"},
                  {"position", 0},
                  {"from_file", false},
                  {"denied", 3},
                  {"keys", json::array({row("a", 2)})}}));
  EXPECT_EQ(Get("/api/limit?name=9/s"), (json{{"limit", "9/s"},
                                              {"definition", "9/s"},
                                              {"policy", nullptr},
                                              {"denied", 1},
                                              {"keys", json::array({row("a", 1)})}}));
  EXPECT_EQ(Get("/api/limit?name=9/1s"), Get("/api/limit?name=9/s")) << "the same limit";
  EXPECT_EQ(Get("/api/limit?name=api")["definition"], nullptr) << "several limits may have a label";
  EXPECT_EQ(Get("/api/limit?name=@free%231")["keys"], json::array()) << "it denied nothing";
  EXPECT_EQ(Get("/api/limit?name=@gone%230")["definition"], nullptr);
  EXPECT_EQ(Get("/api/top?n=1")["keys"][0]["limits"], json({"9/s", "@free#0 burst", "api"}));
  EXPECT_EQ(Error("/api/limit"), "ERR name must be that of a limit in RL.STATS");
  client_.Run("RL.STATS RESET");
  EXPECT_EQ(Get("/api/limit?name=9/s")["keys"], json::array());
}

TEST_F(ApiNumbersTest, EventsAreThoseOfTheServerFromATimeOn) {
  EXPECT_EQ(Get("/api/events"), json::parse(R"({"events":[]})"));  // without a watch
  server_.services.host_clock_offset = [] { return Nanos{seconds{-5}}; };
  HealthWatch watch(server_.services);
  watch.Look();
  Advance(3);
  client_.Run("CONFIG SET notify-interval 1s");
  const std::int64_t time = Now() * 1000 - 5'000;
  const json set = {{"time_ms", time},
                    {"kind", "config"},
                    {"who", "default"},
                    {"text", "CONFIG SET notify-interval 1s"}};
  const json all = Get("/api/events")["events"];
  ASSERT_EQ(all.size(), 3U);  // the start and the role are before it
  EXPECT_EQ(all[2], set);
  EXPECT_EQ(Get(absl::StrCat("/api/events?from=", time))["events"], json::array({set}));
  EXPECT_EQ(Get(absl::StrCat("/api/events?from=", time + 1))["events"], json::array());
  EXPECT_EQ(Error("/api/events?from=x"),
            "ERR invalid from 'x': value is not an integer or out of range (0 to "
            "9007199254740992)");
}

TEST_F(ApiNumbersTest, OnlyOnTheAdminPortAndOnlyReading) {
  HttpConversation decisions(server_);
  for (const char* path :
       {"/api/now", "/api/history", "/api/limits", "/api/limit", "/api/top", "/api/events"}) {
    EXPECT_EQ(StatusOf(decisions.Get(path)), 404) << path;
    EXPECT_EQ(StatusOf(page_.Post(path, "{}")), 405) << path;
    EXPECT_EQ(BodyOf(page_.http().Request("HEAD", path, "", "")), "") << path;
  }
}

TEST(ApiNumbersRightsTest, EachNeedsTheRightsToItsCommands) {
  PageClient page(
      "user info on >p ~* +INFO\nuser stats on >p ~* +RL.STATS\nuser top on >p ~* +RL.TOP\n"
      "user both on >p ~* +INFO +RL.STATS\nuser who on >p ~* +RL.STATS +RL.TOP\n");
  const auto get = [&](std::string_view user, std::string_view path) {
    return page.Get(path, Basic(user, "p"));
  };
  const std::map<std::string, std::set<std::string>> may = {
      {"/api/now", {"both"}},
      {"/api/history", {"stats", "both", "who"}},
      {"/api/limits", {"stats", "both", "who"}},
      {"/api/limit?name=9/s", {"who"}},
      {"/api/top", {"top", "who"}},
      {"/api/events", {"info", "both"}}};
  for (const auto& [path, readers] : may) {
    EXPECT_EQ(StatusOf(page.Get(path)), 401) << path;
    for (const char* user : {"info", "stats", "top", "both", "who"}) {
      EXPECT_EQ(StatusOf(get(user, path)), readers.contains(user) ? 200 : 403) << path << user;
    }
  }
  const json now = json::parse(BodyOf(get("both", "/api/now")));
  EXPECT_EQ(now["user"], "both");
  EXPECT_EQ(now["can_change"], true);
  EXPECT_EQ(now["read_only_because"], nullptr);
}

// Their words have keys, options and users.
TEST(ApiNumbersRightsTest, CommandsAreEventsForWhoMaySeeTheSlowLog) {
  PageClient page("user info on >p ~* +INFO\nuser ops on >p ~* +@all\n");
  HealthWatch watch(page.server().services);
  watch.Look();
  watch.events().Add(
      {.kind = ServerEventKind::kPolicy, .who = "ops", .text = "RL.POLICY SET p 1/s"});
  const auto count = [&](std::string_view user) {
    return JsonOf(page.Get("/api/events", Basic(user, "p")))["events"].size();
  };
  EXPECT_EQ(count("ops"), 3U);
  EXPECT_EQ(count("info"), 2U);
}

}  // namespace
}  // namespace weir
