// Goal: /api/key shows a key's buckets as RL.INSPECT does, for any bytes of a key and with the
// rights of that command, and tells when the next token comes.
#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/rules/top_keys.h"
#include "tests/server/page/page_client.h"

namespace weir {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

json KeyOf(PageClient& client, std::string_view k) {
  return JsonOf(client.Get(std::string("/api/key?k=").append(k)));
}

TEST(ApiKeyTest, BucketsAreThoseOfInspect) {
  PageClient client;
  (void)client.Run("RL.ALLOW user:42 10/s 60/h COST 4");
  const json shown = KeyOf(client, "user:42");
  EXPECT_EQ(shown["key"], "user:42");
  EXPECT_EQ(shown["k"], "user%3A42");
  EXPECT_EQ(shown["buckets"], json::parse(R"([
      {"limit":"10/s","remaining":6,"capacity":10,"held":false,"used":4,"reset_after_ms":400,
       "next_token_ms":100,"banned_ms":0},
      {"limit":"60/h","remaining":56,"capacity":60,"held":false,"used":4,"reset_after_ms":240000,
       "next_token_ms":60000,"banned_ms":0}])"));
  EXPECT_EQ(shown["holds"], json::array());
  EXPECT_EQ(shown["overrides"], json::array());
  EXPECT_EQ(client.Run("RL.INSPECT user:42"), "[\"10/s\" 6 400 4 0]\n[\"60/h\" 56 240000 4 0]");
}

TEST(ApiKeyTest, AskingAgainLaterShowsTheBucketFreeingItself) {
  PageClient client;
  (void)client.Run("RL.ALLOW k 2/s COST 2");
  EXPECT_EQ(KeyOf(client, "k")["buckets"][0]["next_token_ms"], 500);
  client.server().clock.Advance(milliseconds{200});
  EXPECT_EQ(KeyOf(client, "k")["buckets"][0]["next_token_ms"], 300);
  client.server().clock.Advance(milliseconds{300});
  EXPECT_EQ(KeyOf(client, "k")["buckets"][0]["remaining"], 1);
  client.server().clock.Advance(milliseconds{500});
  EXPECT_EQ(KeyOf(client, "k")["buckets"], json::array());
}

TEST(ApiKeyTest, DebtsAndBansDelayTheNextToken) {
  PageClient client;
  (void)client.Run("RL.CHARGE debtor 1/s COST 2");
  const json debt = KeyOf(client, "debtor")["buckets"][0];
  EXPECT_EQ(debt["remaining"], 0);
  EXPECT_EQ(debt["used"], 2);
  EXPECT_EQ(debt["next_token_ms"], 2000);
  (void)client.Run("RL.ALLOW banned 1/s,ban=1h");
  (void)client.Run("RL.ALLOW banned 1/s,ban=1h");
  const json ban = KeyOf(client, "banned")["buckets"][0];
  EXPECT_EQ(ban["banned_ms"], 3'600'000);
  EXPECT_EQ(ban["next_token_ms"], 3'600'000);
}

TEST(ApiKeyTest, TheBucketOfThrottleHasNoNumbers) {
  PageClient client;
  (void)client.Run("CL.THROTTLE k 15 30 60");
  const json bucket = KeyOf(client, "k")["buckets"][0];
  EXPECT_EQ(bucket["limit"], "cl.throttle");
  EXPECT_EQ(bucket["capacity"], nullptr);
  EXPECT_EQ(bucket["next_token_ms"], nullptr);
}

TEST(ApiKeyTest, HoldsAreThoseOfInspect) {
  PageClient client;
  (void)client.Run("RL.RESERVE k 10/s 5,held COST 2 HOLD b TTL 90000");
  (void)client.Run("RL.RESERVE k 10/s HOLD a TTL 30000");
  (void)client.Run("RL.COMMIT k HOLD a");
  const json shown = KeyOf(client, "k");
  EXPECT_EQ(shown["holds"], json::parse(R"([
      {"id":"b","settled":false,"expires_in_ms":90000,
       "limits":[{"limit":"10/s","cost":2},{"limit":"5,held","cost":2}]},
      {"id":"a","settled":true,"expires_in_ms":30000,"limits":[{"limit":"10/s","cost":1}]}])"));
  EXPECT_EQ(client.Run("RL.INSPECT k HOLDS"),
            "[\"b\" 90000 0 \"10/s\" 2 \"5,held\" 2]\n[\"a\" 30000 1 \"10/s\" 1]");
  EXPECT_EQ(shown["buckets"][1], json::parse(R"(
      {"limit":"5,held","remaining":3,"capacity":5,"held":true,"used":2,"reset_after_ms":90000,
       "next_token_ms":90000,"banned_ms":0})"));
  client.server().clock.Advance(milliseconds{90'000});
  EXPECT_EQ(KeyOf(client, "k")["holds"], json::array());
}

TEST(ApiKeyTest, TheLimitsThatHaveDeniedTheKeyAreNamed) {
  PageClient client;
  (void)client.Run("RL.POLICY SET free 2/s,name=burst");
  (void)client.Run("RL.ALLOW k @free COST 3");
  (void)client.Run("RL.ALLOW k 1/h COST 2");
  (void)client.Run("RL.ALLOW other 9/h COST 10");
  EXPECT_EQ(KeyOf(client, "k")["denied_by"], json({"1/h", "@free#0 burst"}));
  EXPECT_EQ(KeyOf(client, "new")["denied_by"], json::array());
}

TEST(ApiKeyTest, OverridesOfTheKeyAreListed) {
  PageClient client;
  (void)client.Run("RL.POLICY SET free 2/s");
  (void)client.Run("RL.POLICY SET paid 20/s");
  (void)client.Run("RL.POLICY OVERRIDE free vip 100/s 1000/h");
  (void)client.Run("RL.POLICY OVERRIDE paid other 1/s");
  EXPECT_EQ(KeyOf(client, "vip")["overrides"],
            json::parse(R"([{"policy":"free","limits":["100/s","1000/h"]}])"));
  (void)client.Run("RL.ALLOW vip @free");
  EXPECT_EQ(KeyOf(client, "vip")["buckets"][0]["capacity"], 100);
}

class CutKeyTest : public testing::Test {
 protected:
  // A key whose first 128 bytes others have, too.
  static std::string Key(char last) { return std::string(kTopKeyBytesMax, 'x') + last; }
  // The mark of the row that has the most denials.
  static std::string Mark(PageClient& client, std::string_view fields = {}) {
    return JsonOf(client.Get("/api/top?n=1", fields))["keys"][0]["hash"];
  }
  static std::string Path(const std::string& mark) { return "/api/key?hash=" + mark; }
};

TEST_F(CutKeyTest, IsShownByTheMarkOfItsRow) {
  PageClient client;
  (void)client.Run("RL.POLICY SET free 9/h");
  (void)client.Call({"RL.POLICY", "OVERRIDE", "free", Key('a'), "5/h"});
  for (const char* limit : {"@free", "2/h"}) {
    (void)client.Call({"RL.ALLOW", Key('a'), limit, "COST", "2"});
    (void)client.Call({"RL.ALLOW", Key('a'), limit, "COST", "10"});
  }
  (void)client.Call({"RL.RESERVE", Key('a'), "7/h", "HOLD", "id", "TTL", "1000"});
  (void)client.Call({"RL.ALLOW", Key('b'), "2/h", "COST", "10"});
  json whole = KeyOf(client, Key('a'));
  ASSERT_EQ(whole["buckets"].size(), 3U);
  EXPECT_EQ(whole["cut"], false);
  whole["key"] = whole["k"] = std::string(kTopKeyBytesMax, 'x');
  whole["cut"] = true;
  whole["overrides"] = json::array();
  whole["buckets"][0]["capacity"] = 9;  // those of the policy: the override names the whole key
  json shown = JsonOf(client.Get(Path(Mark(client))));
  EXPECT_EQ(shown["buckets"].size(), 3U);
  for (const char* number : {"remaining", "used", "reset_after_ms"}) {
    whole["buckets"][0][number] = shown["buckets"][0][number];
  }
  for (json& bucket : whole["buckets"]) bucket["next_token_ms"] = nullptr;
  EXPECT_EQ(shown, whole);
}

TEST_F(CutKeyTest, IsGoneWithItsRow) {
  PageClient client;
  (void)client.Call({"RL.ALLOW", Key('a'), "2/h", "COST", "10"});
  const std::string mark = Mark(client);
  EXPECT_EQ(StatusOf(client.Get(Path(mark))), 200);
  EXPECT_EQ(StatusOf(client.Get(Path(mark.substr(1)))), 404);
  (void)client.Run("RL.STATS RESET");
  EXPECT_EQ(StatusOf(client.Get(Path(mark))), 404);
}

TEST_F(CutKeyTest, NeedsTheRightToAllKeys) {
  PageClient client(
      "user default on nopass ~* +rl.allow\nuser all on >p ~* +rl.top +rl.inspect\n"
      "user some on >p ~x* +rl.top +rl.inspect\nuser top on >p ~* +rl.top\n"
      "user inspect on >p ~* +rl.inspect\n");
  (void)client.Call({"RL.ALLOW", Key('a'), "none"});
  const std::string path = Path(Mark(client, Basic("all", "p")));
  EXPECT_EQ(StatusOf(client.Get(path, Basic("all", "p"))), 200);
  for (const char* user : {"some", "top", "inspect"}) {
    EXPECT_EQ(StatusOf(client.Get(path, Basic(user, "p"))), 403) << user;
  }
  EXPECT_EQ(StatusOf(client.Get(path)), 403);
}

TEST(ApiKeyTest, AnyBytesMayBeAKey) {
  PageClient client;
  const std::string bytes("\xff\0\n\"% +", 7);
  (void)client.Call({"RL.ALLOW", bytes, "10/s"});
  const json shown = KeyOf(client, "%ff%00%0A%22%25%20%2B");
  EXPECT_EQ(shown["key"], std::string("\xef\xbf\xbd\0\n\"% +", 9));
  EXPECT_EQ(shown["k"], "%FF%00%0A%22%25%20%2B");
  EXPECT_EQ(shown["buckets"].size(), 1U);
  // The key in `k` leads to the same key.
  EXPECT_EQ(KeyOf(client, shown["k"].get<std::string>())["buckets"], shown["buckets"]);
}

TEST(ApiKeyTest, AKeyThatLooksLikeHtmlIsATextInJson) {
  PageClient client;
  (void)client.Call({"RL.ALLOW", "<img src=x onerror=alert(1)>", "10/s"});
  const std::string response = client.Get("/api/key?k=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E");
  EXPECT_EQ(FieldOf(response, "Content-Type"), "application/json");
  EXPECT_EQ(FieldOf(response, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(FieldOf(response, "Cache-Control"), "no-store");
  const json shown = JsonOf(response);
  EXPECT_EQ(shown["key"], "<img src=x onerror=alert(1)>");
  EXPECT_EQ(shown["k"], "%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E");
  EXPECT_EQ(shown["buckets"].size(), 1U);
}

TEST(ApiKeyTest, AQueryWithoutOneKeyIsAnError) {
  PageClient client;
  for (const std::string_view target : {"/api/key", "/api/key?", "/api/key?key=a",
                                        "/api/key?k=a&k=b", "/api/key?k=%4", "/api/key?k=a&x=1"}) {
    EXPECT_EQ(StatusOf(client.Get(target)), 400) << target;
  }
}

TEST(ApiKeyTest, TheUserNeedsTheCommandAndTheKey) {
  PageClient client(
      "user app on >pw ~app:* +rl.inspect\n"
      "user blind on >pw ~* +rl.allow\n");
  EXPECT_EQ(StatusOf(client.Get("/api/key?k=app:1", Basic("app", "pw"))), 200);
  EXPECT_EQ(JsonOf(client.Get("/api/key?k=app:1", Basic("app", "pw")))["denied_by"], nullptr)
      << "that is of RL.TOP";
  EXPECT_EQ(StatusOf(client.Get("/api/key?k=other", Basic("app", "pw"))), 403);
  EXPECT_EQ(StatusOf(client.Get("/api/key?k=app:1", Basic("blind", "pw"))), 403);
  EXPECT_EQ(StatusOf(client.Get("/api/key?k=app:1", Basic("app", "wrong"))), 401);
}

TEST(ApiKeyTest, ResetForgetsTheBuckets) {
  PageClient client("user default on nopass ~* +@all\nuser ops on >pw ~* +@all\n");
  (void)client.Run("RL.ALLOW k 1/h");
  EXPECT_EQ(client.Run("RL.ALLOW k 1/h").substr(0, 1), "0");
  const std::string response = client.Change("POST", "/api/key/reset?k=k", "", Basic("ops", "pw"));
  EXPECT_EQ(StatusOf(response), 200);
  EXPECT_EQ(BodyOf(response), R"({"ok":true})");
  EXPECT_EQ(client.Run("RL.ALLOW k 1/h").substr(0, 1), "1");
  EXPECT_EQ(StatusOf(client.Get("/api/key/reset?k=k")), 405);
}

}  // namespace
}  // namespace weir
